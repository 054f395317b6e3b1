//! Tails of points in few dimensions: only the parts of space that can hold a near point are looked at.
//!
//! The points are divided into leaves, as those of a k-d tree. A leaf meets the others in the order of the distance
//! between their boxes, and stops where no box can hold a value below the bounds of its rows. Every pair that counts
//! is measured by the same kernel as without leaves, so the tails are the same, bit for bit.

use rayon::prelude::*;

use super::divide::divide;
use super::smallest::Smallest;
use super::{Rows, distances};
use crate::distance::{self, Columns, Tile};
use crate::error::Halt;
use crate::metric::Metric;
use crate::progress::{Run, Stage};

/// Points of a leaf, in whole groups and panels of the kernel.
const LEAF: usize = 96;
/// Beyond so many dimensions it is not even tried.
const DIMENSIONS: usize = 8;
/// With fewer points, everything is measured before the boxes are sorted.
const ROWS: usize = 8_192;
/// Of the points, the share that a leaf may meet for leaves to be worth it.
const SHARE: f64 = 0.4;
/// Leaves that are tried to find out.
const TRIED: usize = 8;

/// The rows of a call, divided.
pub(super) struct Leaves {
    metric: Metric,
    dimensions: usize,
    /// Positions in the rows of the call, leaf after leaf.
    order: Vec<usize>,
    /// By position in `order`.
    classes: Vec<u32>,
    columns: Box<dyn Columns>,
    boxes: Vec<Extent>,
}

struct Extent {
    low: Vec<f32>,
    high: Vec<f32>,
    /// The class of all points of the leaf, where they have one.
    class: Option<u32>,
}

impl Leaves {
    /// `None` where measuring everything is faster: many dimensions, few points, or data that fills its space so
    /// evenly that a leaf meets most of the others.
    pub(super) fn new(metric: &Metric, rows: &Rows<'_>, sizes: &[usize]) -> Option<Self> {
        let dimensions = rows.points.dimensions();
        let built_in = matches!(metric, Metric::Euclidean | Metric::Cosine | Metric::Manhattan);
        if !built_in || dimensions > DIMENSIONS || rows.indices.len() < ROWS || rows.bounds.is_some() {
            return None;
        }
        let values = rows.points.gather(rows.indices);
        let mut order: Vec<usize> = (0..rows.indices.len()).collect();
        divide(&values, dimensions, LEAF, &mut order);
        let indices: Vec<usize> = order.iter().map(|&position| rows.indices[position]).collect();
        let classes: Vec<u32> = order.iter().map(|&position| rows.classes[position]).collect();
        let boxes = order
            .chunks(LEAF)
            .zip(classes.chunks(LEAF))
            .map(|(leaf, classes)| Extent::new(&values, dimensions, leaf, classes))
            .collect();
        let columns = distance::columns(metric, rows.points, &indices);
        let leaves = Self { metric: metric.clone(), dimensions, order, classes, columns, boxes };
        let count = leaves.boxes.len();
        let tried: Result<Vec<usize>, Halt> = (0..TRIED.min(count))
            .into_par_iter()
            .map(|turn| Ok(leaves.tails(rows, sizes, turn * count / TRIED.min(count))?.1))
            .collect();
        let met: usize = tried.ok()?.iter().sum();
        (met as f64 <= SHARE * (TRIED.min(count) * rows.indices.len()) as f64).then_some(leaves)
    }

    pub(super) fn stream<W: Default, R: Send>(
        &self,
        run: &Run<'_>,
        stage: Stage,
        rows: &Rows<'_>,
        sizes: &[usize],
        finish: impl Fn(usize, &[f32], &mut W) -> R + Sync,
    ) -> Result<Vec<R>, Halt> {
        let meter = run.meter(stage, self.order.len());
        let finished: Result<Vec<Vec<(usize, R)>>, Halt> = (0..self.boxes.len())
            .into_par_iter()
            .map_init(W::default, |workspace, leaf| {
                meter.check()?;
                let (mut tails, _) = self.tails(rows, sizes, leaf)?;
                let results: Vec<(usize, R)> = (0..tails.rows())
                    .map(|at| {
                        let row = self.order[leaf * LEAF + at];
                        (row, finish(row, distances(&self.metric, &mut tails, at), workspace))
                    })
                    .collect();
                meter.advance(results.len())?;
                Ok(results)
            })
            .collect();
        let mut finished: Vec<(usize, R)> = finished?.into_iter().flatten().collect();
        finished.sort_by_key(|(row, _)| *row);
        Ok(finished.into_iter().map(|(_, result)| result).collect())
    }

    /// The tails of a leaf, and how many points it met.
    fn tails(&self, rows: &Rows<'_>, sizes: &[usize], leaf: usize) -> Result<(Smallest, usize), Halt> {
        let own = leaf * LEAF..((leaf + 1) * LEAF).min(self.order.len());
        let classes = &self.classes[own.clone()];
        let size = |class: u32| sizes[class as usize].min(self.order.len());
        let mut tails = Smallest::new(classes.iter().map(|&class| (size(class), f32::INFINITY)));
        let indices: Vec<usize> = self.order[own].iter().map(|&position| rows.indices[position]).collect();
        let block = self.columns.block(rows.points, &indices);
        let (mut tile, mut others) = (Tile::default(), Vec::new());
        let mut met = 0;
        for (nearest, other) in self.by_distance(leaf) {
            let bound = tails.bounds().iter().copied().fold(0.0, f32::max);
            if nearest > bound {
                break;
            }
            let single = self.boxes[other].class;
            if single.is_some() && single == self.boxes[leaf].class {
                continue;
            }
            let columns = other * LEAF..((other + 1) * LEAF).min(self.order.len());
            met += columns.len();
            self.columns.ranks(&block, columns.clone(), &mut tile)?;
            let column_classes = &self.classes[columns];
            for (row, &class) in classes.iter().enumerate() {
                if single == Some(class) {
                    continue;
                }
                others.clear();
                let pairs = tile.row(row).iter().zip(column_classes);
                others.extend(pairs.map(|(&rank, &other)| if other == class { f32::INFINITY } else { rank }));
                tails.offer(row, &others);
            }
            // A bound is lowered when a buffer is full; here it is wanted as soon as there is one.
            for row in 0..tails.rows() {
                if tails.bounds()[row] == f32::INFINITY {
                    tails.tighten(row);
                }
            }
        }
        Ok((tails, met))
    }

    /// All leaves by the least rank that a pair of points in their boxes can have, the nearest first.
    fn by_distance(&self, leaf: usize) -> Vec<(f32, usize)> {
        let mut leaves: Vec<(f32, usize)> =
            (0..self.boxes.len()).map(|other| (self.least_rank(leaf, other), other)).collect();
        leaves.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        leaves
    }

    /// A little less than computed, so that rounding in the kernel never puts a pair below it.
    fn least_rank(&self, leaf: usize, other: usize) -> f32 {
        let (a, b) = (&self.boxes[leaf], &self.boxes[other]);
        let gaps = (0..self.dimensions)
            .map(|i| f64::from(a.low[i] - b.high[i]).max(f64::from(b.low[i] - a.high[i])).max(0.0));
        let least = match self.metric {
            Metric::Manhattan => gaps.sum::<f64>(),
            // Unit vectors: 1 - ab = |a - b|^2 / 2. Ranks are exact to some 1e-7.
            Metric::Cosine => gaps.map(|gap| gap * gap).sum::<f64>() / 2.0 - 1e-5,
            _ => gaps.map(|gap| gap * gap).sum::<f64>(),
        };
        (least * (1.0 - 1e-4)) as f32
    }
}

impl Extent {
    fn new(values: &[f32], d: usize, leaf: &[usize], classes: &[u32]) -> Self {
        let (mut low, mut high) = (vec![f32::INFINITY; d], vec![f32::NEG_INFINITY; d]);
        for &position in leaf {
            for (i, &value) in values[position * d..(position + 1) * d].iter().enumerate() {
                low[i] = low[i].min(value);
                high[i] = high[i].max(value);
            }
        }
        let class = classes.first().copied().filter(|first| classes.iter().all(|class| class == first));
        Self { low, high, class }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Against, stream};
    use super::*;
    use crate::points::Points;

    fn clumps(rows: usize, d: usize, spread: f32) -> (Vec<f32>, Vec<u32>) {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / 16_777_216.0
        };
        let classes: Vec<u32> = (0..rows).map(|row| (row * 7 / rows) as u32).collect();
        let values = classes
            .iter()
            .flat_map(|&class| vec![class; d])
            .map(|class| 0.5 + class as f32 + spread * (random() * 20.0).round() / 20.0)
            .collect();
        (values, classes)
    }

    #[test]
    fn tails_are_those_of_measuring_everything() {
        let sizes = [1, 20, 75, 300, 9_000, 75, 75];
        for (d, spread) in [(1, 1.5), (2, 3.0), (4, 1.0)] {
            let (values, classes) = clumps(9_000, d, spread);
            for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Cosine] {
                let points = Points::scaled((&values[..]).into(), d, &metric);
                let indices: Vec<usize> = (0..classes.len()).collect();
                let own: Vec<_> = (0..7u32)
                    .map(|class| {
                        classes.partition_point(|&c| c < class)..classes.partition_point(|&c| c <= class)
                    })
                    .collect();
                let columns = distance::columns(&metric, &points, &indices);
                let against = [Against { columns: columns.as_ref(), own: &own }];
                let rows = |are_columns| Rows {
                    are_columns,
                    points: &points,
                    indices: &indices,
                    classes: &classes,
                    bounds: None,
                };
                let keep = |row: usize, tail: &[f32], (): &mut ()| (row, tail.to_vec());
                let run = Run::new();
                let all = stream(&run, Stage::Tails, &metric, &rows(false), &against, &sizes, keep).unwrap();
                let small = [75; 7];
                let expected =
                    stream(&run, Stage::Tails, &metric, &rows(false), &against, &small, keep).unwrap();
                let leaves = Leaves::new(&metric, &rows(true), &small);
                assert!(d > 2 || metric == Metric::Cosine || leaves.is_some(), "{d} {metric:?}");
                if let Some(leaves) = leaves {
                    let found = leaves.stream(&run, Stage::Tails, &rows(true), &small, keep).unwrap();
                    assert!(found == expected, "{d} {metric:?}");
                    // One class asks for everything here, which leaves give as well.
                    let found = leaves.stream(&run, Stage::Tails, &rows(true), &sizes, keep).unwrap();
                    assert!(found == all, "{d} {metric:?}");
                }
            }
        }
    }

    #[test]
    fn points_that_fill_their_space_are_all_measured() {
        let (values, classes) = clumps(9_000, 16, 9.0);
        let points = Points::ready(values, 16);
        let indices: Vec<usize> = (0..classes.len()).collect();
        let rows =
            Rows { are_columns: true, points: &points, indices: &indices, classes: &classes, bounds: None };
        assert!(Leaves::new(&Metric::Euclidean, &rows, &[75; 7]).is_none());
    }
}
