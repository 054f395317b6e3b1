//! The coverage sets `s_i` of a class, kept in bounded memory.

use rayon::prelude::*;

use super::memory::Memory;
use super::neighbors::Neighbors;
use super::{Candidates, Resources, radii};
use crate::error::Halt;
use crate::metric::Metric;
use crate::progress::{Run, Stage};

/// For each point i, the points j with d(i, j) <= `radius_i`, and i itself.
///
/// A row is kept as a list or as bits, whichever is smaller: at most N^2 / 8 bytes, 1.25 GB for 100,000 points. Once
/// the memory of the call is used up, rows are computed again whenever they are asked for.
pub(super) struct Sets<'a> {
    neighbors: &'a Neighbors<'a>,
    bounds: Vec<f32>,
    rows: Vec<Row>,
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

/// Bytes of lists that a thread holds at a time.
const LISTS: usize = 16 << 20;

impl<'a> Sets<'a> {
    pub(super) fn new(neighbors: &'a Neighbors<'a>, radii: &[f32]) -> Result<Self, Halt> {
        let count = neighbors.len();
        let bounds: Vec<f32> =
            radii.iter().map(|&radius| neighbors.metric().largest_rank_within(radius)).collect();
        let Resources { run, memory, .. } = neighbors.resources();
        let block_rows = run.block_rows(count).min(LISTS / (size_of::<u32>() * count.max(1))).max(1);
        let all: Vec<usize> = (0..count).collect();
        let rows: Result<Vec<Vec<Row>>, Halt> = all
            .par_chunks(block_rows)
            .map(|indices| {
                let mut members: Vec<Vec<u32>> = vec![Vec::new(); indices.len()];
                neighbors.visit(indices, |row, start, ranks| {
                    collect(indices[row], bounds[indices[row]], start, ranks, &mut members[row]);
                })?;
                Ok(members.into_iter().map(|list| Row::new(&list, count, memory)).collect())
            })
            .collect();
        Ok(Self { neighbors, bounds, rows: rows?.into_iter().flatten().collect() })
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

    /// Whether the call was told to stop.
    pub(super) fn check(&self) -> Result<(), Halt> {
        self.neighbors.resources().meter.check()
    }

    fn compute(&self, i: usize) -> Result<Vec<u32>, Halt> {
        let mut list = Vec::new();
        self.neighbors.visit(&[i], |_, start, ranks| collect(i, self.bounds[i], start, ranks, &mut list))?;
        Ok(list)
    }
}

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        let kept = self.rows.iter().map(|row| match &row.members {
            Members::List(list) => size_of_val(&**list),
            Members::Bits(bits) => size_of_val(&**bits),
            Members::NotKept => 0,
        });
        self.neighbors.resources().memory.give_back(kept.sum());
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
    fn new(list: &[u32], universe: usize, memory: &Memory) -> Self {
        let list_bytes = size_of_val(list);
        let bit_bytes = universe.div_ceil(64) * 8;
        let members = if !memory.take(list_bytes.min(bit_bytes)) {
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
        list.iter().map(|&j| u32::from((self.0[j as usize / 64] >> (j % 64)) & 1 == 0)).sum()
    }

    fn insert(&mut self, list: &[u32]) {
        for &j in list {
            self.0[j as usize / 64] |= 1 << (j % 64);
        }
    }
}

/// The first `count` of `order` that none before them covers at `threshold`, each with what it covers: itself first,
/// then what no other covers before it.
pub(crate) fn group_by_coverage(
    run: &Run<'_>,
    metric: &Metric,
    class: &Candidates<'_>,
    threshold: f64,
    order: &[usize],
    count: usize,
) -> Result<Vec<(usize, Vec<usize>)>, Halt> {
    let resources =
        Resources { run, meter: &run.meter(Stage::Cover, count), memory: &Memory::new(run.memory) };
    let neighbors = Neighbors::new(metric, class, &resources);
    let bounds: Vec<f32> =
        radii(class, threshold).iter().map(|&radius| metric.largest_rank_within(radius)).collect();
    let mut taken = vec![false; class.len()];
    let mut groups = Vec::new();
    for &i in order {
        if groups.len() >= count {
            break;
        }
        if std::mem::replace(&mut taken[i], true) {
            continue;
        }
        let mut members = Vec::new();
        neighbors.visit(&[i], |_, start, ranks| collect(i, bounds[i], start, ranks, &mut members))?;
        let fresh =
            members.into_iter().map(|j| j as usize).filter(|&j| !std::mem::replace(&mut taken[j], true));
        groups.push((i, std::iter::once(i).chain(fresh).collect()));
    }
    Ok(groups)
}
