//! How a model chooses its extreme vectors.

use super::{Budget, Params, ReduceWhen, Reduction};

/// The parameters that choose extreme vectors, for a model that is there.
///
/// ```
/// use evmachine::{Budget, Cover, Params};
///
/// let cover = Cover { budget: Some(Budget::PerClass(10)), ..Params::plain().cover() };
/// assert_eq!(cover.threshold, 0.5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cover {
    /// [`Params::cover_threshold`].
    pub threshold: f64,
    /// [`Params::cover_risk`].
    pub risk: f64,
    /// [`Params::max_extreme_vectors`].
    pub budget: Option<Budget>,
    /// [`Params::reduction`].
    pub method: Reduction,
    /// [`Params::reduce_when`].
    pub when: ReduceWhen,
}

impl Cover {
    /// Whatever covers the rest at this threshold, without risk or budget, at every update.
    pub fn at(threshold: f64) -> Self {
        Self { threshold, risk: 0.0, budget: None, method: Reduction::SetCover, when: ReduceWhen::Always }
    }

    /// As many as the budget allows.
    pub fn within(budget: Budget) -> Self {
        Self { budget: Some(budget), ..Self::at(1.0) }
    }
}

impl Params {
    /// How extreme vectors are chosen.
    pub fn cover(&self) -> Cover {
        Cover {
            threshold: self.cover_threshold,
            risk: self.cover_risk,
            budget: self.max_extreme_vectors,
            method: self.reduction,
            when: self.reduce_when,
        }
    }

    /// Whether a first fit chooses how many points it keeps ([`Params::cover_loss`]).
    pub(crate) fn chooses_cover(&self) -> bool {
        self.cover_loss > 0.0 && self.cover_threshold >= 1.0 && self.max_extreme_vectors.is_none()
    }

    /// The same parameters, under which every point is kept.
    ///
    /// ```
    /// use evmachine::Params;
    ///
    /// let params = Params::robust().keeping_all();
    /// assert_eq!((params.cover_threshold, params.cover_loss), (1.0, 0.0));
    /// ```
    pub fn keeping_all(self) -> Self {
        self.covered_by(&Cover::at(1.0))
    }

    /// The same parameters with extreme vectors chosen so.
    pub fn covered_by(self, cover: &Cover) -> Self {
        Self {
            cover_threshold: cover.threshold,
            cover_risk: cover.risk,
            cover_loss: 0.0,
            max_extreme_vectors: cover.budget,
            reduction: cover.method,
            reduce_when: cover.when,
            ..self
        }
    }
}
