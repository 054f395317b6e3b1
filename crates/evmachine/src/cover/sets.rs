//! The coverage sets `s_i` of a class, kept in bounded memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::neighbors::Neighbors;
use super::{Candidates, radii};
use crate::error::Halt;
use crate::metric::Metric;
use crate::progress::Run;

/// For each point i, the points j with d(i, j) <= `radius_i`, and i itself.
///
/// A row is kept as a list or as bits, whichever is smaller; once the memory is used up, rows are computed
/// again whenever they are asked for. 100,000 points take at most 1.25 GB, and never more than the run allows.
pub(super) struct Sets<'a> {
    neighbors: &'a Neighbors<'a>,
    bounds: Vec<f32>,
    rows: Vec<Row>,
    tile_columns: usize,
}

struct Row {
    count: u32,
    members: Members,
}

enum Members {
    List(Box<[u32]>),
    Bits(Box<[u64]>),
    NotKept,
}

impl<'a> Sets<'a> {
    pub(super) fn new(run: &Run<'_>, neighbors: &'a Neighbors<'a>, radii: &[f32]) -> Result<Self, Halt> {
        let count = neighbors.len();
        let bounds: Vec<f32> =
            radii.iter().map(|&radius| neighbors.metric().largest_rank_within(radius)).collect();
        let used = AtomicUsize::new(0);
        let block_rows = run.block_rows(count);
        let all: Vec<usize> = (0..count).collect();
        let rows: Result<Vec<Vec<Row>>, Halt> = all
            .par_chunks(block_rows)
            .map(|indices| {
                let mut members: Vec<Vec<u32>> = vec![Vec::new(); indices.len()];
                neighbors.visit(indices, run.tile_columns, |row, start, ranks| {
                    collect(indices[row], bounds[indices[row]], start, ranks, &mut members[row]);
                })?;
                Ok(members.into_iter().map(|list| Row::new(&list, count, &used, run.memory)).collect())
            })
            .collect();
        Ok(Self {
            neighbors,
            bounds,
            rows: rows?.into_iter().flatten().collect(),
            tile_columns: run.tile_columns,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// |`s_i`|
    pub(super) fn count(&self, i: usize) -> u32 {
        self.rows[i].count
    }

    /// |`s_i` - covered|
    pub(super) fn uncovered(&self, i: usize, covered: &Bits) -> Result<u32, Halt> {
        Ok(match &self.rows[i].members {
            Members::List(list) => covered.missing(list),
            Members::Bits(bits) => {
                bits.iter().zip(&covered.0).map(|(set, covered)| (set & !covered).count_ones()).sum()
            }
            Members::NotKept => covered.missing(&self.compute(i)?),
        })
    }

    /// Adds `s_i` to `covered`.
    pub(super) fn cover(&self, i: usize, covered: &mut Bits) -> Result<(), Halt> {
        match &self.rows[i].members {
            Members::List(list) => covered.insert(list),
            Members::Bits(bits) => {
                for (covered, set) in covered.0.iter_mut().zip(bits) {
                    *covered |= set;
                }
            }
            Members::NotKept => covered.insert(&self.compute(i)?),
        }
        Ok(())
    }

    fn compute(&self, i: usize) -> Result<Vec<u32>, Halt> {
        let mut list = Vec::new();
        self.neighbors.visit(&[i], self.tile_columns, |_, start, ranks| {
            collect(i, self.bounds[i], start, ranks, &mut list);
        })?;
        Ok(list)
    }

    fn members(&self, i: usize) -> Result<Vec<u32>, Halt> {
        Ok(match &self.rows[i].members {
            Members::List(list) => list.to_vec(),
            Members::Bits(bits) => Bits(bits.to_vec()).ones(),
            Members::NotKept => self.compute(i)?,
        })
    }
}

fn collect(i: usize, bound: f32, start: usize, ranks: &[f32], list: &mut Vec<u32>) {
    for (column, &rank) in ranks.iter().enumerate() {
        if rank <= bound || start + column == i {
            list.push((start + column) as u32);
        }
    }
}

impl Row {
    fn new(list: &[u32], universe: usize, used: &AtomicUsize, memory: usize) -> Self {
        let list_bytes = size_of_val(list);
        let bit_bytes = universe.div_ceil(64) * 8;
        let bytes = list_bytes.min(bit_bytes) + size_of::<Self>();
        let members = if used.fetch_add(bytes, Ordering::Relaxed) + bytes > memory {
            used.fetch_sub(bytes, Ordering::Relaxed);
            Members::NotKept
        } else if list_bytes <= bit_bytes {
            Members::List(list.into())
        } else {
            let mut bits = Bits::new(universe);
            bits.insert(list);
            Members::Bits(bits.0.into())
        };
        Self { count: list.len() as u32, members }
    }
}

/// A set of small numbers.
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn new(universe: usize) -> Self {
        Self(vec![0; universe.div_ceil(64)])
    }

    fn missing(&self, list: &[u32]) -> u32 {
        list.iter().map(|&j| u32::from(self.0[j as usize / 64] >> (j % 64) & 1 == 0)).sum()
    }

    fn insert(&mut self, list: &[u32]) {
        for &j in list {
            self.0[j as usize / 64] |= 1 << (j % 64);
        }
    }

    fn ones(&self) -> Vec<u32> {
        (0..self.0.len() as u32 * 64).filter(|&j| self.0[j as usize / 64] >> (j % 64) & 1 == 1).collect()
    }
}

/// For each of `chosen`, in order, the candidates that it covers at `threshold` and none before it does.
pub(crate) fn group_by_coverage(
    run: &Run<'_>,
    metric: &Metric,
    class: &Candidates<'_>,
    threshold: f64,
    chosen: &[usize],
) -> Result<Vec<Vec<usize>>, Halt> {
    let neighbors = Neighbors::new(metric, &class.points);
    let sets = Sets::new(run, &neighbors, &radii(class, threshold))?;
    let mut taken = vec![false; class.len()];
    chosen
        .iter()
        .map(|&i| {
            let fresh: Vec<usize> = sets
                .members(i)?
                .into_iter()
                .map(|j| j as usize)
                .filter(|&j| !std::mem::replace(&mut taken[j], true))
                .collect();
            Ok(fresh)
        })
        .collect()
}
