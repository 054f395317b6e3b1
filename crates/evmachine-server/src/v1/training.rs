//! Training rows as people see them: those that came from the pool with their text and picture.

use evmachine::{Evm, TrainingRow};
use evmachine_openworld::{Pool, SampleId, StoreError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::v1::samples::picture_address;

/// What the batch of rows is called that were learned from the pool.
const POOL: &str = "pool";

/// A training row that the live version holds.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ShownRow {
    pub(crate) class: String,
    #[serde(flatten)]
    pub(crate) row: TrainingRow,
    /// The sample of the pool that it was, if it came from there.
    pub(crate) sample: Option<SampleId>,
    pub(crate) text: Option<String>,
    /// Where its picture is, if there is one.
    pub(crate) picture: Option<String>,
    /// The vector: of a sample of the pool its own, of others as the model keeps it, which may have moved it.
    pub(crate) features: Vec<f32>,
}

impl ShownRow {
    /// A row with what the pool has of it.
    pub(crate) fn of(
        pool: &Pool,
        class: String,
        row: TrainingRow,
        features: Vec<f32>,
    ) -> Result<Self, StoreError> {
        let mut shown = Self { class, row, sample: None, text: None, picture: None, features };
        let Some(number) = sample_of(&shown.row) else { return Ok(shown) };
        match pool.sample(number) {
            Ok(sample) => {
                shown.sample = Some(number);
                shown.features = sample.features;
                shown.text = sample.text;
                shown.picture = sample.picture_hash.map(|hash| picture_address(number, &hash));
                Ok(shown)
            }
            // A model that learned in another pool.
            Err(StoreError::NoSample { .. }) => Ok(shown),
            Err(error) => Err(error),
        }
    }
}

/// The sample that a row was learned from.
pub(crate) fn sample_of(row: &TrainingRow) -> Option<SampleId> {
    let is_own = row.batch_name.as_deref() == Some(POOL);
    SampleId::try_from(row.number).ok().filter(|_| is_own)
}

/// The vector of an extreme vector, by its position, in the space of the features.
pub(crate) fn vector(model: &Evm, extreme_vector: usize) -> Vec<f32> {
    let found = model.extreme_vectors().nth(extreme_vector);
    found.map(|found| model.in_feature_space(found.vector)).unwrap_or_default()
}
