//! UCI Letter as the experiments use it.

use evmachine::{FeatureError, Features};

/// Letter's values are whole numbers from 0 to this.
const HIGHEST: f32 = 15.0;

/// Letters with values from 0 to 1. libmr's fit depends on the unit of the features, and the paper's data were normalised
/// (supplement, Sec. 2); everything else that runs on letters does not see the difference.
pub(crate) fn unit(features: &Features<'_>) -> Result<Features<'static>, FeatureError> {
    let values: Vec<f32> = features.values().iter().map(|value| value / HIGHEST).collect();
    Features::new(values, features.columns())
}
