//! Feature vectors made ready for a metric.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::device::Source;
use crate::error::FeatureError;
use crate::features::{Features, LARGEST};
use crate::metric::Metric;
use crate::scratch::SharedValues;

/// Values that are worth a thread.
const SHARE: usize = 1 << 16;

/// Vectors as the metric wants them: of unit length for cosine, as they are for the others.
///
/// Unit length is applied row by row on the way into a tile, so that preparing a borrowed matrix copies nothing.
/// Vectors that left a model are prepared already and are never scaled twice.
#[derive(Clone)]
pub struct Points<'a> {
    values: Values<'a>,
    dimensions: usize,
    /// `1 / ||x||` for each row; empty where rows are ready as they are.
    inverse_norms: Vec<f64>,
}

#[derive(Clone)]
enum Values<'a> {
    /// Row after row.
    Whole(Cow<'a, [f32]>),
    /// As these, in the scratch.
    Shared(SharedValues),
    /// Rows that lie in several places.
    Rows(Vec<&'a [f32]>),
}

impl<'a> Points<'a> {
    /// Checks what the metric asks of a vector: for cosine, that it is not all zeros.
    pub fn prepare(features: &'a Features<'_>, metric: &Metric) -> Result<Self, FeatureError> {
        Self::checked(Cow::Borrowed(features.values()), features.columns(), metric)
    }

    /// As [`prepare`](Self::prepare), for rows that were whitened.
    pub fn whitened(values: Vec<f32>, dimensions: usize, metric: &Metric) -> Result<Self, FeatureError> {
        match values.iter().position(|value| value.abs() > LARGEST) {
            Some(at) => Err(FeatureError::TooLargeWhitened { row: at / dimensions, limit: LARGEST }),
            None => Self::checked(Cow::Owned(values), dimensions, metric),
        }
    }

    fn checked(values: Cow<'a, [f32]>, dimensions: usize, metric: &Metric) -> Result<Self, FeatureError> {
        let points = Self::scaled(values, dimensions, metric);
        match points.zero_row() {
            Some(row) => Err(FeatureError::ZeroVector { row }),
            None => Ok(points),
        }
    }

    /// The first row without a direction, where that matters.
    fn zero_row(&self) -> Option<usize> {
        self.inverse_norms.iter().position(|norm| norm.is_infinite())
    }

    /// As [`whitened`](Self::whitened), for rows in the scratch.
    pub fn whitened_there(
        values: SharedValues,
        dimensions: usize,
        metric: &Metric,
    ) -> Result<Self, FeatureError> {
        if let Some(at) = values.iter().position(|value| value.abs() > LARGEST) {
            return Err(FeatureError::TooLargeWhitened { row: at / dimensions, limit: LARGEST });
        }
        let points = Self::scaled_there(values, dimensions, metric);
        match points.zero_row() {
            Some(row) => Err(FeatureError::ZeroVector { row }),
            None => Ok(points),
        }
    }

    /// As [`scaled`](Self::scaled), for rows in the scratch.
    pub fn scaled_there(values: SharedValues, dimensions: usize, metric: &Metric) -> Self {
        let inverse_norms = inverse_norms(&values, dimensions, metric);
        Self { values: Values::Shared(values), dimensions, inverse_norms }
    }

    /// As [`prepare`](Self::prepare), for vectors that are known not to be all zeros.
    pub fn scaled(values: Cow<'a, [f32]>, dimensions: usize, metric: &Metric) -> Self {
        let inverse_norms = inverse_norms(&values, dimensions, metric);
        Self { values: Values::Whole(values), dimensions, inverse_norms }
    }

    /// Vectors that are ready as they are.
    pub fn ready(values: impl Into<Cow<'a, [f32]>>, dimensions: usize) -> Self {
        Self { values: Values::Whole(values.into()), dimensions, inverse_norms: Vec::new() }
    }

    /// Vectors that are ready as they are, each in its place.
    pub fn rows(rows: Vec<&'a [f32]>, dimensions: usize) -> Self {
        Self { values: Values::Rows(rows), dimensions, inverse_norms: Vec::new() }
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Whole(values) => values.len() / self.dimensions,
            Values::Shared(values) => values.len() / self.dimensions,
            Values::Rows(rows) => rows.len(),
        }
    }

    /// Values of each.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Writes the values of a point.
    pub fn write_row(&self, index: usize, out: &mut [f32]) {
        let row = match &self.values {
            Values::Whole(values) => &values[index * self.dimensions..(index + 1) * self.dimensions],
            Values::Shared(values) => &values[index * self.dimensions..(index + 1) * self.dimensions],
            Values::Rows(rows) => rows[index],
        };
        match self.inverse_norms.get(index) {
            None => out.copy_from_slice(row),
            Some(&scale) => {
                for (out, &value) in out.iter_mut().zip(row) {
                    *out = (f64::from(value) * scale) as f32;
                }
            }
        }
    }

    /// The given rows, ready, in the given order.
    pub fn gather(&self, indices: &[usize]) -> Vec<f32> {
        let mut values = vec![0.0; indices.len() * self.dimensions];
        let rows = values
            .par_chunks_exact_mut(self.dimensions)
            .zip(indices)
            .with_min_len(SHARE.div_ceil(self.dimensions));
        rows.for_each(|(row, &index)| self.write_row(index, row));
        values
    }
}

fn inverse_norms(values: &[f32], dimensions: usize, metric: &Metric) -> Vec<f64> {
    if *metric != Metric::Cosine {
        return Vec::new();
    }
    let rows = values.par_chunks_exact(dimensions).with_min_len(SHARE.div_ceil(dimensions));
    rows.map(inverse_norm).collect()
}

impl Source for Points<'_> {
    fn count(&self) -> usize {
        self.len()
    }

    fn write(&self, first: usize, out: &mut [f32]) {
        for (index, row) in (first..).zip(out.chunks_exact_mut(self.dimensions)) {
            self.write_row(index, row);
        }
    }
}

/// Some of the points, in the given order.
pub struct Picked<'a> {
    /// All of them.
    pub points: &'a Points<'a>,
    /// Which.
    pub indices: &'a [usize],
}

impl Source for Picked<'_> {
    fn count(&self) -> usize {
        self.indices.len()
    }

    fn write(&self, first: usize, out: &mut [f32]) {
        for (&index, row) in self.indices[first..].iter().zip(out.chunks_exact_mut(self.points.dimensions)) {
            self.points.write_row(index, row);
        }
    }
}

/// Makes one vector ready in its place, as [`Points::prepare`] does with many. It is row 0 in errors.
pub fn make_ready(values: &mut [f32], metric: &Metric) -> Result<(), FeatureError> {
    if *metric != Metric::Cosine {
        return Ok(());
    }
    let scale = inverse_norm(values);
    if scale.is_infinite() {
        return Err(FeatureError::ZeroVector { row: 0 });
    }
    for value in values {
        *value = (f64::from(*value) * scale) as f32;
    }
    Ok(())
}

/// As [`make_ready`], as [`Points::whitened`] does.
pub fn make_ready_whitened(values: &mut [f32], metric: &Metric) -> Result<(), FeatureError> {
    if values.iter().any(|value| value.abs() > LARGEST) {
        return Err(FeatureError::TooLargeWhitened { row: 0, limit: LARGEST });
    }
    make_ready(values, metric)
}

/// `1 / ||x||`; infinite for an all-zero vector.
fn inverse_norm(values: &[f32]) -> f64 {
    let squared: f64 = values.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
    1.0 / squared.sqrt()
}
