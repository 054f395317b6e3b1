//! Points on both sides, of which only the pairs that lie close are wanted, in so few dimensions that the sum of a pair
//! stays in a register. Sums that nobody wants are dropped half-way, or as soon as they are complete.

use super::kernel::{GROUP, PANEL};
use super::pairs::{Below, End, Pairs};
use super::panels::{PanelKind, Panels};
use super::{Columns, RowBlock};
use crate::metric::Metric;
use crate::points::Points;

pub(crate) struct Near(Panels);

impl Near {
    /// Lays out the points at `order`, in that order. The metric [suits](is_in_registers).
    pub(crate) fn new(metric: &Metric, points: &Points<'_>, order: &[usize]) -> Self {
        let kind = if *metric == Metric::Manhattan { PanelKind::Manhattan } else { PanelKind::Euclidean };
        Self(Panels::new(kind, points, order))
    }

    pub(crate) fn columns(&self) -> &dyn Columns {
        &self.0
    }

    /// Bounds and classes of points side by side, from the start of a group and of a panel on, as rows and as columns.
    pub(crate) fn ends(bounds: &[f32], classes: &[u32]) -> [End; 2] {
        [GROUP, PANEL].map(|width| End::new(width, bounds, classes))
    }

    /// Finds the pairs of the rows of a block, `group` groups behind the first of `rows`, and the columns, from the point `start`
    /// on, with a rank below the bound of either.
    pub(crate) fn find(
        &self,
        (group, block): (usize, &RowBlock),
        rows: &End,
        (start, columns): (usize, &End),
        pairs: &mut Pairs,
    ) {
        self.0.below(block, start / PANEL, &mut Below::new((group, rows), columns, pairs));
    }
}

/// Whether the rank of a pair is a sum of differences over so few dimensions that it stays in a register.
pub fn is_in_registers(metric: &Metric, dimensions: usize) -> bool {
    match metric {
        Metric::Euclidean => PanelKind::Euclidean.is_in_registers(dimensions),
        Metric::Manhattan => PanelKind::Manhattan.is_in_registers(dimensions),
        Metric::Cosine | Metric::Custom(_) => false,
    }
}
