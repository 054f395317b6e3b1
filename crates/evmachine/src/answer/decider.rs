//! One query at a time, on the calling thread.

use crate::answer::decision::Decision;
use crate::error::{FeatureError, RunError};
use crate::machine::one::OneQuery;
use crate::machine::score::ClassScore;
use crate::machine::sweep::NearVectors;
use crate::model::Evm;
use crate::witness::one::WitnessMemory;
use evmachine_engine::features::Features;
use evmachine_engine::points;
use evmachine_engine::run::Run;

/// Decides on one query after the other, on the thread that asks.
///
/// Decisions are those of [`Evm::decide`], bit for bit. Nothing is handed to other threads, so that a decision never waits for a fit
/// that they are busy with, and after the first query no memory is taken (but with an approximate [`Search`](crate::Search), and by
/// a metric of your own). For many queries at once [`Evm::decide`] is faster: it takes the extreme vectors from memory once for all of
/// them.
///
/// ```
/// # use evmachine::{Evm, Features, Labels, Params};
/// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
/// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
/// # let (evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
/// let mut decider = evm.decider()?;
/// assert_eq!(evm.name_of(&decider.decide(&[5.1])?), Some("high"));
/// assert_eq!(evm.name_of(&decider.decide(&[100.0])?), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Decider<'a> {
    evm: &'a Evm,
    near: Option<&'a NearVectors>,
    /// Of the machine over logits.
    near_logits: Option<&'a NearVectors>,
    /// The query ready for the metric, as witnesses want it.
    ready: Vec<f32>,
    features: OneQuery,
    witnesses: WitnessMemory,
    mixed: Vec<ClassScore>,
    supports: Vec<f64>,
}

impl std::fmt::Debug for Decider<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Decider")
            .field("classes", &self.evm.machine.classes.len())
            .finish_non_exhaustive()
    }
}

impl Decider<'_> {
    /// What [`Evm::decide`] says of this query. Row 0 in errors.
    pub fn decide(&mut self, query: &[f32]) -> Result<Decision, RunError> {
        let machine = &self.evm.machine;
        if query.len() != machine.dimensions {
            let (expected, found) = (machine.dimensions, query.len());
            return Err(FeatureError::Dimensions { expected, found }.into());
        }
        Features::new(query, query.len())?;
        let Some(witnesses) = &self.evm.witnesses else {
            let scores = machine.scores_of_one(query, self.near, &mut self.features)?;
            return Ok(self.evm.decision_in(scores, &mut self.supports));
        };
        self.ready.clear();
        self.ready.extend_from_slice(query);
        points::make_ready(&mut self.ready, &machine.params.metric)?;
        let additions = witnesses.additions_of_one(&self.ready, self.near_logits, &mut self.witnesses)?;
        let scores = machine.scores_of_one(query, self.near, &mut self.features)?;
        self.mixed.clear();
        self.mixed.extend(self.evm.mixed(scores, additions));
        Ok(self.evm.decision_in(&self.mixed, &mut self.supports))
    }
}

/// # Ask
impl Evm {
    /// What decides on one query after the other, on the calling thread. Makes ready what decisions need of the model, unless it is.
    pub fn decider(&self) -> Result<Decider<'_>, RunError> {
        let run = Run::new();
        let logits = self.witnesses.as_ref().and_then(|witnesses| witnesses.voices.logits.as_ref());
        self.machine.lookup().columns.prepare();
        Ok(Decider {
            evm: self,
            near: self.near_vectors(&run)?,
            near_logits: match logits {
                Some(logits) => logits.machine.near_vectors_alone(&run)?,
                None => None,
            },
            ready: Vec::new(),
            features: OneQuery::default(),
            witnesses: WitnessMemory::default(),
            mixed: Vec::new(),
            supports: Vec::new(),
        })
    }

    /// What [`decide`](Self::decide) says of one query, found on the calling thread. For one query after the other a
    /// [`decider`](Self::decider) is faster.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// # let (evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
    /// assert_eq!(evm.name_of(&evm.decide_one(&[0.05])?), Some("low"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decide_one(&self, query: &[f32]) -> Result<Decision, RunError> {
        self.decider()?.decide(query)
    }
}
