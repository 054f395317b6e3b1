//! Rows of which some are laid out at a time, others for each tile.

use super::kernel::GROUP;
use super::panels::transpose;
use super::{Columns, RowBlock};
use crate::points::Points;

/// Rows as they are, beside all of them laid out.
pub struct LooseRows {
    dimensions: usize,
    values: Vec<f32>,
    all: RowBlock,
}

impl LooseRows {
    /// Rows for tiles with these columns, and with others of the same metric.
    pub fn new(columns: &dyn Columns, points: &Points<'_>, indices: &[usize]) -> Self {
        let (values, all) = (points.gather(indices), columns.block(points, indices));
        Self { dimensions: points.dimensions(), values, all }
    }

    /// All of them.
    pub fn all(&self) -> &RowBlock {
        &self.all
    }

    /// Lays out some of them in the memory of a block. Squares, which take longer than the rest, are those that there are already.
    pub fn lay_out(&self, rows: impl ExactSizeIterator<Item = usize> + Clone, block: &mut RowBlock) {
        let (d, lanes) = (self.dimensions, self.all.lanes);
        let padded = rows.len().next_multiple_of(lanes);
        (block.rows, block.lanes) = (rows.len(), lanes);
        block.values.shape(padded * d);
        block.squares.clear();
        if !self.all.squares.is_empty() {
            block.squares.extend(rows.clone().map(|row| self.all.squares[row]));
            block.squares.resize(padded, 0.0);
        }
        let mut vectors = rows.map(|row| &self.values[row * d..(row + 1) * d]);
        if lanes == GROUP {
            let mut beside = vec![0.0; GROUP * d];
            for group in block.values.chunks_exact_mut(GROUP * d) {
                for row in beside.chunks_exact_mut(d) {
                    match vectors.next() {
                        Some(vector) => row.copy_from_slice(vector),
                        None => row.fill(0.0),
                    }
                }
                transpose::<GROUP>(&beside, d, group);
            }
        } else {
            for (row, vector) in block.values.chunks_exact_mut(d).zip(vectors) {
                row.copy_from_slice(vector);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distance::{self, Tile};
    use crate::{Features, Metric};

    #[derive(Debug)]
    struct Largest;

    impl crate::Distance for Largest {
        fn name(&self) -> &'static str {
            "largest"
        }
        fn distance(&self, a: &[f32], b: &[f32]) -> f32 {
            a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
        }
    }

    #[test]
    fn some_rows_have_the_ranks_that_they_have_among_all() {
        for d in [3, 40] {
            let values = (0..50 * d).map(|at| (at * at % 97) as f32 + 1.0).collect::<Vec<_>>();
            let features = Features::new(values, d).expect("finite");
            let every: Vec<usize> = (0..50).collect();
            for metric in [Metric::Euclidean, Metric::Cosine, Metric::Manhattan, Metric::custom(Largest)] {
                let points = Points::prepare(&features, &metric).expect("no zeros");
                let columns = distance::columns(&metric, &points, &every);
                let rows = LooseRows::new(columns.as_ref(), &points, &every);
                let (mut all, mut some, mut block) = (Tile::default(), Tile::default(), RowBlock::default());
                columns.ranks(rows.all(), 0..50, &mut all).expect("finite");
                for chosen in [&[3, 4, 49][..], &every[7..41], &every, &[0]] {
                    rows.lay_out(chosen.iter().copied(), &mut block);
                    columns.ranks(&block, 5..45, &mut some).expect("finite");
                    for (at, &row) in chosen.iter().enumerate() {
                        assert_eq!(some.row(at), &all.row(row)[5..45], "{metric:?} {d} {row}");
                    }
                }
            }
        }
    }
}
