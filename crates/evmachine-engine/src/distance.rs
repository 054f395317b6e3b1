//! Tiles of distances: a block of rows against a range of columns.
//!
//! Two implementations stand behind [`Columns`]: `panels` packs vectors for the `kernel` and serves the
//! built-in metrics, `pairwise` calls a user's own function. Both give *ranks*, which order pairs as distances
//! do ([`Metric::distance_of_rank`]).

mod by_tile;
mod kept;
mod kernel;
mod later;
mod lines;
mod loose;
mod near;
mod pairs;
mod pairwise;
mod panels;

use std::ops::Range;

use self::by_tile::ByTile;
pub use self::kept::Kept;
pub use self::kernel::{GROUP, PANEL};
use self::later::Later;
use self::lines::Lines;
pub use self::loose::LooseRows;
pub(crate) use self::near::Near;
pub use self::near::is_in_registers;
pub(crate) use self::pairs::Pairs;
use self::panels::{PanelKind, Panels};

use crate::device::Source;
use crate::metric::{Metric, MetricError};
use crate::points::Points;

/// The vectors that stand along the columns of tiles.
#[expect(clippy::len_without_is_empty, reason = "nobody asks")]
pub trait Columns: Send + Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// Lays out what is not laid out yet, before many threads ask for tiles.
    fn prepare(&self) {}

    /// Lays out the given rows for any number of tiles.
    fn block(&self, rows: &Points<'_>, indices: &[usize]) -> RowBlock;

    /// Lays out one row, in the memory of what the block held before.
    fn block_of_one(&self, rows: &Points<'_>, index: usize, block: &mut RowBlock) {
        *block = self.block(rows, &[index]);
    }

    /// Ranks of every row of the block with every column of the range.
    fn ranks(&self, block: &RowBlock, columns: Range<usize>, tile: &mut Tile) -> Result<(), MetricError>;

    /// The vector at a column.
    fn write_vector(&self, column: usize, out: &mut [f32]);
}

/// The vectors along the columns.
pub(crate) struct Vectors<'a> {
    pub(crate) columns: &'a dyn Columns,
    pub(crate) dimensions: usize,
}

impl Source for Vectors<'_> {
    fn count(&self) -> usize {
        self.columns.len()
    }

    fn write(&self, first: usize, out: &mut [f32]) {
        for (column, out) in (first..).zip(out.chunks_exact_mut(self.dimensions)) {
            self.columns.write_vector(column, out);
        }
    }
}

/// Rows laid out for one implementation of [`Columns`].
#[derive(Default)]
pub struct RowBlock {
    rows: usize,
    /// Rows that lie dimension by dimension; they are padded to a multiple of it.
    lanes: usize,
    values: Lines,
    /// The square of each row's length, padded like the rows; zeros or none where nobody asks.
    squares: Vec<f32>,
}

impl RowBlock {
    /// One row, as it is.
    fn hold_one(&mut self, rows: &Points<'_>, index: usize) {
        (self.rows, self.lanes) = (1, 1);
        self.values.shape(rows.dimensions());
        rows.write_row(index, &mut self.values);
        self.squares.clear();
    }
}

/// Ranks of a block of rows; its memory is used again by the next one.
#[derive(Default)]
pub struct Tile {
    values: Vec<f32>,
    stride: usize,
    offset: usize,
    columns: usize,
}

impl Tile {
    /// Columns of a tile that fits the caches next to its vectors.
    pub const COLUMNS: usize = 512;

    /// The ranks of a row of the block.
    pub fn row(&self, row: usize) -> &[f32] {
        let start = row * self.stride + self.offset;
        &self.values[start..start + self.columns]
    }

    fn shape(&mut self, rows: usize, stride: usize, offset: usize, columns: usize) {
        // Never shorter, so that nothing is cleared that was there before.
        if self.values.len() < rows * stride {
            self.values.resize(rows * stride, 0.0);
        }
        (self.stride, self.offset, self.columns) = (stride, offset, columns);
    }
}

/// Lays out the points at `order` as columns, in that order.
pub fn columns(metric: &Metric, points: &Points<'_>, order: &[usize]) -> Box<dyn Columns> {
    match metric {
        Metric::Euclidean => Box::new(Panels::new(PanelKind::Euclidean, points, order)),
        Metric::Cosine => Box::new(Panels::new(PanelKind::Cosine, points, order)),
        Metric::Manhattan => Box::new(Panels::new(PanelKind::Manhattan, points, order)),
        Metric::Custom(distance) => Box::new(pairwise::Pairwise::new(distance.clone(), points, order)),
    }
}

/// As [`columns`], laid out when the first tile is asked for: where another device does the work, nobody asks.
pub fn columns_later<'a>(
    metric: &'a Metric,
    points: &'a Points<'a>,
    order: &'a [usize],
) -> Box<dyn Columns + 'a> {
    Box::new(Later::new(metric, points, order))
}

/// As [`columns`], laid out anew for every tile.
pub fn columns_by_tile<'a>(
    metric: &'a Metric,
    points: &'a Points<'a>,
    order: &'a [usize],
) -> Box<dyn Columns + 'a> {
    Box::new(ByTile::new(metric, points, order))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Features;

    fn reference(metric: &Metric, a: &[f32], b: &[f32]) -> f64 {
        let pairs = || a.iter().zip(b).map(|(&a, &b)| (f64::from(a), f64::from(b)));
        match metric {
            Metric::Manhattan => pairs().map(|(a, b)| (a - b).abs()).sum(),
            Metric::Cosine => {
                let norm = |v: &[f32]| v.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
                1.0 - pairs().map(|(a, b)| a * b).sum::<f64>() / (norm(a) * norm(b))
            }
            _ => pairs().map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt(),
        }
    }

    #[derive(Debug)]
    struct Own;

    impl crate::Distance for Own {
        fn name(&self) -> &'static str {
            "own"
        }
        fn distance(&self, a: &[f32], b: &[f32]) -> f32 {
            reference(&Metric::Euclidean, a, b) as f32
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn tiles_agree_with_an_f64_reference_for_every_backend(
            dimensions in prop::sample::select(vec![1usize, 2, 3, 16, 40, 300, 700]),
            count in 1usize..70,
            first in 0usize..40,
            seed in any::<u64>(),
        ) {
            let mut state = seed | 1;
            let values: Vec<f32> = (0..count * dimensions)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    ((state >> 40) as f32 / 16_777_216.0) + 0.01
                })
                .collect();
            let features = Features::new(values, dimensions).unwrap();
            let all: Vec<usize> = (0..count).collect();
            let first = first.min(count - 1);
            for metric in [Metric::Euclidean, Metric::Cosine, Metric::Manhattan, Metric::custom(Own)] {
                let points = Points::prepare(&features, &metric).unwrap();
                let columns = columns(&metric, &points, &all);
                prop_assert_eq!(columns.len(), count);
                let block = columns.block(&points, &all);
                let (mut whole, mut part) = (Tile::default(), Tile::default());
                columns.ranks(&block, 0..count, &mut whole).unwrap();
                columns.ranks(&block, first..count, &mut part).unwrap();
                let (mut alone, mut ranks) = (RowBlock::default(), Tile::default());
                for row in 0..count {
                    columns.block_of_one(&points, row, &mut alone);
                    columns.ranks(&alone, first..count, &mut ranks).unwrap();
                    prop_assert_eq!(part.row(row), ranks.row(0), "one row alone");
                }
                for i in 0..count {
                    prop_assert_eq!(&whole.row(i)[first..], part.row(i));
                    prop_assert_eq!(whole.row(i)[i], 0.0, "a point is at distance 0 from itself");
                    for j in 0..count {
                        prop_assert_eq!(whole.row(i)[j], whole.row(j)[i], "symmetric");
                        let distance = f64::from(metric.distance_of_rank(whole.row(i)[j]));
                        let expected = reference(&metric, features.row(i), features.row(j));
                        let tolerance = 1e-5 * expected.abs() + 2e-7;
                        prop_assert!((distance - expected).abs() <= tolerance, "{:?} {distance} {expected}", metric);
                    }
                }
            }
        }
    }

    #[test]
    fn euclidean_distances_keep_their_digits_far_from_the_origin() {
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / 16_777_216.0
        };
        let metric = Metric::Euclidean;
        for d in [32, 300, 1_000] {
            let base: Vec<f32> = (0..d).map(|_| 0.5 + random()).collect();
            // From all but equal to a fraction of the length, on both sides of where products are given up.
            let spreads = (0..60).map(|i| 0.001 * 1.15f32.powi(i)).collect::<Vec<_>>();
            let values: Vec<f32> = spreads
                .iter()
                .flat_map(|spread| base.iter().map(|x| x + spread * (random() - 0.5)).collect::<Vec<_>>())
                .collect();
            let features = Features::new(values, d).unwrap();
            let points = Points::prepare(&features, &metric).unwrap();
            let all: Vec<usize> = (0..spreads.len()).collect();
            let columns = columns(&metric, &points, &all);
            let mut tile = Tile::default();
            columns.ranks(&columns.block(&points, &all), 0..all.len(), &mut tile).unwrap();
            for i in 0..all.len() {
                for j in 0..all.len() {
                    let found = f64::from(metric.distance_of_rank(tile.row(i)[j]));
                    let expected = reference(&metric, features.row(i), features.row(j));
                    assert!((found - expected).abs() <= 1e-5 * expected, "{d} {i} {j}: {found} {expected}");
                }
            }
        }
    }

    #[test]
    fn near_duplicates_keep_their_cosine_distance() {
        let metric = Metric::Cosine;
        let mut values = vec![1.0f32; 768];
        values[400] = 1.001;
        let features = Features::new(values, 384).unwrap();
        let points = Points::prepare(&features, &metric).unwrap();
        let columns = columns(&metric, &points, &[0, 1]);
        let mut tile = Tile::default();
        columns.ranks(&columns.block(&points, &[0]), 0..2, &mut tile).unwrap();
        let expected = reference(&metric, features.row(0), features.row(1));
        assert!(expected < 1e-8);
        let found = f64::from(tile.row(0)[1]);
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    }
}
