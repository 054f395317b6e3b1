//! Rows that were not learned, and what they tell: scores to compare queries with.

pub(crate) mod beta;
pub(crate) mod calibration;
pub(crate) mod conformal;
pub(crate) mod prior;
pub(crate) mod quantile;
pub(crate) mod sample;

use std::sync::Arc;

use self::calibration::Calibration;
use self::sample::Sample;

/// What a model holds of rows that it did not learn, and what they told it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct HeldOut {
    /// Rows as they came, where the threshold is set on held-out ones or there is a probe.
    pub(crate) sample: Option<Arc<Sample>>,
    pub(crate) calibration: Option<Arc<Calibration>>,
}
