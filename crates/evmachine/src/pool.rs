//! The pool of unknowns: which of them to show to a person, and what their labels teach.
//!
//! With the model it completes the four tasks of open-world recognition: detect ([`Evm::decide`]), choose
//! ([`UnknownPool::suggest`]), label ([`UnknownPool::label`]), update ([`UnknownPool::take_labelled`] and
//! [`Evm::update`]).

mod cells;
pub(crate) mod enrolment;
mod grouping;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::answer::decision::Decision;
use crate::cover::{self, Candidates, KeptCount};
use crate::error::{FeatureError, RunError, ends_with_run};
use crate::input::labels::Labels;
use crate::machine::score::ClassScore;
use crate::model::Evm;
use crate::params::Reduction;
use evmachine_engine::features::Features;
use evmachine_engine::points::Points;
use evmachine_engine::psi::PsiModel;
use evmachine_engine::psi::curve::Curve;
use evmachine_engine::psi::weibull::{Workspace, fit_tail};
use evmachine_engine::run::{Run, Stage};
use evmachine_engine::tail::{Against, Problem, Rows};

pub use self::enrolment::{
    Candidate, Capture, Enrolled, EnrolmentError, EnrolmentRule, HeldBack, HeldReason,
};
pub use self::grouping::{Grouping, Membership};

/// Identifies a sample of the pool, for as long as the pool lives.
pub type SampleId = u64;

/// How the pool chooses what to label next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Strategy {
    /// The largest groups of unknowns that lie closer together than to what is known ([`Grouping`]).
    Groups,
    /// The samples that explain most of the pool: Psi-models are fitted to the unknowns against the known
    /// extreme vectors, and the greedy cover chooses among them.
    Coverage,
    /// The samples that the model supports least.
    LowestPsi,
    /// The samples closest to the rejection threshold, known or not.
    ClosestToThreshold,
    /// At random, from this seed.
    Random(u64),
}

/// A sample to label, and what its label would explain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Suggestion {
    /// The sample.
    pub sample: SampleId,
    /// Itself, and the samples of its group that no earlier suggestion has: one label may serve them all.
    pub group: Vec<SampleId>,
    /// The score of the best class, under the model asked.
    pub score: ClassScore,
}

/// Samples that the model did not know, waiting for labels.
///
/// ```
/// use evmachine::{Evm, Features, Labels, Params, Strategy, UnknownPool};
///
/// let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
/// let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
/// let (mut evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
///
/// let mut pool = UnknownPool::new(1);
/// let added = pool.add_unknown(&evm, &Features::new(vec![0.1, 20.0, 20.2, 40.0], 1)?)?;
/// assert_eq!(added.len(), 3, "0.1 is known");
///
/// let first = pool.suggest(&evm, Strategy::Coverage, 1)?.remove(0);
/// assert_eq!(first.group.len(), 2, "20.0 and 20.2 explain each other");
/// pool.label(&first.group, "far")?;
///
/// let (samples, labels) = pool.take_labelled();
/// evm.update(&samples, &labels)?;
/// assert_eq!(evm.classes().len(), 3);
/// assert_eq!(pool.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct UnknownPool {
    dimensions: usize,
    samples: BTreeMap<SampleId, Waiting>,
    next: SampleId,
}

#[derive(Debug, Clone, PartialEq)]
struct Waiting {
    vector: Vec<f32>,
    label: Option<String>,
    capture: Capture,
    /// Whether nobody but the system gave the label.
    proposed: bool,
}

impl Waiting {
    fn new(vector: &[f32]) -> Self {
        Self { vector: vector.to_vec(), label: None, capture: Capture::default(), proposed: false }
    }
}

/// A pool that could not do what it was asked for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// No sample of that number, or it was taken already.
    #[error("the pool has no sample {sample}; it may have been taken or removed")]
    NoSample {
        /// The number asked for.
        sample: SampleId,
    },
    /// An all-zero sample, under a model that compares directions.
    #[error("sample {sample} is all zeros and has no cosine distance to anything; remove it from the pool")]
    ZeroSample {
        /// Its number.
        sample: SampleId,
    },
    /// Not one number for each sample.
    #[error("{samples} samples and {numbers} different numbers for them")]
    Numbers {
        /// Samples given.
        samples: usize,
        /// Different numbers given.
        numbers: usize,
    },
    /// Numbers of samples or groups end there.
    #[error("the numbers of samples and groups end at {}; begin a new pool", u64::MAX)]
    NumbersEnd,
    /// An empty class name.
    #[error("the name of a class cannot be empty")]
    EmptyName,
    /// A sample that leaves the range of features when the model whitens it.
    #[error("sample {sample} has a value above {limit:e} after whitening; remove it from the pool")]
    LargeSample {
        /// Its number.
        sample: SampleId,
        /// Largest magnitude accepted.
        limit: f32,
    },
    /// A rule about enrolment, or a description of a sample, that cannot be followed.
    #[error(transparent)]
    Enrolment(#[from] EnrolmentError),
    /// The run ended early: bad features, the metric, a device, a disk, or an observer that asked to stop.
    #[error(transparent)]
    Run(#[from] RunError),
}

ends_with_run!(PoolError);

impl PoolError {
    /// An error about a row of samples, by the numbers of the samples.
    fn of_samples(error: RunError, number: impl Fn(usize) -> SampleId) -> Self {
        match error {
            RunError::Features(FeatureError::ZeroVector { row }) => {
                PoolError::ZeroSample { sample: number(row) }
            }
            RunError::Features(FeatureError::TooLargeWhitened { row, limit }) => {
                PoolError::LargeSample { sample: number(row), limit }
            }
            other => other.into(),
        }
    }
}

impl UnknownPool {
    /// An empty pool for vectors of that dimension.
    pub fn new(dimensions: usize) -> Self {
        Self { dimensions, samples: BTreeMap::new(), next: 0 }
    }

    /// A pool with these samples, without labels, under the numbers that they had in another; new ones are counted from `next`.
    ///
    /// ```
    /// use evmachine::{Features, UnknownPool};
    ///
    /// let mut pool = UnknownPool::new(1);
    /// pool.add(&Features::new(vec![20.0, 40.0], 1)?)?;
    /// pool.remove(&[0]);
    /// let copy = UnknownPool::resume(&Features::new(vec![40.0], 1)?, &[1], pool.next_sample())?;
    /// assert_eq!(copy, pool);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resume(samples: &Features<'_>, numbers: &[SampleId], next: SampleId) -> Result<Self, PoolError> {
        let rows = samples.iter().map(Waiting::new);
        let waiting: BTreeMap<SampleId, Waiting> = numbers.iter().copied().zip(rows).collect();
        if numbers.len() != samples.rows() || waiting.len() != numbers.len() {
            return Err(PoolError::Numbers { samples: samples.rows(), numbers: waiting.len() });
        }
        let last = numbers.iter().max();
        let behind = last.map(|number| number.checked_add(1).ok_or(PoolError::NumbersEnd)).transpose()?;
        let next = next.max(behind.unwrap_or(0));
        Ok(Self { dimensions: samples.columns(), samples: waiting, next })
    }

    /// The number that the next sample will get.
    pub fn next_sample(&self) -> SampleId {
        self.next
    }

    /// Samples in the pool, labelled or not.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether the pool is empty.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The samples in the pool with their vectors and labels, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (SampleId, &[f32], Option<&str>)> {
        self.samples.iter().map(|(&id, sample)| (id, sample.vector.as_slice(), sample.label.as_deref()))
    }

    /// Adds all rows, whatever the model may say of them.
    pub fn add(&mut self, samples: &Features<'_>) -> Result<Vec<SampleId>, PoolError> {
        if samples.columns() != self.dimensions {
            let (expected, found) = (self.dimensions, samples.columns());
            return Err(FeatureError::Dimensions { expected, found }.into());
        }
        let first = self.next;
        self.next = first.checked_add(samples.rows() as u64).ok_or(PoolError::NumbersEnd)?;
        self.samples.extend((first..).zip(samples.iter().map(Waiting::new)));
        Ok((first..self.next).collect())
    }

    /// Adds the rows that the model calls unknown, and returns their numbers.
    pub fn add_unknown(&mut self, model: &Evm, samples: &Features<'_>) -> Result<Vec<SampleId>, PoolError> {
        self.add_unknown_with(&Run::new(), model, samples)
    }

    /// As [`add_unknown`](Self::add_unknown), watched and sized by `run`. On an error the pool is as it was.
    pub fn add_unknown_with(
        &mut self,
        run: &Run<'_>,
        model: &Evm,
        samples: &Features<'_>,
    ) -> Result<Vec<SampleId>, PoolError> {
        let decisions = model.decide_with(run, samples)?;
        let unknown: Vec<usize> =
            (0..decisions.len()).filter(|&row| decisions[row].class().is_none()).collect();
        self.add(&samples.select(&unknown))
    }

    /// Chooses up to `count` samples without a label, best first, each with the group that it would explain. What
    /// an earlier suggestion explains is not suggested again.
    pub fn suggest(
        &self,
        model: &Evm,
        strategy: Strategy,
        count: usize,
    ) -> Result<Vec<Suggestion>, PoolError> {
        self.suggest_with(&Run::new(), model, strategy, count)
    }

    /// As [`suggest`](Self::suggest), watched and sized by `run`.
    pub fn suggest_with(
        &self,
        run: &Run<'_>,
        model: &Evm,
        strategy: Strategy,
        count: usize,
    ) -> Result<Vec<Suggestion>, PoolError> {
        let open: Vec<(SampleId, &Waiting)> = self
            .samples
            .iter()
            .filter(|(_, sample)| sample.label.is_none())
            .map(|(&id, sample)| (id, sample))
            .collect();
        if open.is_empty() || count == 0 {
            return Ok(Vec::new());
        }
        let values: Vec<f32> = open.iter().flat_map(|(_, sample)| &sample.vector).copied().collect();
        let features = Features::checked(values, self.dimensions);
        let decisions = model
            .decide_with(run, &features)
            .map_err(|error| PoolError::of_samples(error, |row| open[row].0))?;
        let scores: Vec<ClassScore> = decisions.iter().map(Decision::score).collect();
        let suggestion = |(i, group): (usize, Vec<usize>)| Suggestion {
            sample: open[i].0,
            group: group.into_iter().map(|j| open[j].0).collect(),
            score: scores[i],
        };
        if strategy == Strategy::Groups {
            let groups = grouped(run, model, &features)?;
            return Ok(groups.into_iter().take(count).map(suggestion).collect());
        }
        let candidates = candidates(run, model, &features)?;
        let chosen: Vec<usize> = match strategy {
            Strategy::Groups | Strategy::Coverage => {
                let metric = &model.machine.params.metric;
                let target = KeptCount::Threshold(COVERAGE_THRESHOLD);
                let class = std::slice::from_ref(&candidates);
                let cover = cover::choose(run, metric, Reduction::SetCover, target, class)?;
                // What is covered only by a sample that an earlier one explains comes last, for itself.
                cover.into_iter().flat_map(|cover| cover.order).chain(0..open.len()).collect()
            }
            Strategy::LowestPsi => sorted_by(open.len(), |i| scores[i].support),
            Strategy::ClosestToThreshold => {
                let delta = model.machine.params.tail_model.probability_at(model.threshold());
                sorted_by(open.len(), |i| (scores[i].psi() - delta).abs())
            }
            Strategy::Random(seed) => shuffled(open.len(), seed),
        };
        let metric = &model.machine.params.metric;
        let groups = cover::group_by_coverage(run, metric, &candidates, COVERAGE_THRESHOLD, &chosen, count)?;
        Ok(groups.into_iter().map(suggestion).collect())
    }

    /// Gives the samples a class. A later label replaces an earlier one.
    pub fn label(&mut self, samples: &[SampleId], class: &str) -> Result<(), PoolError> {
        if class.is_empty() {
            return Err(PoolError::EmptyName);
        }
        self.set_labels(samples, Some(class))
    }

    /// Takes the label of the samples away.
    pub fn unlabel(&mut self, samples: &[SampleId]) -> Result<(), PoolError> {
        self.set_labels(samples, None)
    }

    fn set_labels(&mut self, samples: &[SampleId], class: Option<&str>) -> Result<(), PoolError> {
        self.refuse_others(samples)?;
        for sample in samples {
            if let Some(sample) = self.samples.get_mut(sample) {
                (sample.label, sample.proposed) = (class.map(str::to_owned), false);
            }
        }
        Ok(())
    }

    fn refuse_others(&self, samples: &[SampleId]) -> Result<(), PoolError> {
        match samples.iter().find(|sample| !self.samples.contains_key(sample)) {
            Some(&sample) => Err(PoolError::NoSample { sample }),
            None => Ok(()),
        }
    }

    /// Removes samples that nobody wants to learn, and returns how many there were.
    pub fn remove(&mut self, samples: &[SampleId]) -> usize {
        samples.iter().filter(|sample| self.samples.remove(sample).is_some()).count()
    }

    /// The labelled samples, as a batch for [`Evm::update`]; they leave the pool.
    pub fn take_labelled(&mut self) -> (Features<'static>, Labels) {
        let (mut values, mut names) = (Vec::new(), Vec::new());
        self.samples.retain(|_, sample| {
            let Some(label) = sample.label.take() else { return true };
            values.append(&mut sample.vector);
            names.push(label);
            false
        });
        (Features::checked(values, self.dimensions), Labels::checked(names))
    }
}

/// All groups, the largest first, each with its exemplar and then its other members.
fn grouped(
    run: &Run<'_>,
    model: &Evm,
    features: &Features<'_>,
) -> Result<Vec<(usize, Vec<usize>)>, PoolError> {
    let memberships = Grouping::new_with(run, model, 0)?.add_with(run, model, features)?;
    let mut groups: BTreeMap<u64, (usize, Vec<usize>)> = BTreeMap::new();
    for (row, membership) in memberships.iter().enumerate() {
        let group = groups.entry(membership.group).or_default();
        if membership.founded.is_some() {
            group.0 = row;
            group.1.insert(0, row);
        } else {
            group.1.push(row);
        }
    }
    let mut groups: Vec<(usize, Vec<usize>)> = groups.into_values().collect();
    groups.sort_by_key(|(_, members)| std::cmp::Reverse(members.len()));
    Ok(groups)
}

/// A sample explains another that its psi more likely than not includes.
const COVERAGE_THRESHOLD: f64 = 0.5;

/// The unknowns as one class, its Psi-models fitted against all known extreme vectors.
fn candidates(run: &Run<'_>, model: &Evm, features: &Features<'_>) -> Result<Candidates<'static>, RunError> {
    let params = &model.machine.params;
    let points = model.machine.query_points(features)?;
    let all: Vec<usize> = (0..points.len()).collect();
    let negatives = model.machine.columns().len();
    let size = params.tail_size.resolve(model.machine.dimensions, model.machine.classes.len() + 1, negatives);
    let classes = vec![0; all.len()];
    let none = 0..0;
    let against = [Against { columns: model.machine.columns(), own: std::slice::from_ref(&none) }];
    let rows = Rows::new(&points, &all, &classes);
    let sizes = [size];
    let problem = Problem::new((run, Stage::Tails), &params.metric, rows, &against, &sizes);
    let fits: Vec<PsiModel> =
        problem.tails(|_, tail, workspace: &mut Workspace| fit_tail(tail, &params.fit_rule(), workspace))?;
    let sums = model.machine.pool_sums();
    let curves = fits
        .iter()
        .map(|psi| Curve::new(params.tail_model, &sums.pooled(params.tail_model, psi, params.pooling)))
        .collect();
    Ok(Candidates {
        points: Points::ready(points.gather(&all), model.machine.dimensions),
        curves,
        originals: None,
        strangers: None,
        risks: None,
    })
}

fn sorted_by(count: usize, key: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| key(a).total_cmp(&key(b)).then(a.cmp(&b)));
    order
}

/// Fisher-Yates with a splitmix64 generator: the same order for the same seed, everywhere.
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut order: Vec<usize> = (0..count).collect();
    for i in (1..count).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        order.swap(i, (z % (i as u64 + 1)) as usize);
    }
    order
}
