//! A cloud of points in two dimensions, coloured by class.

use kuva::render::render::Primitive;

use crate::error::{PlotError, drawable, not_empty};
use crate::frame::{Axis, Frame, Geometry, Ticks};
use crate::legend::{Legend, Symbol};
use crate::marker::Marker;
use crate::picture::Picture;
use crate::range::Range;

/// The points of one class.
#[derive(Debug, Clone, Copy, Default)]
pub struct PointClass<'a> {
    /// The name in the key.
    pub name: &'a str,
    /// Its points, each as x and y. A class without points keeps its place in the key.
    pub points: &'a [[f64; 2]],
}

/// What [`projection`] draws.
#[derive(Debug, Clone, Copy, Default)]
pub struct Projection<'a> {
    /// The title; none where empty.
    pub title: &'a str,
    /// What the first coordinate is, for instance `PC 1 (41 %)`.
    pub x_label: &'a str,
    /// What the second coordinate is.
    pub y_label: &'a str,
    /// The known classes. Twelve have a colour of their own; after that colours return with another mark.
    /// The key names the first twenty.
    pub classes: &'a [PointClass<'a>],
    /// Points of no known class: dark crosses on top of everything.
    pub unknowns: &'a [[f64; 2]],
}

/// Draws the two-dimensional projection of a data set, such as its first two principal components.
///
/// ```
/// use evmachine_plot::{PointClass, Projection, projection};
///
/// # fn main() -> Result<(), evmachine_plot::PlotError> {
/// let picture = projection(&Projection {
///     title: "Two flowers",
///     x_label: "PC 1",
///     y_label: "PC 2",
///     classes: &[
///         PointClass { name: "setosa", points: &[[0.1, 0.2], [0.3, 0.1]] },
///         PointClass { name: "virginica", points: &[[2.1, 1.9], [2.4, 2.2]] },
///     ],
///     unknowns: &[[1.0, 3.0]],
/// })?;
/// assert!(picture.svg().contains("virginica"));
/// # Ok(())
/// # }
/// ```
pub fn projection(projection: &Projection<'_>) -> Result<Picture, PlotError> {
    check(projection.classes, "unknowns", projection.unknowns)?;
    let total = projection.classes.iter().map(|class| class.points.len()).sum::<usize>();
    let radius = crowd_radius(total);
    let unknown = Marker::unknown(4.0);

    let mut legend = Legend::default();
    legend.classes(projection.classes.iter().enumerate().map(|(index, class)| {
        // In the key marks keep a readable size however small they are among the data.
        (Symbol::Mark(Marker::coloured(index, 5.0)), class.name)
    }));
    if !projection.unknowns.is_empty() {
        legend.item(Symbol::Mark(unknown), "unknown");
    }

    let (x_range, y_range) = ranges(projection.classes, projection.unknowns);
    let axis = |label: &str, range| Axis { label: label.to_owned(), range, ticks: Ticks::Linear };
    let horizontal = axis(projection.x_label, x_range.padded(0.05));
    let vertical = axis(projection.y_label, y_range.padded(0.05));
    let frame = Frame::new(projection.title, horizontal, vertical, legend);

    let geometry = frame.geometry();
    let mut marks = Vec::new();
    // Round-robin, so that no class is buried under all of the next ones.
    let longest = projection.classes.iter().map(|class| class.points.len()).max().unwrap_or(0);
    for turn in 0..longest {
        for (index, class) in projection.classes.iter().enumerate() {
            if let Some(point) = class.points.get(turn) {
                Marker::coloured(index, radius).draw(geometry.place(point[0], point[1]), &mut marks);
            }
        }
    }
    draw_all(unknown, projection.unknowns, &geometry, &mut marks);
    Ok(frame.picture(Vec::new(), marks))
}

/// Refuses a picture without classes or points, and points that have no place.
pub(crate) fn check(
    classes: &[PointClass<'_>],
    others_name: &str,
    others: &[[f64; 2]],
) -> Result<(), PlotError> {
    not_empty("the list of classes", classes)?;
    if classes.iter().all(|class| class.points.is_empty()) && others.is_empty() {
        return Err(PlotError::Empty { what: "every class".to_owned() });
    }
    for class in classes {
        drawable(&format!("the class {}", class.name), coordinates(class.points))?;
    }
    drawable(&format!("the list of {others_name}"), coordinates(others))
}

/// The ranges that hold all points.
pub(crate) fn ranges(classes: &[PointClass<'_>], others: &[[f64; 2]]) -> (Range, Range) {
    let all = || classes.iter().flat_map(|class| class.points).chain(others);
    (Range::covering(all().map(|point| point[0])), Range::covering(all().map(|point| point[1])))
}

/// Draws the same mark at many points.
pub(crate) fn draw_all(marker: Marker, points: &[[f64; 2]], geometry: &Geometry, marks: &mut Vec<Primitive>) {
    for point in points {
        marker.draw(geometry.place(point[0], point[1]), marks);
    }
}

/// All coordinates in a row.
pub(crate) fn coordinates(points: &[[f64; 2]]) -> impl Iterator<Item = f64> {
    points.iter().flatten().copied()
}

/// Smaller marks for larger crowds, in pixels.
fn crowd_radius(points: usize) -> f64 {
    match points {
        0..=150 => 5.0,
        151..=600 => 4.0,
        601..=3000 => 3.0,
        _ => 2.2,
    }
}
