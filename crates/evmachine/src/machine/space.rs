//! From features to the space that a machine measures distances in: standardised, of unit length for cosine, whitened.

use crate::error::{FeatureError, RunError};
use crate::machine::Machine;
use evmachine_engine::features::Features;
use evmachine_engine::points::Points;
use evmachine_engine::run::Run;
use evmachine_engine::scratch;

impl Machine {
    /// Mean and deviation of each column, where [`Params::standardize`](crate::Params::standardize) is on: a query x becomes
    /// `(x - mean) / deviation` before anything else.
    pub fn standard_columns(&self) -> Option<(&[f64], &[f64])> {
        self.standard.as_ref().map(|standard| (standard.mean(), standard.deviation()))
    }

    /// Queries standardised where the model does so, ready for the metric.
    pub(crate) fn standardized<'a>(&self, queries: &'a Features<'_>) -> Result<Points<'a>, FeatureError> {
        let Some(standard) = &self.standard else {
            return Points::prepare(queries, &self.params.metric);
        };
        let mut values = queries.values().to_vec();
        standard.apply_to_all(&mut values);
        Points::whitened(values, self.dimensions, &self.params.metric)
    }

    /// As [`standardized`](Self::standardized), in the scratch of the run if it has one.
    pub(crate) fn standardized_in<'a>(
        &self,
        run: &Run<'_>,
        features: &'a Features<'_>,
    ) -> Result<Points<'a>, RunError> {
        let Some(scratch) = run.store() else { return Ok(self.standardized(features)?) };
        let Some(standard) = &self.standard else {
            return Ok(Points::prepare(features, &self.params.metric)?);
        };
        let d = self.dimensions;
        let values = scratch::made(scratch, features.rows(), d, |rows, out| {
            out.copy_from_slice(&features.values()[rows.start * d..rows.end * d]);
            standard.apply_to_all(out);
            Ok(())
        })?;
        Ok(Points::whitened_there(values, d, &self.params.metric)?)
    }

    /// Where a vector of the model, such as that of an [`ExtremeVector`](crate::ExtremeVector), lies among the features:
    /// the vector itself without whitening and standardising. Of unit length for cosine, before standardising is undone.
    ///
    /// # Panics
    ///
    /// If the vector is not of the model's dimension.
    pub fn in_feature_space(&self, vector: &[f32]) -> Vec<f32> {
        assert_eq!(vector.len(), self.dimensions, "a vector of the model has its dimension");
        let mut values = match &self.whitening {
            Some(whitening) => {
                let points =
                    Points::scaled(whitening.undo(vector).into(), self.dimensions, &self.params.metric);
                points.gather(&[0])
            }
            None => vector.to_vec(),
        };
        if let Some(standard) = &self.standard {
            standard.undo(&mut values);
        }
        values
    }

    /// As [`whitened`](Self::whitened), by the device and in the scratch of the run, as far as it has them.
    pub(crate) fn whitened_in<'a>(&self, run: &Run<'_>, points: Points<'a>) -> Result<Points<'a>, RunError> {
        let Some(whitening) = &self.whitening else { return Ok(points) };
        let Some(scratch) = run.store() else {
            let mut values = vec![0.0; points.len() * self.dimensions];
            whitening.apply_there(run, &points, 0, &mut values)?;
            return Ok(Points::whitened(values, self.dimensions, &self.params.metric)?);
        };
        let values = scratch::made(scratch, points.len(), self.dimensions, |rows, out| {
            whitening.apply_there(run, &points, rows.start, out)
        })?;
        Ok(Points::whitened_there(values, self.dimensions, &self.params.metric)?)
    }

    /// Points made ready for the metric, in the space that the model measures distances in.
    pub(crate) fn whitened<'a>(&self, points: Points<'a>) -> Result<Points<'a>, FeatureError> {
        match &self.whitening {
            Some(whitening) => {
                Points::whitened(whitening.apply(&points), self.dimensions, &self.params.metric)
            }
            None => Ok(points),
        }
    }

    pub(crate) fn query_points<'a>(&self, queries: &'a Features<'_>) -> Result<Points<'a>, FeatureError> {
        self.check_columns(queries)?;
        self.whitened(self.standardized(queries)?)
    }

    pub(crate) fn check_columns(&self, queries: &Features<'_>) -> Result<(), FeatureError> {
        if queries.columns() == self.dimensions {
            return Ok(());
        }
        Err(FeatureError::Dimensions { expected: self.dimensions, found: queries.columns() })
    }
}
