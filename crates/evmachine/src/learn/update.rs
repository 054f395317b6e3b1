//! Learning an increment: new points are fitted against the extreme vectors and the batch, old Psi-models take
//! in the new negatives, and the classes that got data choose their extreme vectors anew.
//!
//! With full tail memory, the merge of an old tail and new distances is the tail over all data that the extreme
//! vector was ever compared with. So with cover threshold 1 and a tail size given as a count, learning in any
//! number of batches gives the very model of learning all at once; with smoothing too, as long as no class is
//! spread over several batches. With whitening it does not hold: its matrix is that of the first batch.

use crate::error::{FitError, RunError};
use crate::heldout::holdout::Division;
use crate::input::labels::Labels;
use crate::learn::report::Report;
use crate::machine::batch::Batch;
use crate::machine::fit::{Lesson, learn};
use crate::machine::refit;
use crate::model::Evm;
use crate::params::{Refit, TailMemory};
use evmachine_engine::features::Features;
use evmachine_engine::run::{Run, Stage};
use evmachine_engine::tail::{self, Against, Executor, OtherEnd, Plan, Problem};

impl Evm {
    /// Learns new points, of known classes or new ones. On an error the model is as it was.
    ///
    /// Costs the distances of the new points to the extreme vectors and to each other, not a refit. If there is a
    /// calibration, one row in ten of the batch is held out for good and the threshold is set again, at the cost of some thousand queries; a linear probe is fitted again at every
    /// update, from where it was, on the new rows and a sample of fifty rows of each class that the model keeps.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// let (mut evm, _) = Evm::fit(&Params::default(), &features, &labels)?;
    /// let new = Features::new(vec![9.0, 9.1], 1)?;
    /// let report = evm.update(&new, &Labels::new(["top", "top"])?)?;
    /// assert_eq!(report.new_classes, ["top"]);
    /// assert_eq!(evm.decide(&new)?[0].class(), evm.class_index("top"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update(&mut self, features: &Features<'_>, labels: &Labels) -> Result<Report, FitError> {
        self.update_with(&Run::new(), features, labels)
    }

    /// As [`update`](Self::update), watched and sized by `run`.
    pub fn update_with(
        &mut self,
        run: &Run<'_>,
        features: &Features<'_>,
        labels: &Labels,
    ) -> Result<Report, FitError> {
        let (model, report) = self.updated(run, features, labels)?;
        *self = model;
        Ok(report)
    }

    /// The model that [`update_with`](Self::update_with) would make of this one, which stays as it is.
    pub fn updated(
        &self,
        run: &Run<'_>,
        features: &Features<'_>,
        labels: &Labels,
    ) -> Result<(Self, Report), FitError> {
        let division = self.divide(labels);
        let lesson = Lesson { features, labels, learned: &division.learned, negatives: &[], ignored: None };
        let (mut model, mut report) = learn(run, self, &lesson)?;
        model.follow(&run.in_memory(), (features, labels), &division, self.points_seen, &mut report)?;
        Ok((model, report))
    }
}

impl Evm {
    /// Which rows of a batch are learned: all but those that calibrate, where the model's threshold is set on rows that it never learned.
    fn divide(&self, labels: &Labels) -> Division {
        if self.calibration.is_none() || self.sample.is_none() {
            return Division::whole(labels.len());
        }
        let is_known: Vec<bool> =
            labels.names().iter().map(|name| self.class_index(name).is_some()).collect();
        Division::new(self.points_seen, labels.ids(), |class| is_known[class as usize], false)
    }
}

/// Distances between new points and extreme vectors of other classes, sorted.
pub(crate) struct Exchanged {
    /// For each new point, the smallest: as many as its tail has.
    pub(crate) new: Vec<Vec<f32>>,
    /// For each extreme vector, the smallest of those that lie within its tail. Most have none.
    pub(crate) old: Vec<Vec<f32>>,
}

/// Distances between the batch and the extreme vectors, measured once where both sides need them and memory allows.
pub(crate) fn exchange(
    run: &Run<'_>,
    model: &Evm,
    batch: &Batch<'_>,
    against: &[Against<'_>],
    sizes: &[usize],
    plans: &mut Vec<Plan>,
) -> Result<Option<Exchanged>, RunError> {
    // Ignored samples stand between the two where there are any.
    let [old, _] = against else { return Ok(None) };
    let both =
        model.tail_memory == TailMemory::Full && model.params.refit != Refit::New && run.store().is_none();
    if !both || !model.ignored.is_empty() {
        return Ok(None);
    }
    let vectors = refit::Old::new(model, sizes);
    let bounds = vectors.bounds_of(&vectors.all);
    let old = [*old];
    let problem = Problem::new((run, Stage::Refit), &model.params.metric, batch.rows(), &old, sizes)
        .with_other_end(OtherEnd { classes: &vectors.classes, bounds: &bounds });
    let plan = problem.plan();
    if plan.executor != Executor::Exchange {
        return Ok(None);
    }
    plans.push(plan);
    let mut new = tail::execute(&plan, &problem, |_, tail, (): &mut ()| tail.to_vec())?;
    let old = new.split_off(batch.order.len());
    Ok(Some(Exchanged { new, old }))
}
