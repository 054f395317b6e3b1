//! The first figure of the paper: classes in the plane, their extreme vectors and the probability around them.

use std::error::Error;

use kuva::render::color::Color;
use kuva::render::render::{PathData, Primitive};

use crate::contour::Grid;
use crate::error::{PlotError, drawable, within};
use crate::frame::{Axis, Frame, Geometry, Ticks};
use crate::legend::{Legend, Symbol};
use crate::marker::{Marker, Shape};
use crate::palette::{INK, Shade, WHITE, ramp_colour};
use crate::picture::Picture;
use crate::projection::{PointClass, check, coordinates, draw_all, ranges};

/// The levels drawn where none are given: from the rim of a class, as the paper draws it, to its core.
pub const DEFAULT_LEVELS: [f64; 7] = [0.005, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95];

/// Nodes along each side of the grid on which psi is evaluated.
const NODES: usize = 161;
const POINT: f64 = 4.6;

/// A function of points in the plane, all of them at once.
pub type Psi<'a> = dyn Fn(&[[f64; 2]]) -> Result<Vec<f64>, Box<dyn Error + Send + Sync>> + 'a;

/// What [`plane`] draws.
#[derive(Clone, Copy, Default)]
pub struct Plane<'a> {
    /// The title; none where empty.
    pub title: &'a str,
    /// What the first coordinate is.
    pub x_label: &'a str,
    /// What the second coordinate is.
    pub y_label: &'a str,
    /// The classes, each with a colour and a mark of its own.
    pub classes: &'a [PointClass<'a>],
    /// The points that the model kept: marked with rings.
    pub extreme_vectors: &'a [[f64; 2]],
    /// Points to be classified: marked with a question mark.
    pub queries: &'a [[f64; 2]],
    /// The probability of inclusion at each of the given points, from 0 to 1, usually the largest over all classes. It is
    /// called once, for some 26 000 places. Without it, no contours are drawn.
    pub psi: Option<&'a Psi<'a>>,
    /// The levels of the contours, in any order; [`DEFAULT_LEVELS`] where empty.
    pub levels: &'a [f64],
}

/// Draws classes in the plane with the isocontours of their probability of inclusion, blue where it is
/// lowest and red where it is highest, at equal scale on both axes.
pub fn plane(plane: &Plane<'_>) -> Result<Picture, PlotError> {
    check(plane.classes, "queries", plane.queries)?;
    drawable("the list of extreme vectors", coordinates(plane.extreme_vectors))?;
    let levels = sorted_levels(plane.levels)?;

    let all: Vec<[f64; 2]> = plane.extreme_vectors.iter().chain(plane.queries).copied().collect();
    let (x_range, y_range) = ranges(plane.classes, &all);
    let (x_range, y_range) = (x_range.padded(0.14), y_range.padded(0.14));
    let axis = |label: &str, range| Axis { label: label.to_owned(), range, ticks: Ticks::Linear };
    let legend = legend(plane, &levels);
    let mut frame =
        Frame::new(plane.title, axis(plane.x_label, x_range), axis(plane.y_label, y_range), legend);
    let shape = (y_range.high - y_range.low) / (x_range.high - x_range.low);
    frame.inside = (560.0, (560.0 * shape).clamp(320.0, 560.0));
    frame.equal_units = true;
    frame.grid = false;

    let geometry = frame.geometry();
    let mut marks = Vec::new();
    if let Some(psi) = plane.psi {
        contours(psi, &levels, &geometry, &mut marks)?;
    }
    for (index, class) in plane.classes.iter().enumerate() {
        draw_all(Marker::distinct(index, POINT), class.points, &geometry, &mut marks);
    }
    draw_all(RING, plane.extreme_vectors, &geometry, &mut marks);
    draw_all(QUERY, plane.queries, &geometry, &mut marks);
    Ok(frame.picture(Vec::new(), marks))
}

const RING: Marker = Marker { shape: Shape::Ring, colour: INK, radius: POINT + 3.2 };
const QUERY: Marker = Marker { shape: Shape::Question, colour: INK, radius: 8.0 };

fn sorted_levels(levels: &[f64]) -> Result<Vec<f64>, PlotError> {
    within("the list of levels", levels.iter().copied(), 0.0, 1.0)?;
    let mut sorted = if levels.is_empty() { DEFAULT_LEVELS.to_vec() } else { levels.to_vec() };
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    Ok(sorted)
}

fn legend(plane: &Plane<'_>, levels: &[f64]) -> Legend {
    let mut legend = Legend::default();
    legend.classes(
        plane
            .classes
            .iter()
            .enumerate()
            .map(|(index, class)| (Symbol::Mark(Marker::distinct(index, 5.0)), class.name)),
    );
    if !plane.extreme_vectors.is_empty() {
        legend.item(Symbol::Mark(RING), "extreme vector");
    }
    if !plane.queries.is_empty() {
        legend.item(Symbol::Mark(QUERY), "query");
    }
    if plane.psi.is_some() {
        legend.heading("Ψ");
        for (place, level) in levels.iter().enumerate().rev() {
            legend.item(Symbol::Line(level_colour(place, levels.len()), None), &level.to_string());
        }
    }
    legend
}

/// Colours follow the order of the levels, not their values: most of them are close to 0 or to 1.
fn level_colour(place: usize, levels: usize) -> Shade {
    if levels < 2 { ramp_colour(1.0) } else { ramp_colour(place as f64 / (levels - 1) as f64) }
}

fn contours(
    psi: &Psi<'_>,
    levels: &[f64],
    geometry: &Geometry,
    marks: &mut Vec<Primitive>,
) -> Result<(), PlotError> {
    let (x_range, y_range) = geometry.ranges();
    let grid = Grid::sample(psi, (x_range, y_range), (NODES, NODES), "psi")?;
    let (left, bottom) = geometry.place(x_range.low, y_range.low);
    let (right, top) = geometry.place(x_range.high, y_range.high);
    marks.push(Primitive::ClipStart {
        x: left,
        y: top,
        width: right - left,
        height: bottom - top,
        id: String::new(),
    });
    let outlines: Vec<_> =
        levels.iter().map(|&level| grid.outline(level, |x, y| geometry.place(x, y))).collect();
    for (place, outline) in outlines.iter().enumerate() {
        let fill: Color = level_colour(place, levels.len()).mixed(WHITE, 0.82).into();
        marks.push(path(outline.area.clone(), fill, Color::None, 0.0));
    }
    for (place, outline) in outlines.into_iter().enumerate() {
        let stroke: Color = level_colour(place, levels.len()).into();
        marks.push(path(outline.line, Color::None, stroke, 1.5));
    }
    marks.push(Primitive::ClipEnd);
    Ok(())
}

fn path(data: String, fill: Color, stroke: Color, stroke_width: f64) -> Primitive {
    Primitive::Path(Box::new(PathData {
        d: data,
        fill: Some(fill),
        stroke,
        stroke_width,
        opacity: None,
        stroke_dasharray: None,
    }))
}
