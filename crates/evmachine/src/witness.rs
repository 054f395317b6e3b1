//! Witnesses beside the support in feature space: the logits of a linear probe, a machine over them, and a forest.

pub(crate) mod forest;
pub(crate) mod mixture;
pub(crate) mod one;
pub(crate) mod probe;
mod reduced;
pub(crate) mod stacking;

use rayon::prelude::*;

use crate::error::{FitError, RunError};
use crate::input::holdout::MOST_CHOOSING;
use crate::input::labels::Labels;
use crate::machine::Machine;
use crate::machine::fit::{self, Lesson};
use crate::params::rejection::Rejection;
use crate::params::{Params, TailMemory, Weight};
use crate::witness::forest::ForestWitness;
use crate::witness::mixture::{Mixture, Testimony};
use crate::witness::probe::Probe;
use evmachine_engine::features::Features;
use evmachine_engine::metric::Metric;
use evmachine_engine::points::Points;
use evmachine_engine::run::Run;
use evmachine_engine::scratch::{self, Within};

/// Logits are cut off here, so that they can be features.
const LARGEST_LOGIT: f64 = 1e12;
/// Stands in where all logits are 0, which have no direction.
const NO_DIRECTION: f32 = 1e-30;
/// Rows whose logits are computed at once, in `f64`, for a machine over them.
const PROJECTED: usize = 4096;
/// Testimonies that are worth a thread.
const PAIRS: usize = 1 << 14;

/// What a model has beside its extreme vectors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Witnesses {
    pub(crate) voices: Voices,
    pub(crate) mixture: Mixture,
}

/// Those that are heard.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Voices {
    /// Fitted again at every update.
    pub(crate) probe: Option<Probe>,
    pub(crate) logits: Option<LogitMachine>,
    /// Grown again at every update.
    pub(crate) forest: Option<ForestWitness>,
}

/// The machine over logits. Its space is that of the first fit, and so it learns as any machine does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LogitMachine {
    pub(crate) projection: Probe,
    pub(crate) machine: Machine,
}

impl LogitMachine {
    /// Learns from the logits of some rows, in as few dimensions as have their angles; others are their negatives alone.
    pub(crate) fn fit(
        run: &Run<'_>,
        params: &Params,
        probe: &Probe,
        points: &Points<'_>,
        labels: &Labels,
        (rows, negatives): (&[usize], &[usize]),
    ) -> Result<Self, FitError> {
        let projection = probe.reduced();
        let nothing = Machine::empty(params.over_logits().check()?, projection.classes());
        let machine = learned_apart(run, &projection, &nothing, points, labels, (rows, negatives, 0))?;
        Ok(Self { projection, machine })
    }

    pub(crate) fn updated(
        &self,
        run: &Run<'_>,
        points: &Points<'_>,
        labels: &Labels,
        rows: &[usize],
        first: u64,
    ) -> Result<Self, FitError> {
        let rows = (rows, &[][..], first);
        let machine = learned_apart(run, &self.projection, &self.machine, points, labels, rows)?;
        Ok(Self { projection: self.projection.clone(), machine })
    }

    /// Supports of rows, rows x classes; without the extreme vectors of the given sources, if any.
    pub(crate) fn supports(
        &self,
        run: &Run<'_>,
        points: &Points<'_>,
        rows: &[usize],
        without: Option<&[u64]>,
    ) -> Result<Vec<f64>, RunError> {
        let features = self.projection.project(points, rows);
        self.machine.supports(run, &features, without)
    }
}

/// As [`learned`]; in a scratch, what is found is told from what the machine over the features has found.
fn learned_apart(
    run: &Run<'_>,
    projection: &Probe,
    old: &Machine,
    points: &Points<'_>,
    labels: &Labels,
    rows: (&[usize], &[usize], u64),
) -> Result<Machine, FitError> {
    let Some(scratch) = run.store() else {
        return learned(run, projection, old, points, labels, rows);
    };
    let within = Within::new(scratch, "logits");
    learned(&run.in_memory().scratch(&within), projection, old, points, labels, rows)
}

/// `old` with the logits of some rows learned, which are numbered from `first` on among all; others are their negatives alone.
fn learned(
    run: &Run<'_>,
    projection: &Probe,
    old: &Machine,
    points: &Points<'_>,
    labels: &Labels,
    (rows, negatives, first): (&[usize], &[usize], u64),
) -> Result<Machine, FitError> {
    let both = [rows, negatives].concat();
    let features = projection.project_there(run, points, &both)?;
    let labels = labels.of_rows(&both);
    let all: Vec<usize> = (0..both.len()).collect();
    let (own, others) = all.split_at(rows.len());
    let numbers: Vec<u64> = both.iter().map(|&row| first + row as u64).collect();
    let lesson = Lesson {
        features: &features,
        labels: &labels,
        learned: own,
        negatives: others,
        ignored: None,
        numbers: others.is_empty().then_some(&numbers),
    };
    let (mut machine, _) = fit::learn(run, old, &lesson)?;
    // It has counted the rows that it learned; they have the numbers of the rows that were given.
    for class in &mut machine.classes {
        for source in class.sources.iter_mut().filter(|source| **source >= old.points_seen) {
            *source = first + rows[(*source - old.points_seen) as usize] as u64;
        }
    }
    Ok(machine)
}

impl Probe {
    /// The logits of rows as features of a machine of their own.
    pub(crate) fn project(&self, points: &Points<'_>, rows: &[usize]) -> Features<'static> {
        let width = self.classes();
        let mut values = vec![0.0; rows.len() * width];
        for (rows, out) in rows.chunks(PROJECTED).zip(values.chunks_mut(PROJECTED * width)) {
            self.project_into(points, rows, out);
        }
        Features::checked(values, width)
    }

    /// As [`project`](Self::project); if the run has a scratch, in it.
    fn project_there(
        &self,
        run: &Run<'_>,
        points: &Points<'_>,
        rows: &[usize],
    ) -> Result<Features<'static>, RunError> {
        let Some(scratch) = run.store() else { return Ok(self.project(points, rows)) };
        let width = self.classes();
        let values = scratch::made(scratch, rows.len(), width, |part, out| {
            for (rows, out) in rows[part].chunks(PROJECTED).zip(out.chunks_mut(PROJECTED * width)) {
                self.project_into(points, rows, out);
            }
            Ok(())
        })?;
        Ok(Features::shared(values, width)?)
    }

    fn project_into(&self, points: &Points<'_>, rows: &[usize], out: &mut [f32]) {
        let logits = self.logits_of(points, rows);
        for (logits, out) in logits.chunks_exact(self.classes()).zip(out.chunks_exact_mut(self.classes())) {
            direct(logits, out);
        }
    }

    /// The logits of rows as features of a machine over them ([`Params::over_logits`]). For tuners; a fit makes such a
    /// machine itself.
    pub fn features(&self, queries: &Features<'_>) -> Result<Features<'static>, RunError> {
        let points = self.points(queries)?;
        let rows: Vec<usize> = (0..points.len()).collect();
        Ok(self.reduced().project(&points, &rows))
    }
}

/// Writes the logits of a row as features, which have a direction.
fn direct(logits: &[f64], out: &mut [f32]) {
    for (out, value) in out.iter_mut().zip(logits) {
        *out = value.clamp(-LARGEST_LOGIT, LARGEST_LOGIT) as f32;
    }
    if out.iter().all(|&value| value == 0.0) {
        out[0] = NO_DIRECTION;
    }
}

impl Params {
    /// Bytes that the witnesses of a fit to rows in a scratch need in any case: the steps of the probe and its guess of the curvature, and
    /// what all witnesses say of the rows that weights are scaled by.
    pub fn witness_memory(&self, rows: usize, columns: usize, classes: usize) -> usize {
        if self.logit_weight.is_zero() && self.probe_weight.is_zero() {
            return 0;
        }
        let said = 5 * 8 * classes * rows.min(MOST_CHOOSING);
        probe::working_bytes(rows, columns, classes).saturating_add(said)
    }

    /// How the machine over the logits of a probe is trained that goes with a model of these parameters: as
    /// [`Params::robust`] for cosine without whitening, of the size that the model has. For tuners.
    pub fn over_logits(&self) -> Self {
        Self {
            whitening: 0.0,
            contrast: 0.0,
            background: 0.0,
            logit_weight: Weight::Fixed(0.0),
            probe_weight: Weight::Fixed(0.0),
            forest_weight: Weight::Fixed(0.0),
            rejection_threshold: Rejection::PAPER,
            cover_threshold: self.cover_threshold,
            cover_risk: self.cover_risk,
            cover_loss: 0.0,
            max_extreme_vectors: self.max_extreme_vectors,
            reduction: self.reduction,
            reduce_when: self.reduce_when,
            refit: self.refit,
            tail_memory: self.tail_memory,
            tail_memory_limit: self.tail_memory_limit,
            search: self.search,
            ..Self::robust_for(Metric::Cosine)
        }
    }

    /// The same machine alone, as a trial on part of the rows needs it: no witnesses, no tails remembered.
    pub(crate) fn without_witnesses(&self) -> Self {
        Self {
            logit_weight: Weight::Fixed(0.0),
            probe_weight: Weight::Fixed(0.0),
            forest_weight: Weight::Fixed(0.0),
            rejection_threshold: Rejection::PAPER,
            tail_memory: TailMemory::None,
            ..self.clone()
        }
    }
}

/// What the witnesses say of rows, rows x classes each.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) logits: Option<Vec<f64>>,
    pub(crate) probe: Option<Vec<f64>>,
    pub(crate) forest: Option<Vec<f64>>,
}

impl Voices {
    /// What each says of rows; the machine over logits without the extreme vectors of the given sources, if any.
    pub(crate) fn say(
        &self,
        run: &Run<'_>,
        points: &Points<'_>,
        rows: &[usize],
        without: Option<&[u64]>,
    ) -> Result<Said, RunError> {
        let logits = match &self.logits {
            Some(machine) => Some(machine.supports(run, points, rows, without)?),
            None => None,
        };
        let probe = self.probe.as_ref().map(|probe| probe.logits_of(points, rows));
        let forest = self.forest.as_ref().map(|forest| forest.says(points, rows));
        Ok(Said { logits, probe, forest })
    }
}

impl Witnesses {
    /// What the witnesses add to the support of each class: rows x classes.
    pub(crate) fn additions(
        &self,
        run: &Run<'_>,
        points: &Points<'_>,
        rows: &[usize],
        without: Option<&[u64]>,
        classes: usize,
    ) -> Result<Vec<f64>, RunError> {
        self.heard(run, points, rows, without, classes, |testimony| testimony.sum())
    }

    /// The same by witness, that of the features being the offset alone.
    pub(crate) fn parts(
        &self,
        run: &Run<'_>,
        points: &Points<'_>,
        rows: &[usize],
        without: Option<&[u64]>,
        classes: usize,
    ) -> Result<Vec<Testimony>, RunError> {
        self.heard(run, points, rows, without, classes, |testimony| testimony)
    }

    /// What `each` makes of the testimony about every class of every row.
    fn heard<R: Send>(
        &self,
        run: &Run<'_>,
        points: &Points<'_>,
        rows: &[usize],
        without: Option<&[u64]>,
        classes: usize,
        each: impl Fn(Testimony) -> R + Sync,
    ) -> Result<Vec<R>, RunError> {
        let Said { logits, probe, forest } = self.voices.say(run, points, rows, without)?;
        let at = |values: &Option<Vec<f64>>, at: usize| values.as_ref().map_or(0.0, |values| values[at]);
        let part = |index: usize| {
            each(self.mixture.testimony(0.0, at(&logits, index), at(&probe, index), at(&forest, index)))
        };
        Ok((0..rows.len() * classes).into_par_iter().with_min_len(PAIRS).map(part).collect())
    }
}
