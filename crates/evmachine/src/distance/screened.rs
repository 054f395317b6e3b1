//! Points on both sides, of which only the pairs that lie close are wanted, in so few dimensions that the sum of a pair
//! stays in a register.
//!
//! Groups of rows that cannot have such a pair with a panel of columns are passed over where [`Codes`] can tell. Of the
//! others, ranks that nobody wants are dropped as soon as they are known.

use std::ops::Range;

use super::below::{Below, End, Pairs};
use super::codes::Codes;
use super::kernel::{GROUP, PANEL};
use super::panels::{Kind, Panels};
use super::{Columns, RowBlock};
use crate::metric::Metric;
use crate::points::Points;

pub(crate) struct Screened {
    panels: Panels,
    codes: Option<Codes>,
}

/// Pairs found, and room for finding more.
#[derive(Default)]
pub(crate) struct Screen {
    open: Vec<bool>,
    pairs: Pairs,
}

impl Screen {
    pub(crate) fn pairs(&self) -> &Pairs {
        &self.pairs
    }
}

impl Screened {
    /// Whether the metric is a sum of differences, over few enough dimensions.
    pub(crate) fn suits(metric: &Metric, dimensions: usize) -> bool {
        kind(metric, dimensions).is_some()
    }

    /// Lays out the points at `order`, in that order; `None` where they do not suit.
    pub(crate) fn new(metric: &Metric, points: &Points<'_>, order: &[usize]) -> Option<Self> {
        let kind = kind(metric, points.dimensions())?;
        Some(Self { panels: Panels::new(kind, points, order), codes: codes(kind, points, order) })
    }

    /// Bytes that so many points take as rows and as columns, each with its codes.
    pub(crate) fn bytes(count: usize, dimensions: usize) -> usize {
        let value = 2 * (size_of::<f32>() + size_of::<u8>());
        count.saturating_mul(dimensions).saturating_mul(value)
    }

    pub(crate) fn columns(&self) -> &dyn Columns {
        &self.panels
    }

    /// The share of panels that rows with these bounds have to be measured with, 1 without codes. The rows are those of
    /// one group.
    pub(crate) fn share(&self, group: usize, bounds: &[f32]) -> f64 {
        let Some(codes) = &self.codes else { return 1.0 };
        let rows = self.end(GROUP, group * GROUP..group * GROUP + bounds.len(), bounds, &[]);
        let nowhere = vec![0; self.columns().len().next_multiple_of(PANEL)];
        let mut open = Vec::new();
        codes.open((group, &rows.reaches), (0, &nowhere), &mut open);
        open.iter().filter(|open| **open).count() as f64 / open.len() as f64
    }

    pub(crate) fn without_codes(self) -> Self {
        Self { codes: None, ..self }
    }

    /// The points of a range, from the start of a group and of a panel on, as rows and as columns.
    pub(crate) fn ends(&self, points: Range<usize>, bounds: &[f32], classes: &[u32]) -> [End; 2] {
        [GROUP, PANEL].map(|width| self.end(width, points.clone(), bounds, classes))
    }

    fn end(&self, width: usize, points: Range<usize>, bounds: &[f32], classes: &[u32]) -> End {
        let mut end = End::new(width, bounds, classes);
        if let Some(codes) = &self.codes {
            // Ranks are squared distances, exact to some 1e-6.
            let radius = |bound: f32| f64::from(bound.max(0.0)).sqrt() * (1.0 + 1e-5);
            end.reaches =
                points.zip(bounds).map(|(point, &bound)| codes.reach(point, radius(bound))).collect();
            end.reaches.resize(bounds.len().next_multiple_of(width), 0);
        }
        end
    }

    /// Pairs of the rows of a block, `group` groups behind the first of the rows, and the columns, with a rank below the
    /// bound of either. `starts` are the points that rows and columns begin with.
    pub(crate) fn below(
        &self,
        starts: [usize; 2],
        (group, block): (usize, &RowBlock),
        rows: &End,
        columns: &End,
        screen: &mut Screen,
    ) {
        let [first_group, first_panel] = [starts[0] / GROUP + group, starts[1] / PANEL];
        if let Some(codes) = &self.codes {
            let reaches = &rows.reaches[group * GROUP..(group + block.rows.div_ceil(GROUP)) * GROUP];
            codes.open((first_group, reaches), (first_panel, &columns.reaches), &mut screen.open);
        }
        let mut below = Below::new((group, rows), columns, &screen.open, &mut screen.pairs);
        self.panels.below(block, first_panel, &mut below);
    }
}

fn kind(metric: &Metric, dimensions: usize) -> Option<Kind> {
    let kind = match metric {
        Metric::Euclidean => Kind::Euclidean,
        Metric::Manhattan => Kind::Manhattan,
        Metric::Cosine | Metric::Custom(_) => return None,
    };
    kind.is_in_registers(dimensions).then_some(kind)
}

/// Codes bound Euclidean distances alone.
fn codes(kind: Kind, points: &Points<'_>, order: &[usize]) -> Option<Codes> {
    if kind == Kind::Euclidean { Codes::new(points, order) } else { None }
}
