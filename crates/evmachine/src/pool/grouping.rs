//! Unknowns in groups that one label may serve, kept up as samples come.
//!
//! A group is what lies within the radius of its exemplar:
//!
//! `r = min(REACH * m, s)`
//!
//! where m is the mean distance of the exemplar to its [`NEIGHBORS`] nearest extreme vectors, which are of other classes than an
//! unknown, and s the median distance between two rows of one known class: a group reaches no farther than what is known does. A sample
//! joins the nearest exemplar within whose radius it lies. What joins none founds groups, those first that take in most of what
//! came with them.

use std::collections::HashMap;

use rayon::prelude::*;

use super::PoolError;
use super::cells::{Cells, Exemplar};
use crate::error::{FeatureError, RunError};
use crate::model::Evm;
use evmachine_engine::distance::{self, Tile};
use evmachine_engine::features::Features;
use evmachine_engine::points::Points;
use evmachine_engine::run::{Run, Stage};
use evmachine_engine::tail::{Against, Problem, Rows};

/// How far a group reaches towards what is known.
const REACH: f32 = 0.75;
/// Extreme vectors whose mean distance is the margin of an exemplar.
const NEIGHBORS: usize = 10;
/// Samples among which groups are founded at once.
const TOGETHER: usize = 2048;
/// Rows of the model whose distances say how wide classes are.
const ROWS: usize = 2000;

/// Which group a sample is in.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Membership {
    /// The group.
    pub group: u64,
    /// Distance to its exemplar; 0 for the exemplar itself.
    pub distance: f32,
    /// The radius of the group, where the sample founds it as its exemplar.
    pub founded: Option<f32>,
}

/// The groups that samples can still join. Belongs to one model, or to those that were made of it by updates: all of
/// them see features alike.
///
/// ```
/// use evmachine::{Evm, Features, Grouping, Labels, Params};
///
/// let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
/// let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
/// let (evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
///
/// let mut groups = Grouping::new(&evm, 0)?;
/// let first = groups.add(&evm, &Features::new(vec![20.0, 40.0], 1)?)?;
/// let later = groups.add(&evm, &Features::new(vec![20.05], 1)?)?;
/// assert_eq!(later[0].group, first[0].group);
/// groups.close(first[0].group);
/// let last = groups.add(&evm, &Features::new(vec![20.05], 1)?)?;
/// assert_eq!(last[0].group, 2, "nothing joins a group that is closed");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Grouping {
    cells: Cells,
    /// s above.
    spread: f32,
    next: u64,
}

impl std::fmt::Debug for Grouping {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (groups, spread, next) = (self.cells.len(), self.spread, self.next);
        formatter
            .debug_struct("Grouping")
            .field("groups", &groups)
            .field("spread", &spread)
            .field("next", &next)
            .finish()
    }
}

impl Grouping {
    /// No group yet; the first that is founded gets the number `first`.
    pub fn new(model: &Evm, first: u64) -> Result<Self, PoolError> {
        Self::new_with(&Run::new(), model, first)
    }

    /// As [`new`](Self::new), watched and sized by `run`.
    pub fn new_with(run: &Run<'_>, model: &Evm, first: u64) -> Result<Self, PoolError> {
        let cells = Cells::new(model.machine.params.metric.clone(), model.machine.dimensions);
        Ok(Self { cells, spread: spread(run, model)?, next: first })
    }

    /// Groups that samples can join.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of the group that is founded next.
    pub fn next_group(&self) -> u64 {
        self.next
    }

    /// Takes up groups that were founded earlier, by number, exemplar and radius. The exemplars are sorted in, not compared with
    /// anything: there is nothing to watch, and so no form with a run.
    ///
    /// # Panics
    ///
    /// If there are not as many numbers and radii as exemplars.
    pub fn resume(
        &mut self,
        model: &Evm,
        exemplars: &Features<'_>,
        groups: &[u64],
        radii: &[f32],
    ) -> Result<(), PoolError> {
        assert_eq!((groups.len(), radii.len()), (exemplars.rows(), exemplars.rows()), "one for each");
        self.check_dimensions(model)?;
        let after: Option<Vec<u64>> = groups.iter().map(|group| group.checked_add(1)).collect();
        let next = after.ok_or(PoolError::NumbersEnd)?.into_iter().fold(self.next, u64::max);
        let points = model.machine.query_points(exemplars)?;
        let rows: Vec<usize> = (0..points.len()).collect();
        let taken: Vec<Exemplar> =
            groups.iter().zip(radii).map(|(&group, &radius)| self.cells.exemplar(group, radius)).collect();
        self.cells.insert(&points, &rows, &taken)?;
        self.next = next;
        Ok(())
    }

    /// Groups of other dimensions than a model's are not its own.
    fn check_dimensions(&self, model: &Evm) -> Result<(), PoolError> {
        let (expected, found) = (self.cells.dimensions(), model.machine.dimensions);
        if expected == found { Ok(()) } else { Err(FeatureError::Dimensions { expected, found }.into()) }
    }

    /// Puts each sample into one group, founding groups where there are none to join. Costs the distances to the
    /// exemplars near it, and for those that join none the distances to the extreme vectors and to each other.
    pub fn add(&mut self, model: &Evm, samples: &Features<'_>) -> Result<Vec<Membership>, PoolError> {
        self.add_with(&Run::new(), model, samples)
    }

    /// As [`add`](Self::add), watched and sized by `run`.
    pub fn add_with(
        &mut self,
        run: &Run<'_>,
        model: &Evm,
        samples: &Features<'_>,
    ) -> Result<Vec<Membership>, PoolError> {
        self.check_dimensions(model)?;
        let metric = &model.machine.params.metric;
        let mut memberships = Vec::with_capacity(samples.rows());
        for first in (0..samples.rows()).step_by(TOGETHER) {
            let part = samples.part(first..(first + TOGETHER).min(samples.rows()));
            let points =
                model.machine.query_points(&part).map_err(|error| error.map_row(|row| first + row))?;
            let all: Vec<usize> = (0..points.len()).collect();
            let found = self.cells.find(&points, &all)?;
            let strangers: Vec<usize> = all.into_iter().filter(|&row| found[row].is_none()).collect();
            // One for each stranger, in their order.
            let mut founded = self.found(run, model, &points, &strangers)?.into_iter();
            memberships.extend(found.into_iter().filter_map(|found| match found {
                Some(found) => Some(Membership {
                    group: found.group,
                    distance: metric.distance_of_rank(found.rank),
                    founded: None,
                }),
                None => founded.next(),
            }));
        }
        Ok(memberships)
    }

    /// No sample joins the group any more; whether it was open.
    pub fn close(&mut self, group: u64) -> bool {
        self.cells.remove(group)
    }

    /// Groups of what joins none.
    fn found(
        &mut self,
        run: &Run<'_>,
        model: &Evm,
        points: &Points<'_>,
        rows: &[usize],
    ) -> Result<Vec<Membership>, PoolError> {
        let metric = &model.machine.params.metric;
        let margins = margins(run, model, points, rows)?;
        let radii: Vec<f32> = margins.iter().map(|margin| (REACH * margin).min(self.spread)).collect();
        let bounds: Vec<f32> = radii.iter().map(|&radius| metric.largest_rank_within(radius)).collect();
        let columns = distance::columns(metric, points, rows);
        let positions: Vec<usize> = (0..rows.len()).collect();
        let covered: Result<Vec<Vec<Covered>>, RunError> = positions
            .par_chunks(run.tile_rows())
            .map_init(Tile::default, |tile, positions| {
                let block_rows: Vec<usize> = positions.iter().map(|&at| rows[at]).collect();
                columns.ranks(&columns.block(points, &block_rows), 0..rows.len(), tile)?;
                let covered = |(row, &at): (usize, &usize)| {
                    let ranks = tile.row(row).iter().enumerate();
                    let near = ranks.filter(|&(other, &rank)| other == at || rank <= bounds[at]);
                    near.map(|(other, &rank)| (other as u32, if other == at { 0.0 } else { rank })).collect()
                };
                Ok(positions.iter().enumerate().map(covered).collect())
            })
            .collect();
        let covered: Vec<Covered> = covered?.into_iter().flatten().collect();
        let exemplars = leaders(&covered);
        let mut nearest: Vec<Option<(f32, usize)>> = vec![None; rows.len()];
        for (number, &leader) in exemplars.iter().enumerate() {
            for &(at, rank) in &covered[leader] {
                let place = &mut nearest[at as usize];
                if place.is_none_or(|(least, _)| rank < least) {
                    *place = Some((rank, number));
                }
            }
        }
        // An exemplar stays with its own group, though one like it may have founded another before.
        exemplars.iter().enumerate().for_each(|(number, &leader)| nearest[leader] = Some((0.0, number)));
        let first = self.next;
        let next = first.checked_add(exemplars.len() as u64).ok_or(PoolError::NumbersEnd)?;
        let numbers: HashMap<usize, f32> = exemplars.iter().map(|&leader| (leader, radii[leader])).collect();
        let taken: Vec<Exemplar> = exemplars
            .iter()
            .zip(first..)
            .map(|(&leader, group)| self.cells.exemplar(group, radii[leader]))
            .collect();
        let places: Vec<usize> = exemplars.iter().map(|&leader| rows[leader]).collect();
        self.cells.insert(points, &places, &taken)?;
        self.next = next;
        let membership = |(at, nearest): (usize, Option<(f32, usize)>)| {
            let (rank, number) = nearest.expect("every row is covered, by itself at least");
            let distance = metric.distance_of_rank(rank);
            Membership { group: first + number as u64, distance, founded: numbers.get(&at).copied() }
        };
        Ok(nearest.into_iter().enumerate().map(membership).collect())
    }
}

/// What lies within the radius of a position, by position and rank; itself included.
type Covered = Vec<(u32, f32)>;

/// Positions that cover all, each the one that covers most of what none before it does, and is not covered itself.
fn leaders(covered: &[Covered]) -> Vec<usize> {
    let mut covering: Vec<Vec<u32>> = vec![Vec::new(); covered.len()];
    for (at, others) in covered.iter().enumerate() {
        for &(other, _) in others {
            covering[other as usize].push(at as u32);
        }
    }
    let mut counts: Vec<usize> = covered.iter().map(Vec::len).collect();
    let mut is_left = vec![true; covered.len()];
    // Counts only fall: what is on top with its present count is the largest.
    let mut order: std::collections::BinaryHeap<(usize, std::cmp::Reverse<usize>)> =
        counts.iter().enumerate().map(|(at, &count)| (count, std::cmp::Reverse(at))).collect();
    let mut leaders = Vec::new();
    while let Some((count, std::cmp::Reverse(at))) = order.pop() {
        if !is_left[at] {
            continue;
        }
        if count > counts[at] {
            order.push((counts[at], std::cmp::Reverse(at)));
            continue;
        }
        leaders.push(at);
        for &(other, _) in &covered[at] {
            if std::mem::replace(&mut is_left[other as usize], false) {
                covering[other as usize].iter().for_each(|&by| counts[by as usize] -= 1);
            }
        }
    }
    leaders
}

/// Mean distance of each row to the nearest extreme vectors.
fn margins(run: &Run<'_>, model: &Evm, points: &Points<'_>, rows: &[usize]) -> Result<Vec<f32>, RunError> {
    let (classes, none, sizes) = (vec![0; rows.len()], 0..0, [NEIGHBORS]);
    let against = [Against { columns: model.machine.columns(), own: std::slice::from_ref(&none) }];
    let rows = Rows::new(points, rows, &classes);
    let problem = Problem::new((run, Stage::Tails), &model.machine.params.metric, rows, &against, &sizes);
    problem.tails(|_, tail, (): &mut ()| tail.iter().sum::<f32>() / tail.len().max(1) as f32)
}

/// The median distance between two rows of a class: of the rows as they came, where the model keeps some, else of its
/// extreme vectors. Where every class has one of them, the median distance at which their psi falls to a half.
pub(super) fn spread(run: &Run<'_>, model: &Evm) -> Result<f32, RunError> {
    let metric = &model.machine.params.metric;
    let sample = model.held.sample.as_deref().map(|sample| (sample.features(), &sample.classes));
    let (points, classes): (Points<'_>, Vec<u32>) = if let Some((features, classes)) = &sample {
        (model.machine.query_points(features)?, (*classes).clone())
    } else {
        let sizes = model.machine.classes.iter().enumerate();
        (model.machine.points(), sizes.flat_map(|(class, each)| vec![class as u32; each.len()]).collect())
    };
    let step = classes.len().div_ceil(ROWS).max(1);
    let rows: Vec<usize> = (0..classes.len()).step_by(step).collect();
    let columns = distance::columns(metric, &points, &rows);
    let ranks: Result<Vec<Vec<f32>>, RunError> = rows
        .par_chunks(run.tile_rows())
        .enumerate()
        .map_init(Tile::default, |tile, (number, part)| {
            columns.ranks(&columns.block(&points, part), 0..rows.len(), tile)?;
            let first = number * run.tile_rows();
            let mut same = Vec::new();
            for (row, &index) in part.iter().enumerate() {
                let ranks = tile.row(row)[..first + row].iter().zip(&rows);
                same.extend(
                    ranks.filter(|(_, other)| classes[**other] == classes[index]).map(|(&rank, _)| rank),
                );
            }
            Ok(same)
        })
        .collect();
    let mut ranks = ranks?.concat();
    if ranks.is_empty() {
        let curves = &model.machine.lookup().curves;
        let mut radii =
            (0..model.extreme_vector_count()).map(|i| curves.get(i).radius(0.5)).collect::<Vec<_>>();
        return Ok(median(&mut radii));
    }
    Ok(metric.distance_of_rank(median(&mut ranks)))
}

fn median(values: &mut [f32]) -> f32 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f32::total_cmp).1
}
