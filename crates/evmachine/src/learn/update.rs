//! Learning an increment: new points are fitted against the extreme vectors and the batch, old Psi-models take
//! in the new negatives, and the classes that got data choose their extreme vectors anew.
//!
//! With full tail memory, the merge of an old tail and new distances is the tail over all data that the extreme
//! vector was ever compared with. So with cover threshold 1 and a tail size given as a count, learning in any
//! number of batches gives the very model of learning all at once; with smoothing too, as long as no class is
//! spread over several batches. With whitening it does not hold: its matrix is that of the first batch.

use crate::error::FitError;
use crate::input::holdout::Division;
use crate::input::labels::Labels;
use crate::machine::fit::{Lesson, learn};
use crate::machine::report::Report;
use crate::model::Evm;
use evmachine_engine::features::Features;
use evmachine_engine::run::Run;

/// # Learn
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
    /// let (mut evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
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
        let (model, report) = self.updated_with(run, features, labels)?;
        *self = model;
        Ok(report)
    }

    /// The model that [`update_with`](Self::update_with) would make of this one, which stays as it is.
    pub fn updated(&self, features: &Features<'_>, labels: &Labels) -> Result<(Self, Report), FitError> {
        self.updated_with(&Run::new(), features, labels)
    }

    /// As [`updated`](Self::updated), watched and sized by `run`.
    pub fn updated_with(
        &self,
        run: &Run<'_>,
        features: &Features<'_>,
        labels: &Labels,
    ) -> Result<(Self, Report), FitError> {
        let division = self.divide(labels);
        let lesson = Lesson {
            features,
            labels,
            learned: &division.learned,
            negatives: &[],
            ignored: None,
            numbers: None,
        };
        let (machine, mut report) = learn(run, &self.machine, &lesson)?;
        let mut model = Self {
            machine,
            witnesses: self.witnesses.clone(),
            held: self.held.clone(),
            ledger: self.ledger.clone(),
        };
        model.follow(run, (features, labels), &division, self.machine.points_seen, &mut report)?;
        Ok((model, report))
    }
}

impl Evm {
    /// Which rows of a batch are learned: all but those that calibrate, where the model's threshold is set on rows that it never learned.
    fn divide(&self, labels: &Labels) -> Division {
        if self.held.calibration.is_none() || self.held.sample.is_none() {
            return Division::whole(labels.len());
        }
        let is_known: Vec<bool> =
            labels.names().iter().map(|name| self.class_index(name).is_some()).collect();
        Division::new(self.machine.points_seen, labels.ids(), |class| is_known[class as usize], false)
    }
}
