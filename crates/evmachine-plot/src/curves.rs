//! Several lines over shared axes, with the uncertainty of each point.

use kuva::plot::LinePlot;
use kuva::render::plots::Plot;
use kuva::render::render::Scene;

use crate::error::{PlotError, at_most, drawable, not_empty, same_length, within};
use crate::frame::{Axis, Frame, Ticks};
use crate::legend::{Legend, Symbol};
use crate::marker::Marker;
use crate::palette::class_colour;
use crate::picture::Picture;
use crate::range::Range;

/// Lines with more points than this are drawn without marks, which would merge into a band.
const MOST_MARKS: usize = 40;
/// As many lines as can be told apart.
const MOST_SERIES: usize = 12;
/// The drawing library treats anything below 1e-10 as 1e-10 on a logarithmic axis.
const SMALLEST_LOGARITHMIC: f64 = 1e-9;

/// One line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Series<'a> {
    /// The name in the key.
    pub name: &'a str,
    /// Where the points lie; the line joins them in this order.
    pub x: &'a [f64],
    /// Their heights, one for each `x`.
    pub y: &'a [f64],
    /// Half the length of the error bar of each point, such as a standard deviation; not negative.
    pub errors: Option<&'a [f64]>,
}

/// What [`curves`] draws.
#[derive(Debug, Clone, Copy, Default)]
pub struct Curves<'a> {
    /// The title; none where empty.
    pub title: &'a str,
    /// What x is.
    pub x_label: &'a str,
    /// What y is.
    pub y_label: &'a str,
    /// The lines, at most twelve.
    pub series: &'a [Series<'a>],
    /// Show x by its logarithm. All x must then be at least 1e-9.
    pub logarithmic_x: bool,
}

/// Draws lines over shared axes, such as F1 against openness. The y axis always holds all error bars whole.
///
/// ```
/// use evmachine_plot::{Curves, Series, curves};
///
/// # fn main() -> Result<(), evmachine_plot::PlotError> {
/// let series = Series {
///     name: "EVM",
///     x: &[0.0, 0.1, 0.2],
///     y: &[0.97, 0.93, 0.90],
///     errors: Some(&[0.01, 0.02, 0.02]),
/// };
/// let picture =
///     curves(&Curves { x_label: "openness", y_label: "F1", series: &[series], ..Curves::default() })?;
/// assert!(picture.svg().contains("openness"));
/// # Ok(())
/// # }
/// ```
pub fn curves(curves: &Curves<'_>) -> Result<Picture, PlotError> {
    check(curves)?;
    Ok(Picture::new(scene(curves, (width(curves), height(curves)), true, (560.0, 400.0))))
}

/// The range of x, with some room.
pub(crate) fn width(curves: &Curves<'_>) -> Range {
    if curves.logarithmic_x {
        return logarithmic_range(curves.series);
    }
    Range::covering(curves.series.iter().flat_map(|series| series.x).copied()).padded(0.03)
}

/// The range of y that holds all error bars whole, with some room.
pub(crate) fn height(curves: &Curves<'_>) -> Range {
    Range::covering(curves.series.iter().flat_map(Series::extent)).padded(0.05)
}

/// The drawing, with the given ranges and size between the axes, with or without the key beside it.
pub(crate) fn scene(
    curves: &Curves<'_>,
    (x_range, y_range): (Range, Range),
    key: bool,
    inside: (f64, f64),
) -> Scene {
    let marked = curves.series.iter().all(|series| series.x.len() <= MOST_MARKS);
    let marker = |index| marked.then(|| Marker::distinct(index, 4.6));

    let mut legend = Legend::default();
    for (index, series) in curves.series.iter().enumerate().filter(|_| key) {
        legend.item(Symbol::Line(class_colour(index), marker(index)), series.name);
    }
    let x_ticks = if curves.logarithmic_x { Ticks::Logarithmic } else { Ticks::Linear };
    let horizontal = Axis { label: curves.x_label.to_owned(), range: x_range, ticks: x_ticks };
    let vertical = Axis { label: curves.y_label.to_owned(), range: y_range, ticks: Ticks::Linear };
    let mut frame = Frame::new(curves.title, horizontal, vertical, legend);
    frame.inside = inside;

    let geometry = frame.geometry();
    let mut plots: Vec<Plot> = Vec::new();
    let mut marks = Vec::new();
    for (index, series) in curves.series.iter().enumerate() {
        let mut line = LinePlot::new()
            .with_data(series.x.iter().copied().zip(series.y.iter().copied()))
            .with_color(class_colour(index).hex())
            .with_stroke_width(2.2);
        if let Some(errors) = series.errors {
            line = line.with_y_err(errors.iter().copied());
        }
        plots.push(line.into());
        // A line of a single point would otherwise be invisible.
        if let Some(marker) = marker(index).or((series.x.len() == 1).then(|| Marker::distinct(index, 4.6))) {
            for (&x, &y) in series.x.iter().zip(series.y) {
                marker.draw(geometry.place(x, y), &mut marks);
            }
        }
    }
    frame.scene(plots, marks)
}

pub(crate) fn check(curves: &Curves<'_>) -> Result<(), PlotError> {
    not_empty("the list of series", curves.series)?;
    at_most("series", MOST_SERIES, curves.series.len())?;
    for series in curves.series {
        let part = |part: &str| format!("{part} of the series {}", series.name);
        not_empty(&part("x"), series.x)?;
        same_length(&part("y"), series.x.len(), series.y.len())?;
        drawable(&part("x"), series.x.iter().copied())?;
        drawable(&part("y"), series.y.iter().copied())?;
        if curves.logarithmic_x {
            within(&part("x"), series.x.iter().copied(), SMALLEST_LOGARITHMIC, f64::MAX)?;
        }
        if let Some(errors) = series.errors {
            same_length(&part("errors"), series.x.len(), errors.len())?;
            drawable(&part("errors"), errors.iter().copied())?;
            within(&part("errors"), errors.iter().copied(), 0.0, f64::MAX)?;
        }
    }
    Ok(())
}

/// Half a decade around a single value, for a logarithmic axis cannot open by adding.
fn logarithmic_range(series: &[Series<'_>]) -> Range {
    let exponents = series.iter().flat_map(|series| series.x).map(|x| x.log10());
    let range = Range::covering(exponents);
    let spread = if range.high - range.low < 0.5 { 0.25 } else { 0.0 };
    let opened = Range { low: range.low - spread, high: range.high + spread };
    Range { low: 10f64.powf(opened.low), high: 10f64.powf(opened.high) }.padded_logarithmically(0.03)
}

impl Series<'_> {
    /// The lower and the upper ends of all error bars.
    fn extent(&self) -> impl Iterator<Item = f64> {
        self.y.iter().enumerate().flat_map(|(index, y)| {
            let error = self.errors.and_then(|errors| errors.get(index)).copied().unwrap_or(0.0);
            [y - error, y + error]
        })
    }
}
