//! Training a model from rows.

use crate::error::FitError;
use crate::input::labels::Labels;
use crate::learn::training;
use crate::machine::report::Report;
use crate::model::Evm;
use crate::params::CheckedParams;
use evmachine_engine::features::Features;
use evmachine_engine::run::Run;

/// # Learn
impl Evm {
    /// Learns the classes of `labels` from `features`. Takes [`Params`](crate::Params), which it checks, or
    /// [`CheckedParams`].
    ///
    /// Costs `rows^2 * dimensions` multiplications and additions, half of that where memory allows, and memory for a
    /// packed copy of the features, which is let go before the model takes its own, beside tiles and what
    /// [`Run::memory`] allows; rows are shared by the threads of the current rayon pool. If the threshold is set on
    /// rows that are not learned, as by default, one row in ten is held out for good; of up to 2,000 rows none is, and ten more fits of nine
    /// tenths come on top.
    ///
    /// ```
    /// use evmachine::{Evm, Features, Labels, Params};
    ///
    /// let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// let (evm, report) = Evm::fit(&Params::plain(), &features, &labels)?;
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
        training::fit(run, params.try_into()?, features, labels, None)
    }

    /// As [`fit`](Self::fit), with samples that are no class ([`Evm::ignore`]). With them, one class is enough to measure
    /// margins.
    ///
    /// ```
    /// use evmachine::{Evm, Features, Labels, Params};
    ///
    /// let features = Features::new(vec![0.0, 0.1, 0.2], 1)?;
    /// let ignored = Features::new(vec![5.0, 5.1, 5.2], 1)?;
    /// let (evm, _) = Evm::fit_ignoring(&Params::plain(), &features, &Labels::new(["low"; 3])?, &ignored)?;
    /// assert_eq!(evm.decide(&Features::new(vec![5.1], 1)?)?[0].class(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fit_ignoring<P>(
        params: P,
        features: &Features<'_>,
        labels: &Labels,
        ignored: &Features<'_>,
    ) -> Result<(Self, Report), FitError>
    where
        P: TryInto<CheckedParams>,
        FitError: From<P::Error>,
    {
        Self::fit_ignoring_with(&Run::new(), params, features, labels, ignored)
    }

    /// As [`fit_ignoring`](Self::fit_ignoring), watched and sized by `run`.
    pub fn fit_ignoring_with<P>(
        run: &Run<'_>,
        params: P,
        features: &Features<'_>,
        labels: &Labels,
        ignored: &Features<'_>,
    ) -> Result<(Self, Report), FitError>
    where
        P: TryInto<CheckedParams>,
        FitError: From<P::Error>,
    {
        training::fit(run, params.try_into()?, features, labels, Some(ignored))
    }
}
