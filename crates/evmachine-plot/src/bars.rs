//! A few numbers compared as bars, in groups.

use kuva::plot::BarPlot;
use kuva::render::render::Primitive;

use crate::error::{PlotError, at_most, drawable, not_empty, same_length};
use crate::frame::{Axis, Frame, Geometry, Ticks};
use crate::legend::{Legend, Symbol};
use crate::palette::{INK, class_colour};
use crate::picture::Picture;
use crate::range::Range;
use crate::text::{self, Align, BODY, centred_line};

/// More bars than this have no room for their numbers.
const MOST_BARS: usize = 60;
/// The share of its slot that a group fills.
const FILLED: f64 = 0.76;
/// Numbers smaller than this are left out rather than printed unreadably.
const SMALLEST_NUMBER: u32 = 9;
const NAME_LIMIT: usize = 32;

/// Which way bars grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    /// Upwards; for short names.
    #[default]
    Vertical,
    /// To the right, the first group on top; for long names.
    Horizontal,
}

/// One bar in every group.
#[derive(Debug, Clone, Copy, Default)]
pub struct BarSeries<'a> {
    /// The name in the key.
    pub name: &'a str,
    /// One value for each group.
    pub values: &'a [f64],
}

/// What [`bars`] draws.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bars<'a> {
    /// The title; none where empty.
    pub title: &'a str,
    /// What the lengths of the bars are.
    pub value_label: &'a str,
    /// The names of the groups.
    pub groups: &'a [&'a str],
    /// The bars within each group, for instance `before` and `after`. With a single one there is no key.
    pub series: &'a [BarSeries<'a>],
    /// Which way the bars grow.
    pub direction: Direction,
}

/// Draws grouped bars with their values written at their ends. The axis of values always includes zero.
pub fn bars(bars: &Bars<'_>) -> Result<Picture, PlotError> {
    check(bars)?;
    let horizontal = bars.direction == Direction::Horizontal;
    let mut legend = Legend::default();
    if bars.series.len() > 1 {
        for (index, series) in bars.series.iter().enumerate() {
            legend.item(Symbol::Fill(class_colour(index)), series.name);
        }
    }
    let mut frame = frame(bars, legend);
    let slots = (bars.groups.len() * bars.series.len()) as f64;
    if horizontal {
        frame.inside = (460.0, (slots * 26.0 / FILLED).clamp(160.0, 900.0));
    } else {
        frame.inside = ((slots * 46.0 / FILLED).clamp(360.0, 900.0), 340.0);
        let slot = frame.inside.0 / bars.groups.len() as f64;
        if bars.groups.iter().any(|name| text::width(&text::shortened(name, NAME_LIMIT), 13) > slot - 8.0) {
            frame.name_angle = Some(-40.0);
        }
    }

    let mut plot = BarPlot::new().with_width(FILLED).with_horizontal(horizontal);
    for group in 0..bars.groups.len() {
        let place = from_origin(group, bars.groups.len(), horizontal);
        let values = (0..bars.series.len()).map(|index| {
            let series = from_origin(index, bars.series.len(), horizontal);
            (bars.series[series].values[place], class_colour(series).hex())
        });
        plot = plot.with_group(bars.groups[place], values.collect::<Vec<_>>());
    }
    let geometry = frame.geometry();
    let mut marks = numbers(bars, &geometry, frame.inside);
    marks.push(zero_line(bars, &geometry));
    Ok(frame.picture(vec![plot.into()], marks))
}

fn check(bars: &Bars<'_>) -> Result<(), PlotError> {
    not_empty("the list of groups", bars.groups)?;
    not_empty("the list of series", bars.series)?;
    at_most("bars", MOST_BARS, bars.groups.len() * bars.series.len())?;
    for series in bars.series {
        let what = format!("the series {}", series.name);
        same_length(&what, bars.groups.len(), series.values.len())?;
        drawable(&what, series.values.iter().copied())?;
    }
    Ok(())
}

/// The vertical axis counts upwards, so what comes first has to be drawn last to stand on top.
fn from_origin(index: usize, count: usize, reversed: bool) -> usize {
    if reversed { count - 1 - index } else { index }
}

fn frame(bars: &Bars<'_>, legend: Legend) -> Frame {
    let horizontal = bars.direction == Direction::Horizontal;
    let groups = bars.groups.len();
    let names = (0..groups)
        .map(|group| text::shortened(bars.groups[from_origin(group, groups, horizontal)], NAME_LIMIT))
        .collect();
    let values = bars.series.iter().flat_map(|series| series.values).copied();
    let range = Range::covering(values.chain([0.0]));
    // Room for the numbers beyond the ends of the bars, on the sides where there are bars.
    let room = (range.high - range.low) * if horizontal { 0.14 } else { 0.08 };
    let low = if range.low < 0.0 { range.low - room } else { 0.0 };
    let high = if range.high > 0.0 { range.high + room } else { 0.0 };
    let values =
        Axis { label: bars.value_label.to_owned(), range: Range { low, high }, ticks: Ticks::Linear };
    let groups = Axis {
        label: String::new(),
        range: Range { low: 0.5, high: groups as f64 + 0.5 },
        ticks: Ticks::Names(names),
    };
    if horizontal {
        Frame::new(bars.title, values, groups, legend)
    } else {
        Frame::new(bars.title, groups, values, legend)
    }
}

/// Bars start from this line, wherever on the axis zero lies.
fn zero_line(bars: &Bars<'_>, geometry: &Geometry) -> Primitive {
    let (first, last) = (0.5, bars.groups.len() as f64 + 0.5);
    let ((x1, y1), (x2, y2)) = match bars.direction {
        Direction::Vertical => (geometry.place(first, 0.0), geometry.place(last, 0.0)),
        Direction::Horizontal => (geometry.place(0.0, first), geometry.place(0.0, last)),
    };
    Primitive::Line { x1, y1, x2, y2, stroke: INK.into(), stroke_width: 1.0, stroke_dasharray: None }
}

/// The values at the ends of their bars, in one size that fits them all.
fn numbers(bars: &Bars<'_>, geometry: &Geometry, inside: (f64, f64)) -> Vec<Primitive> {
    let horizontal = bars.direction == Direction::Horizontal;
    let (groups, per_group) = (bars.groups.len(), bars.series.len());
    let labels: Vec<Vec<String>> =
        bars.series.iter().map(|series| series.values.iter().copied().map(number).collect()).collect();
    let across = if horizontal { inside.1 } else { inside.0 };
    let thickness = across * FILLED / (groups * per_group) as f64;
    let widest = labels.iter().flatten().map(|label| text::width(label, 100) / 100.0).fold(0.1, f64::max);
    let fitting = if horizontal { thickness * 0.8 } else { (thickness + 4.0) / widest };
    let size = (fitting.floor() as u32).min(BODY);
    if size < SMALLEST_NUMBER {
        return Vec::new();
    }
    let mut marks = Vec::new();
    for (series, labels) in labels.iter().enumerate() {
        for (group, label) in labels.iter().enumerate() {
            let value = bars.series[series].values[group];
            let slot = from_origin(group, groups, horizontal) as f64 + 1.0 - FILLED / 2.0;
            let step = from_origin(series, per_group, horizontal) as f64 + 0.5;
            let middle = slot + FILLED * step / per_group as f64;
            let outwards = if value < 0.0 { -1.0 } else { 1.0 };
            let (at, align) = if horizontal {
                let (x, y) = geometry.place(value, middle);
                ((x + 5.0 * outwards, y), if value < 0.0 { Align::End } else { Align::Start })
            } else {
                let (x, y) = geometry.place(middle, value);
                ((x, y - (f64::from(size) * 0.5 + 3.0) * outwards), Align::Middle)
            };
            marks.push(centred_line(label.as_str(), at, size, align, INK, false));
        }
    }
    marks
}

/// A value in few characters: three significant digits or so, without closing zeros.
fn number(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 1e6 || (magnitude > 0.0 && magnitude < 1e-3) {
        return format!("{value:.1e}");
    }
    let decimals = match magnitude {
        100.0.. => 1,
        1.0..100.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let texts: Vec<_> = [0.0, 12.0, 0.91234, 3.456, 123.45, 2.5e7, 1e-5].map(number).to_vec();
        assert_eq!(texts, ["0", "12", "0.912", "3.46", "123.5", "2.5e7", "1.0e-5"]);
    }

    #[test]
    fn the_first_group_stands_on_top_of_horizontal_bars() {
        assert_eq!(from_origin(0, 4, true), 3);
        assert_eq!(from_origin(0, 4, false), 0);
    }
}
