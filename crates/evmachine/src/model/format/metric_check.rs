//! What a user's own metric measures, so that another of the same name is found out.

use serde::{Deserialize, Serialize};

use super::FormatError;
use crate::machine::Machine;
use evmachine_engine::metric::Metric;

/// Vectors that are compared, each with the one before it.
const VECTORS: usize = 5;
/// Distances that differ by less than this share of them are the same, on another machine.
const SAME: f32 = 1e-3;

/// Distances between the first extreme vectors, each and the next; `None` if one is not finite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct MetricCheck(Vec<Option<f32>>);

impl MetricCheck {
    /// `None` for the metrics of the library.
    pub(super) fn of(machine: &Machine) -> Option<Self> {
        let Metric::Custom(metric) = &machine.params.metric else { return None };
        let vectors = machine.classes.iter().flat_map(|class| class.vectors.chunks_exact(machine.dimensions));
        let vectors: Vec<&[f32]> = vectors.take(VECTORS).collect();
        let measured = vectors.windows(2).map(|pair| metric.distance(pair[0], pair[1]));
        Some(Self(measured.map(|distance| Some(distance).filter(|value| value.is_finite())).collect()))
    }

    /// Refuses a metric that measures something else.
    pub(super) fn compare(&self, machine: &Machine) -> Result<(), FormatError> {
        let Some(found) = Self::of(machine) else { return Ok(()) };
        let same = |a: f32, b: f32| (a - b).abs() <= SAME * a.abs().max(b.abs());
        for pair in self.0.iter().zip(&found.0) {
            if let (Some(stored), Some(found)) = pair
                && !same(*stored, *found)
            {
                let name = machine.params.metric.name();
                return Err(FormatError::MetricDiffers { name, stored: *stored, found: *found });
            }
        }
        Ok(())
    }
}
