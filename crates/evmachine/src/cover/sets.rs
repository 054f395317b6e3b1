//! The coverage sets `s_i` of a class, kept in bounded memory.

use fearless_simd::{Simd, dispatch, prelude::*};
use rayon::prelude::*;

use super::memory::Memory;
use super::neighbors::Neighbors;
use super::{Candidates, Resources, radii};
use crate::error::RunError;
use evmachine_engine::level::level;
use evmachine_engine::metric::Metric;
use evmachine_engine::run::{Run, Stage};

/// For each point i, the points j with d(i, j) <= `radius_i`, and i itself.
///
/// A row is kept as a list or as bits, whichever is smaller: at most N^2 / 8 bytes, 1.25 GB for 100,000 points. Once
/// the memory of the call is used up, rows are computed again whenever they are asked for.
pub(super) struct Sets<'a> {
    neighbors: &'a Neighbors<'a>,
    bounds: Vec<f32>,
    rows: Vec<CoverSet>,
}

struct CoverSet {
    count: u32,
    members: Members,
}

enum Members {
    List(Box<[u32]>),
    Bits(Bits),
    NotKept,
}

/// Numbers of a word of bits.
const WORD: usize = u64::BITS as usize;

impl<'a> Sets<'a> {
    pub(super) fn new(neighbors: &'a Neighbors<'a>, radii: &[f32]) -> Result<Self, RunError> {
        let count = neighbors.len();
        let bounds: Vec<f32> =
            radii.iter().map(|&radius| neighbors.metric().largest_rank_within(radius)).collect();
        let Resources { run, memory, .. } = neighbors.resources();
        let block_rows = run.block_rows(count);
        let all: Vec<usize> = (0..count).collect();
        let rows: Result<Vec<Vec<CoverSet>>, RunError> = all
            .par_chunks(block_rows)
            .map(|indices| {
                let mut members: Vec<Bits> = indices.iter().map(|&i| Bits::of(i, count)).collect();
                neighbors.visit(indices, |row, start, ranks| {
                    members[row].add_within(bounds[indices[row]], start, ranks);
                })?;
                Ok(members.into_iter().map(|bits| CoverSet::new(bits, memory)).collect())
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
    pub(super) fn uncovered(&self, i: usize, covered: &Bits) -> Result<u32, RunError> {
        Ok(match &self.rows[i].members {
            Members::List(list) => covered.missing(list),
            Members::Bits(bits) => bits.without(covered),
            Members::NotKept => self.compute(i)?.without(covered),
        })
    }

    /// Adds `s_i` to `covered`.
    pub(super) fn cover(&self, i: usize, covered: &mut Bits) -> Result<(), RunError> {
        match &self.rows[i].members {
            Members::List(list) => covered.insert(list),
            Members::Bits(bits) => covered.add(bits),
            Members::NotKept => covered.add(&self.compute(i)?),
        }
        Ok(())
    }

    /// Whether the call was told to stop.
    pub(super) fn check(&self) -> Result<(), RunError> {
        self.neighbors.resources().meter.check()
    }

    fn compute(&self, i: usize) -> Result<Bits, RunError> {
        within(self.neighbors, i, self.bounds[i])
    }
}

/// Point i and those with a rank up to the bound.
fn within(neighbors: &Neighbors<'_>, i: usize, bound: f32) -> Result<Bits, RunError> {
    let mut bits = Bits::of(i, neighbors.len());
    neighbors.visit(&[i], |_, start, ranks| bits.add_within(bound, start, ranks))?;
    Ok(bits)
}

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        let kept = self.rows.iter().map(|row| match &row.members {
            Members::List(list) => size_of_val(&**list),
            Members::Bits(bits) => bits.bytes(),
            Members::NotKept => 0,
        });
        self.neighbors.resources().memory.give_back(kept.sum());
    }
}

impl CoverSet {
    fn new(bits: Bits, memory: &Memory) -> Self {
        let count = bits.count();
        let list_bytes = count as usize * size_of::<u32>();
        let members = if !memory.take(list_bytes.min(bits.bytes())) {
            Members::NotKept
        } else if list_bytes <= bits.bytes() {
            Members::List(bits.iter().map(|j| j as u32).collect())
        } else {
            Members::Bits(bits)
        };
        Self { count, members }
    }
}

/// A set of small numbers.
pub(super) struct Bits(Box<[u64]>);

impl Bits {
    pub(super) fn new(universe: usize) -> Self {
        Self(vec![0; universe.div_ceil(WORD)].into())
    }

    /// One number alone.
    fn of(number: usize, universe: usize) -> Self {
        let mut bits = Self::new(universe);
        bits.0[number / WORD] = 1 << (number % WORD);
        bits
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(number, &word)| {
            let rest = |word: &u64| Some(word & (word - 1)).filter(|rest| *rest != 0);
            let words = std::iter::successors(Some(word).filter(|word| *word != 0), rest);
            words.map(move |word| number * WORD + word.trailing_zeros() as usize)
        })
    }

    /// How many of these are not among the others.
    fn without(&self, others: &Self) -> u32 {
        self.0.iter().zip(&others.0).map(|(word, other)| (word & !other).count_ones()).sum()
    }

    fn add(&mut self, others: &Self) {
        for (word, other) in self.0.iter_mut().zip(&others.0) {
            *word |= other;
        }
    }

    /// How many of the list are not among these.
    fn missing(&self, list: &[u32]) -> u32 {
        list.iter().map(|&j| u32::from((self.0[j as usize / WORD] >> (j as usize % WORD)) & 1 == 0)).sum()
    }

    fn insert(&mut self, list: &[u32]) {
        for &j in list {
            self.0[j as usize / WORD] |= 1 << (j as usize % WORD);
        }
    }

    /// Adds the numbers from `start` on whose rank is not above the bound.
    fn add_within(&mut self, bound: f32, start: usize, ranks: &[f32]) {
        dispatch!(level(), simd => self.add_within_simd(simd, bound, start, ranks));
    }

    #[inline(always)]
    fn add_within_simd<S: Simd>(&mut self, simd: S, bound: f32, start: usize, ranks: &[f32]) {
        let lanes = S::f32s::LEN;
        let bounds = S::f32s::splat(simd, bound);
        for (number, ranks) in ranks.chunks(WORD).enumerate() {
            let chunks = ranks.chunks_exact(lanes);
            let rest = chunks.remainder();
            let mut word = 0;
            for (at, &rank) in (ranks.len() - rest.len()..).zip(rest) {
                word |= u64::from(rank <= bound) << at;
            }
            for (part, chunk) in chunks.enumerate() {
                let below = S::f32s::from_slice(simd, chunk).simd_le(bounds);
                word |= below.to_bitmask() << (part * lanes);
            }
            let (at, shift) = (start / WORD + number, start % WORD);
            self.0[at] |= word << shift;
            if shift > 0 && at + 1 < self.0.len() {
                self.0[at + 1] |= word >> (WORD - shift);
            }
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
) -> Result<Vec<(usize, Vec<usize>)>, RunError> {
    let resources =
        Resources { run, meter: &run.meter(Stage::Cover, count), memory: &Memory::new(run.working_memory()) };
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
        let members = within(&neighbors, i, bounds[i])?;
        let fresh = members.iter().filter(|&j| !std::mem::replace(&mut taken[j], true));
        groups.push((i, std::iter::once(i).chain(fresh).collect()));
    }
    Ok(groups)
}
