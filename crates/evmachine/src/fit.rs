//! Training on a batch (Alg. 1): an update of a model that knows nothing yet.

use crate::error::FitError;
use crate::features::Features;
use crate::labels::Labels;
use crate::model::Evm;
use crate::params::CheckedParams;
use crate::progress::Run;
use crate::report::Report;
use crate::training;

impl Evm {
    /// Learns the classes of `labels` from `features`. Takes [`Params`](crate::Params), which it checks, or
    /// [`CheckedParams`].
    ///
    /// Costs `rows^2 * dimensions` multiplications and additions, half of that where memory allows, and memory for a
    /// packed copy of the features, which is let go before the model takes its own, beside tiles and what
    /// [`Run::memory`] allows; rows are shared by the threads of the current rayon pool. Where the threshold is set on
    /// held-out rows, as by default, a trial on four rows in five comes on top, at two thirds of that cost.
    ///
    /// ```
    /// use evmachine::{Evm, Features, Labels, Params};
    ///
    /// let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// let (evm, report) = Evm::fit(&Params::default(), &features, &labels)?;
    /// assert_eq!(report.new_classes, ["low", "high"]);
    ///
    /// let queries = Features::new(vec![0.15, -9.0], 1)?;
    /// let decisions = evm.decide(&queries)?;
    /// assert_eq!(decisions[0].class(), Some(0));
    /// assert_eq!(decisions[1].class(), None, "nothing is known out there");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fit<P>(params: P, features: &Features<'_>, labels: &Labels) -> Result<(Self, Report), FitError>
    where
        P: TryInto<CheckedParams>,
        FitError: From<P::Error>,
    {
        Self::fit_with(&Run::new(), params, features, labels)
    }

    /// As [`fit`](Self::fit), watched and sized by `run`.
    pub fn fit_with<P>(
        run: &Run<'_>,
        params: P,
        features: &Features<'_>,
        labels: &Labels,
    ) -> Result<(Self, Report), FitError>
    where
        P: TryInto<CheckedParams>,
        FitError: From<P::Error>,
    {
        training::fit(run, params.try_into()?, features, labels)
    }
}
