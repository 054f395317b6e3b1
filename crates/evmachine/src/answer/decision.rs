//! Psi of the extreme vectors to a decision: a known class, or unknown (Eq. 3).

use serde::{Deserialize, Serialize};

use crate::error::CalibrateError;
use crate::error::{ParamsError, RunError};
use crate::machine::score::{ClassScore, fallen, score};
use crate::machine::support::{Best, QueryMemory};
use crate::machine::sweep::{Sweep, SweptVectors};
use crate::model::Evm;
use crate::params::Params;
use evmachine_engine::device::{Supports, WorkKind};
use evmachine_engine::features::Features;
use evmachine_engine::points::Points;
use evmachine_engine::psi::curve::ln_psi;
use evmachine_engine::run::{Run, Stage};
use evmachine_engine::search::Search;

/// Queries that witnesses are asked about at once.
const QUERIES: usize = 4096;

/// Values of extreme vectors that one thread goes over in some 100 us: less than it takes to wake others that are asleep or busy.
const LIGHT: usize = 1 << 21;

/// What the model says of a query.
///
/// ```
/// # use evmachine::{Evm, Features, Labels, Params};
/// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
/// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
/// # let (evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
/// let decisions = evm.decide(&Features::new(vec![5.1, 100.0], 1)?)?;
/// let written = serde_json::to_value(&decisions)?;
/// assert_eq!(written[0]["verdict"], "known");
/// assert_eq!(written[0]["class"], 1);
/// assert_eq!(written[1]["verdict"], "unknown");
/// assert_eq!(written[1]["best"], decisions[1].best());
/// assert_eq!(written[1]["score"]["support"], decisions[1].score().support);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Decision {
    /// A class supports the query.
    Known {
        /// The class, by position in [`Evm::classes`].
        class: usize,
        /// How far its score lies above the threshold: 0 or more. Infinite at an extreme vector, which JSON writes as null.
        #[serde(with = "crate::json")]
        support: f64,
        /// The conformal p-value: the share of known queries that score no higher. `None` without calibration.
        p_value: Option<f64>,
        /// Its score, raised by its lead where there is a [`contrast`](crate::Params::contrast), and by that of the median
        /// class where there is a [`background`](crate::Params::background).
        score: ClassScore,
    },
    /// No class reaches the rejection threshold.
    Unknown {
        /// The class of highest support. Far out that is the one whose curve falls slowest, which need not be the nearest.
        best: usize,
        /// How far its score lies above the threshold: below 0.
        #[serde(with = "crate::json")]
        support: f64,
        /// As above.
        p_value: Option<f64>,
        /// Its score, raised as above.
        score: ClassScore,
    },
}

impl Decision {
    /// The class, unless unknown.
    pub fn class(&self) -> Option<usize> {
        match *self {
            Decision::Known { class, .. } => Some(class),
            Decision::Unknown { .. } => None,
        }
    }

    /// The class of highest support, known or not.
    pub fn best(&self) -> usize {
        match *self {
            Decision::Known { class, .. } => class,
            Decision::Unknown { best, .. } => best,
        }
    }

    /// The number that decides: how far the best class lies above the threshold. Known at 0 and above; it never saturates.
    pub fn support(&self) -> f64 {
        match *self {
            Decision::Known { support, .. } | Decision::Unknown { support, .. } => support,
        }
    }

    /// The conformal p-value: the share of known queries that score no higher. Uniform for known queries, small for unknown
    /// ones. `None` without calibration.
    pub fn p_value(&self) -> Option<f64> {
        match *self {
            Decision::Known { p_value, .. } | Decision::Unknown { p_value, .. } => p_value,
        }
    }

    /// The score of the best class.
    pub fn score(&self) -> ClassScore {
        match *self {
            Decision::Known { score, .. } | Decision::Unknown { score, .. } => score,
        }
    }

    /// Psi of the best class, the paper's probability. Decisions compare [`support`](Self::support) instead: far from other classes
    /// psi rounds to 1, and far from all data to 0.
    pub fn psi(&self) -> f64 {
        self.score().psi()
    }
}

/// # Ask
impl Evm {
    /// Decides for each query. Ties go to the class that was learned first.
    ///
    /// Many queries are shared by all threads of the pool of the caller, which is rayon's own unless the call is made within another
    /// (`ThreadPool::install`): a call waits for what else that pool is busy with, such as a fit. One query of a model of less than two
    /// million values is decided by the calling thread alone, as [`decide_one`](Self::decide_one) does.
    pub fn decide(&self, queries: &Features<'_>) -> Result<Vec<Decision>, RunError> {
        self.decide_with(&Run::new(), queries)
    }

    /// As [`decide`](Self::decide), watched and sized by `run`.
    pub fn decide_with(&self, run: &Run<'_>, queries: &Features<'_>) -> Result<Vec<Decision>, RunError> {
        if queries.rows() == 1 && self.is_light() && run.device_for(WorkKind::Supports, u64::MAX).is_none() {
            let decision = self.decide_one(queries.values())?;
            run.meter(Stage::Predict, 1).advance(1)?;
            return Ok(vec![decision]);
        }
        let plain = self.machine.params.contrast == 0.0 && self.machine.params.background == 0.0;
        if self.machine.fused() > 1 || !plain || self.witnesses.is_some() || self.machine.has_denied() {
            return self.map_queries_with(run, queries, |_, scores| self.decision(scores));
        }
        // The best class alone counts, and with it the one extreme vector of largest support.
        let sweep = Sweep {
            start: Best { support: f64::NEG_INFINITY, class: 0 },
            offer: |part: &SweptVectors<'_>,
                    first,
                    ranks: &[f32],
                    best: &mut Best,
                    scratch: &mut QueryMemory| {
                part.offer_best(first, ranks, &self.machine.params.metric, best, scratch);
            },
            merge: |best: &mut Best, other: &Best| best.take(*other),
            fused: None,
            found: |supports: &Supports, query: usize| {
                let place = supports.places[query] as usize;
                let class = self.machine.lookup().ranges.partition_point(|range| range.end <= place);
                Best { support: supports.values[query], class }
            },
        };
        let near = || self.near_vectors(run);
        self.machine.sweep(run, (queries, &near), &sweep, |_, loss, best| {
            self.accepted(
                best.class,
                fallen(
                    self.machine.params.tail_model,
                    score(self.machine.params.tail_model, &[best.support]),
                    loss.fall,
                ),
            )
        })
    }

    /// Whether one query is decided sooner by one thread than by all.
    fn is_light(&self) -> bool {
        self.machine.extreme_vector_count().saturating_mul(self.machine.dimensions) <= LIGHT
    }

    /// The name of the class that a query was recognised as; `None` if it is unknown. The decision must be one of this model.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// # let (evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
    /// let decisions = evm.decide(&Features::new(vec![5.1, 100.0], 1)?)?;
    /// assert_eq!((evm.name_of(&decisions[0]), evm.name_of(&decisions[1])), (Some("high"), None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the decision is one of a model with more classes.
    pub fn name_of(&self, decision: &Decision) -> Option<&str> {
        decision.class().map(|class| self.class_name(class))
    }

    /// P of every class for every query: `queries.rows()` rows of one value for each class. Rows do not sum to 1.
    pub fn probabilities(&self, queries: &Features<'_>) -> Result<Vec<f64>, RunError> {
        self.probabilities_with(&Run::new(), queries)
    }

    /// As [`probabilities`](Self::probabilities), watched and sized by `run`.
    pub fn probabilities_with(&self, run: &Run<'_>, queries: &Features<'_>) -> Result<Vec<f64>, RunError> {
        let rows = self.map_queries_with(run, queries, |_, scores| {
            scores.iter().map(ClassScore::psi).collect::<Vec<f64>>()
        })?;
        Ok(rows.concat())
    }

    /// Calls `each(row, scores by class)` for every query, on many threads, and collects what it returns.
    ///
    /// This is what all answers are made of, for callers who need more than one of them from a single pass.
    pub fn map_queries<R: Send>(
        &self,
        queries: &Features<'_>,
        each: impl Fn(usize, &[ClassScore]) -> R + Sync,
    ) -> Result<Vec<R>, RunError> {
        self.map_queries_with(&Run::new(), queries, each)
    }

    /// As [`map_queries`](Self::map_queries), watched and sized by `run`.
    pub fn map_queries_with<R: Send>(
        &self,
        run: &Run<'_>,
        queries: &Features<'_>,
        each: impl Fn(usize, &[ClassScore]) -> R + Sync,
    ) -> Result<Vec<R>, RunError> {
        let near = || self.near_vectors(run);
        let Some(witnesses) = &self.witnesses else {
            return self.machine.feature_scores(run, (queries, &near), each);
        };
        self.machine.check_columns(queries)?;
        let classes = self.machine.classes.len();
        let mut results = Vec::with_capacity(queries.rows());
        for first in (0..queries.rows()).step_by(QUERIES) {
            let rows: Vec<usize> = (first..(first + QUERIES).min(queries.rows())).collect();
            let part = queries.part(rows[0]..first + rows.len());
            let points = Points::prepare(&part, &self.machine.params.metric)
                .map_err(|error| error.map_row(|row| first + row))?;
            let all: Vec<usize> = (0..rows.len()).collect();
            let additions = witnesses.additions(run, &points, &all, None, classes)?;
            let found = self.machine.feature_scores(run, (&part, &near), |row, scores| {
                let additions = additions[row * classes..(row + 1) * classes].iter().copied();
                each(first + row, &self.mixed(scores, additions).collect::<Vec<ClassScore>>())
            });
            results.extend(found.map_err(|error| match error {
                RunError::Features(error) => RunError::Features(error.map_row(|row| first + row)),
                other => other,
            })?);
        }
        Ok(results)
    }

    /// Scores in feature space, with what other witnesses add.
    pub(crate) fn mixed(
        &self,
        scores: &[ClassScore],
        additions: impl Iterator<Item = f64>,
    ) -> impl Iterator<Item = ClassScore> {
        let share = self.witnesses.as_ref().map_or(1.0, |witnesses| witnesses.mixture.feature);
        let model = self.machine.params.tail_model;
        scores.iter().zip(additions).map(move |(score, addition)| {
            let support = share * score.support + addition;
            ClassScore { ln_probability: ln_psi(model, support), support }
        })
    }

    /// Changes k, how many of a class's largest psi are averaged ([`Params::n_fused`]). A calibrated threshold is set anew on the rows
    /// that the model keeps for that; [`calibrate`](Self::calibrate) on fresh rows is more exact.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// let all = Params { cover_threshold: 1.0, ..Params::paper() };
    /// let (mut evm, _) = Evm::fit(&all, &features, &labels)?;
    /// evm.set_n_fused(2)?;
    /// let (trained, _) = Evm::fit(&Params { n_fused: 2, ..all }, &features, &labels)?;
    /// assert_eq!(evm, trained);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_n_fused(&mut self, n_fused: usize) -> Result<(), CalibrateError> {
        self.set_n_fused_with(&Run::new(), n_fused)
    }

    /// As [`set_n_fused`](Self::set_n_fused), watched and sized by `run`. On an error the model is as it was.
    pub fn set_n_fused_with(&mut self, run: &Run<'_>, n_fused: usize) -> Result<(), CalibrateError> {
        let params = Params { n_fused, ..Params::clone(&self.machine.params) }.check()?;
        let mut model = self.clone();
        model.machine.params = params;
        model.machine.cache.forget_near();
        model.recalibrate(run)?;
        *self = model;
        Ok(())
    }

    /// Changes whether queries meet all extreme vectors, and how updates find tails ([`Params::search`]).
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params, Search};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// let params = Params { search: Search::Approximate(0.99), ..Params::plain() };
    /// let (mut evm, _) = Evm::fit(&params, &features, &labels)?;
    /// evm.set_search(Search::Exact)?;
    /// assert_eq!(evm, Evm::fit(&Params::plain(), &features, &labels)?.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_search(&mut self, search: Search) -> Result<(), ParamsError> {
        self.machine.params = Params { search, ..Params::clone(&self.machine.params) }.check()?;
        self.machine.cache.forget_near();
        Ok(())
    }

    /// The decision that follows from the scores of one query, one for each class.
    ///
    /// # Panics
    ///
    /// Without any score, and with more scores than the model has classes.
    pub fn decision(&self, scores: &[ClassScore]) -> Decision {
        self.decision_in(scores, &mut Vec::new())
    }

    /// As [`decision`](Self::decision), with memory for supports that is used again.
    pub(crate) fn decision_in(&self, scores: &[ClassScore], supports: &mut Vec<f64>) -> Decision {
        let mut best = 0;
        let mut second = f64::NEG_INFINITY;
        for (class, score) in scores.iter().enumerate().skip(1) {
            if score.support > scores[best].support {
                second = scores[best].support;
                best = class;
            } else {
                second = second.max(score.support);
            }
        }
        let &Params { contrast, background, .. } = &*self.machine.params;
        let mut raise = raised(contrast, scores[best].support - second);
        if background > 0.0 && scores.len() > 1 {
            supports.clear();
            supports.extend(scores.iter().map(|score| score.support));
            let middle = supports.len() / 2;
            raise += raised(background, *supports.select_nth_unstable_by(middle, f64::total_cmp).1);
        }
        self.accepted(best, fallen(self.machine.params.tail_model, scores[best], -raise))
    }

    /// Known if the score of the best class reaches its threshold.
    fn accepted(&self, class: usize, score: ClassScore) -> Decision {
        let (threshold, p_value) = (self.threshold_of(class), self.p_value(score));
        let support = above(score.support, threshold);
        // The cover tests support too, so that rounding cannot come between it and the decision.
        let denied = self.machine.has_denied() && score.support == f64::NEG_INFINITY;
        if score.support >= threshold && !denied {
            Decision::Known { class, support: support.max(0.0), p_value, score }
        } else {
            Decision::Unknown { best: class, support: support.min(-f64::MIN_POSITIVE), p_value, score }
        }
    }

    /// Supports of all classes as a decision shows them, from the scores of one query: the largest is that of the decision, 0 is at the
    /// threshold, so that the sign of the largest is the decision.
    ///
    /// # Panics
    ///
    /// If the scores are of another model.
    pub fn supports_of(&self, scores: &[ClassScore]) -> Vec<f64> {
        let decision = self.decision(scores);
        let (best, lead) = (scores[decision.best()].support, decision.support());
        let threshold = self.threshold_of(decision.best());
        let support = |score: &ClassScore| {
            if score.support == best {
                lead
            } else if lead.is_infinite() {
                above(score.support, threshold)
            } else {
                lead + (score.support - best)
            }
        };
        scores.iter().map(support).collect()
    }

    /// The support of every class for every query: `queries.rows()` rows of one value for each class. 0 is at the threshold, and the sign
    /// of the largest of a row is the decision.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// # let (evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
    /// let queries = Features::new(vec![5.05, 100.0], 1)?;
    /// let supports = evm.class_supports(&queries)?;
    /// assert!(supports[1] >= 0.0 && supports[0] < supports[1], "high");
    /// assert!(supports[2] < 0.0 && supports[3] < 0.0, "unknown");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn class_supports(&self, queries: &Features<'_>) -> Result<Vec<f64>, RunError> {
        self.class_supports_with(&Run::new(), queries)
    }

    /// As [`class_supports`](Self::class_supports), watched and sized by `run`.
    pub fn class_supports_with(&self, run: &Run<'_>, queries: &Features<'_>) -> Result<Vec<f64>, RunError> {
        Ok(self.map_queries_with(run, queries, |_, scores| self.supports_of(scores))?.concat())
    }
}

/// How far a value lies above another; 0 where both are the same infinity.
fn above(value: f64, other: f64) -> f64 {
    if value == other { 0.0 } else { value - other }
}

/// Weight times value; nothing where the value is not finite (one class in all, or a query that is an extreme vector).
fn raised(weight: f64, value: f64) -> f64 {
    if weight == 0.0 || !value.is_finite() { 0.0 } else { weight * value }
}
