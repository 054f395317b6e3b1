//! Which classes are taken for which.

use std::sync::Arc;

use kuva::plot::{ColorMap, Heatmap};
use kuva::render::render::Primitive;

use crate::error::{PlotError, at_most, not_empty, same_length};
use crate::frame::{Axis, Frame, Geometry, Ticks};
use crate::legend::Legend;
use crate::palette::{GREY, INK, heat_colour};
use crate::picture::Picture;
use crate::range::Range;
use crate::text::{Align, centred_line, shortened, width};

/// The most known classes whose names stay readable.
const MOST_CLASSES: usize = 40;
/// Up to this many rows, the share is written into each cell.
const MOST_WRITTEN: usize = 14;
const NAME_LIMIT: usize = 20;
const UNKNOWN: &str = "unknown";

/// What [`confusion`] draws.
#[derive(Debug, Clone, Copy, Default)]
pub struct Confusion<'a> {
    /// The title; none where empty.
    pub title: &'a str,
    /// The names of the known classes, at most 40. A last row and column named `unknown` follow them.
    pub names: &'a [&'a str],
    /// How often each true class (row) was predicted as each class (column), row by row. With `n` names
    /// there are `n + 1` rows and columns; the last of each is the unknown.
    pub counts: &'a [u64],
}

/// Draws a confusion matrix as a heat map in which every row is divided by its sum. A row without any
/// sample stays white.
pub fn confusion(confusion: &Confusion<'_>) -> Result<Picture, PlotError> {
    not_empty("the list of names", confusion.names)?;
    at_most("known classes", MOST_CLASSES, confusion.names.len())?;
    let side = confusion.names.len() + 1;
    same_length("the matrix of counts", side * side, confusion.counts.len())?;
    let rows: Vec<Option<Vec<f64>>> = confusion.counts.chunks_exact(side).map(shares).collect();

    // Few classes get cells of medium size, but enough of them for the labels of the axes.
    let cell = (520.0 / side as f64).clamp(15.0, 52.0).max(220.0 / side as f64);
    let mut frame = frame(confusion, side);
    frame.inside = (cell * side as f64, cell * side as f64);
    frame.grid = false;
    frame.tick_size = ((cell * 0.72) as u32).clamp(10, 13);
    frame.name_angle = if side > MOST_WRITTEN {
        Some(-90.0)
    } else if names(confusion).any(|name| width(&name, frame.tick_size) > cell - 4.0) {
        Some(-45.0)
    } else {
        None
    };

    // The library stretches its colours over the range of the data; here a colour means a share.
    let (low, high) = rows
        .iter()
        .flatten()
        .flatten()
        .chain(rows.iter().any(Option::is_none).then_some(&0.0))
        .fold((1.0f64, 0.0f64), |(low, high), &share| (low.min(share), high.max(share)));
    let colour = move |position: f64| heat_colour(low + position * (high - low)).hex();
    // Its vertical axis counts upwards, a matrix downwards.
    let upwards = rows.iter().rev().map(|row| row.clone().unwrap_or_else(|| vec![0.0; side]));
    let plot = Heatmap::new()
        .with_data(upwards.collect::<Vec<_>>())
        .with_color_map(ColorMap::Custom(Arc::new(colour)));
    let marks = marks(&rows, cell, &frame.geometry());
    Ok(frame.picture(vec![plot.into()], marks))
}

/// A row divided by its sum; `None` where nothing is to be divided.
fn shares(row: &[u64]) -> Option<Vec<f64>> {
    let total: f64 = row.iter().map(|&count| count as f64).sum();
    (total > 0.0).then(|| row.iter().map(|&count| count as f64 / total).collect())
}

fn names(confusion: &Confusion<'_>) -> impl DoubleEndedIterator<Item = String> {
    confusion.names.iter().copied().chain([UNKNOWN]).map(|name| shortened(name, NAME_LIMIT))
}

fn frame(confusion: &Confusion<'_>, side: usize) -> Frame {
    let range = Range { low: 0.5, high: side as f64 + 0.5 };
    let horizontal =
        Axis { label: "predicted class".to_owned(), range, ticks: Ticks::Names(names(confusion).collect()) };
    let vertical =
        Axis { label: "true class".to_owned(), range, ticks: Ticks::Names(names(confusion).rev().collect()) };
    Frame::new(confusion.title, horizontal, vertical, Legend::scale(heat_colour, "share of row"))
}

/// The shares in the cells where they fit, a line before the unknown, and the rim.
fn marks(rows: &[Option<Vec<f64>>], cell: f64, geometry: &Geometry) -> Vec<Primitive> {
    let side = rows.len();
    let mut marks = Vec::new();
    if side <= MOST_WRITTEN {
        let size = ((cell * 0.3) as u32).clamp(9, 14);
        for (row, shares) in rows.iter().enumerate() {
            for column in 0..side {
                let middle = geometry.place(column as f64 + 1.0, (side - row) as f64);
                let (label, colour) = match shares {
                    // What rounds to nothing would only clutter the picture.
                    Some(shares) if shares[column] < 0.005 => continue,
                    Some(shares) => (format!("{:.2}", shares[column]), heat_colour(shares[column]).text_on()),
                    None => ("–".to_owned(), GREY),
                };
                marks.push(centred_line(label, middle, size, Align::Middle, colour, false));
            }
        }
    }
    let (first, last) = (0.5, side as f64 + 0.5);
    let line = |from: (f64, f64), to: (f64, f64), stroke_width: f64| {
        let ((x1, y1), (x2, y2)) = (geometry.place(from.0, from.1), geometry.place(to.0, to.1));
        Primitive::Line { x1, y1, x2, y2, stroke: INK.into(), stroke_width, stroke_dasharray: None }
    };
    marks.push(line((last - 1.0, first), (last - 1.0, last), 1.4));
    marks.push(line((first, first + 1.0), (last, first + 1.0), 1.4));
    // The cells cover half of the axes, so these are drawn again with the other two sides.
    for (from, to) in [
        ((first, first), (last, first)),
        ((last, first), (last, last)),
        ((last, last), (first, last)),
        ((first, last), (first, first)),
    ] {
        marks.push(line(from, to, 1.0));
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_divided_by_their_sums() {
        assert_eq!(shares(&[1, 3, 0]), Some(vec![0.25, 0.75, 0.0]));
        assert_eq!(shares(&[0, 0, 0]), None);
    }
}
