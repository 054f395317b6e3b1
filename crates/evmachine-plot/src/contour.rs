//! Isocontours of a function on a grid, as closed outlines.
//!
//! The drawing library fills contours cell by cell, which makes files of many megabytes; outlines traced
//! around each region give the same picture in a hundredth of that.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::error::{PlotError, same_length, within};
use crate::plane::Psi;
use crate::range::Range;

/// Values on a rectangular grid.
#[derive(Debug)]
pub(crate) struct Grid {
    horizontal: Range,
    vertical: Range,
    columns: usize,
    rows: usize,
    /// Row by row from the bottom.
    values: Vec<f64>,
}

/// The outlines of the region at or above one level, as SVG path data.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    /// Closed along the border of the grid where the region reaches it: for filling.
    pub(crate) area: String,
    /// Without the stretches along the border: for drawing the line.
    pub(crate) line: String,
}

/// A side of a cell: its lower left node, and whether it runs upwards.
type Side = (usize, usize, bool);

impl Grid {
    /// Evaluates `function` at `columns` times `rows` nodes, borders included, both at least 2, in one call.
    ///
    /// `what` names the function in the error for a value outside 0 to 1; rounding errors are forgiven.
    pub(crate) fn sample(
        function: &Psi<'_>,
        (horizontal, vertical): (Range, Range),
        (columns, rows): (usize, usize),
        what: &str,
    ) -> Result<Self, PlotError> {
        let grid = Self { horizontal, vertical, columns, rows, values: Vec::new() };
        let nodes: Vec<[f64; 2]> = (0..columns * rows)
            .map(|node| {
                let (x, y) = grid.position(node % columns, node / columns);
                [x, y]
            })
            .collect();
        let values =
            function(&nodes).map_err(|source| PlotError::Function { what: what.to_owned(), source })?;
        same_length(what, nodes.len(), values.len())?;
        within(what, values.iter().copied(), -1e-6, 1.0 + 1e-6)?;
        Ok(Self { values, ..grid })
    }

    /// Traces the region where the function reaches `level`; `place` turns data into pixels.
    pub(crate) fn outline(&self, level: f64, place: impl Fn(f64, f64) -> (f64, f64)) -> Outline {
        let mut following = self.directed_sides(level);
        let mut outline = Outline::default();
        while let Some((&start, _)) = following.first_key_value() {
            let mut ring = vec![start];
            let mut side = start;
            while let Some(next) = following.remove(&side) {
                ring.push(next);
                side = next;
            }
            self.write(&ring, level, &place, &mut outline);
        }
        outline
    }

    /// Which crossing follows which, walking with the region on the left. The grid is surrounded by nodes
    /// that belong to no region, so every walk comes back to its start.
    fn directed_sides(&self, level: f64) -> BTreeMap<Side, Side> {
        let mut following = BTreeMap::new();
        for row in 0..=self.rows {
            for column in 0..=self.columns {
                let inside = |right: usize, up: usize| self.reaches(column + right, row + up, level);
                let (bottom, top) = ((column, row, false), (column, row + 1, false));
                let (left, right) = ((column, row, true), (column + 1, row, true));
                let case = usize::from(inside(0, 0))
                    | usize::from(inside(1, 0)) << 1
                    | usize::from(inside(1, 1)) << 2
                    | usize::from(inside(0, 1)) << 3;
                let steps: &[(Side, Side)] = match case {
                    1 => &[(bottom, left)],
                    2 => &[(right, bottom)],
                    3 => &[(right, left)],
                    4 => &[(top, right)],
                    // Opposite corners: taken as two separate regions.
                    5 => &[(bottom, left), (top, right)],
                    6 => &[(top, bottom)],
                    7 => &[(top, left)],
                    8 => &[(left, top)],
                    9 => &[(bottom, top)],
                    10 => &[(right, bottom), (left, top)],
                    11 => &[(right, top)],
                    12 => &[(left, right)],
                    13 => &[(bottom, right)],
                    14 => &[(left, bottom)],
                    _ => &[],
                };
                following.extend(steps.iter().copied());
            }
        }
        following
    }

    /// Nodes here are counted from 1; those of the surrounding ring reach no level.
    fn reaches(&self, column: usize, row: usize, level: f64) -> bool {
        self.value(column, row).is_some_and(|value| value >= level)
    }

    fn value(&self, column: usize, row: usize) -> Option<f64> {
        let inside = (1..=self.columns).contains(&column) && (1..=self.rows).contains(&row);
        inside.then(|| self.values[(row - 1) * self.columns + column - 1])
    }

    fn position(&self, column: usize, row: usize) -> (f64, f64) {
        let along = |range: Range, place: usize, count: usize| {
            range.low + (range.high - range.low) * place as f64 / (count - 1) as f64
        };
        (along(self.horizontal, column, self.columns), along(self.vertical, row, self.rows))
    }

    /// Where the level crosses a side, and whether that is on the border of the grid.
    fn crossing(&self, (column, row, upwards): Side, level: f64) -> ((f64, f64), bool) {
        let other = if upwards { (column, row + 1) } else { (column + 1, row) };
        let node = |(column, row): (usize, usize)| self.position(column - 1, row - 1);
        match (self.value(column, row), self.value(other.0, other.1)) {
            (Some(from), Some(to)) => {
                let share = if from == to { 0.5 } else { ((level - from) / (to - from)).clamp(0.0, 1.0) };
                let ((x, y), (other_x, other_y)) = (node((column, row)), node(other));
                ((x + (other_x - x) * share, y + (other_y - y) * share), false)
            }
            (Some(_), None) => (node((column, row)), true),
            _ => (node(other), true),
        }
    }

    fn write(
        &self,
        ring: &[Side],
        level: f64,
        place: &impl Fn(f64, f64) -> (f64, f64),
        outline: &mut Outline,
    ) {
        let mut before: Option<((f64, f64), bool)> = None;
        let mut pen_up = true;
        for &side in ring {
            let ((x, y), border) = self.crossing(side, level);
            let (x, y) = place(x, y);
            // Writing into a string cannot fail.
            let _ = write!(outline.area, "{}{x:.2} {y:.2} ", if before.is_none() { 'M' } else { 'L' });
            if let Some(((from_x, from_y), from_border)) = before {
                if border && from_border {
                    pen_up = true;
                } else {
                    if pen_up {
                        let _ = write!(outline.line, "M{from_x:.2} {from_y:.2} ");
                    }
                    let _ = write!(outline.line, "L{x:.2} {y:.2} ");
                    pen_up = false;
                }
            }
            before = Some(((x, y), border));
        }
        outline.area.push_str("Z ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQUARE: Range = Range { low: -1.0, high: 1.0 };

    fn cone(x: f64, y: f64) -> f64 {
        (1.0 - (x * x + y * y).sqrt()).clamp(0.0, 1.0)
    }

    fn at_each(
        function: &dyn Fn(f64, f64) -> f64,
    ) -> impl Fn(&[[f64; 2]]) -> Result<Vec<f64>, Box<dyn std::error::Error + Send + Sync>> + '_ {
        move |points| Ok(points.iter().map(|&[x, y]| function(x, y)).collect())
    }

    fn sampled(function: &dyn Fn(f64, f64) -> f64) -> Grid {
        Grid::sample(&at_each(function), (SQUARE, SQUARE), (41, 41), "psi").unwrap()
    }

    fn points(path: &str) -> Vec<(f64, f64)> {
        let numbers: Vec<f64> = path
            .split(|letter: char| !(letter.is_ascii_digit() || letter == '.' || letter == '-'))
            .filter_map(|number| number.parse().ok())
            .collect();
        numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
    }

    #[test]
    fn a_cone_gives_one_closed_circle() {
        let outline = sampled(&cone).outline(0.5, |x, y| (x * 100.0, y * 100.0));
        assert_eq!(outline.area.matches('M').count(), 1);
        assert_eq!(outline.line.matches('M').count(), 1);
        let circle = points(&outline.line);
        assert!(circle.len() > 40);
        assert!(circle.iter().all(|(x, y)| (x.hypot(*y) - 50.0).abs() < 1.0));
        assert_eq!(circle.first(), circle.last());
    }

    #[test]
    fn a_hole_is_a_second_ring() {
        let outline =
            sampled(&|x, y| 1.0 - (2.0 * (x.hypot(y) - 0.5)).abs().min(1.0)).outline(0.6, |x, y| (x, y));
        assert_eq!(outline.area.matches('M').count(), 2);
    }

    #[test]
    fn the_border_is_filled_but_not_drawn() {
        let everywhere = sampled(&|_, _| 0.7);
        assert_eq!(everywhere.outline(0.9, |x, y| (x, y)).area, "");
        let outline = everywhere.outline(0.5, |x, y| (x, y));
        assert!(outline.area.ends_with("Z "));
        assert_eq!(outline.line, "");
    }

    #[test]
    fn separate_regions_and_saddles_close() {
        let two = sampled(&|x, y| if x * y > 0.0 { 1.0 } else { 0.0 });
        let outline = two.outline(0.5, |x, y| (x, y));
        assert_eq!(outline.area.matches('M').count(), outline.area.matches('Z').count());
    }

    #[test]
    fn values_outside_probabilities_are_refused() {
        let sample = |psi: &Psi<'_>| Grid::sample(psi, (SQUARE, SQUARE), (3, 3), "psi");
        let error = sample(&at_each(&|_, _| 2.0)).unwrap_err();
        assert!(matches!(error, PlotError::OutOfRange { index: 0, .. }));
        assert!(sample(&at_each(&|_, _| f64::NAN)).is_err());
    }

    #[test]
    fn the_function_is_asked_once_about_all_nodes() {
        let calls = std::cell::Cell::new(0);
        let ask = |psi: &Psi<'_>| Grid::sample(psi, (SQUARE, SQUARE), (3, 3), "psi");
        ask(&|points| {
            calls.set(calls.get() + 1);
            assert_eq!((points.len(), points[0], points[8]), (9, [-1.0, -1.0], [1.0, 1.0]));
            Ok(vec![0.5; 9])
        })
        .unwrap();
        assert_eq!(calls.get(), 1);
        let error = ask(&|_| Ok(vec![0.5; 8])).unwrap_err();
        assert!(matches!(error, PlotError::LengthMismatch { expected: 9, found: 8, .. }));
        let error = ask(&|_| Err("no model".into())).unwrap_err();
        assert_eq!(error.to_string(), "psi could not be had: no model");
    }
}
