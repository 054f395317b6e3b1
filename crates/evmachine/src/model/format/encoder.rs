//! What files of version 6 add for the encoder of a model: its name, and what its vectors have in common.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::layout::{Column, f32s, f64s};
use super::tensors::Tensors;
use super::{FormatError, inconsistent};
use crate::input::fingerprint::{Fingerprint, Limits, Look};
use crate::model::Evm;
use crate::model::encoder::{Encoder, Known};

const MEAN: &str = "encoder_mean";
const DEVIATION: &str = "encoder_deviation";
const DIRECTIONS: &str = "encoder_directions";

/// The parts that are not tensors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// Where medians of batches lie: length, direction, coordinates, spectrum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limits: Option<[Limits; 4]>,
}

/// Whether a file has tensors of it.
pub(super) fn is_in(tensors: &Tensors<'_>) -> bool {
    [MEAN, DEVIATION, DIRECTIONS].iter().any(|name| tensors.has(name))
}

impl Evm {
    pub(super) fn named_encoder(&self) -> Option<Named> {
        self.ledger.encoder.as_ref().map(|Known { encoder, fingerprint }| Named {
            name: encoder.name.clone(),
            version: encoder.version.clone(),
            limits: fingerprint.as_ref().map(|fingerprint| fingerprint.limits),
        })
    }

    pub(super) fn encoder_tensors(&self) -> Vec<(&'static str, Column<'_>)> {
        let known = self.ledger.encoder.as_ref();
        let Some(fingerprint) = known.and_then(|known| known.fingerprint.as_deref()) else {
            return Vec::new();
        };
        let (look, d) = (&fingerprint.look, self.machine.dimensions);
        vec![
            (MEAN, f64s(d, look.mean.iter().copied())),
            (DEVIATION, f64s(d, look.deviation.iter().copied())),
            (DIRECTIONS, f32s(vec![look.directions.len() / d, d], look.directions.iter().copied())),
        ]
    }

    pub(super) fn read_encoder(
        &mut self,
        tensors: &Tensors<'_>,
        named: Option<Named>,
    ) -> Result<(), FormatError> {
        let Some(Named { name, version, limits }) = named else {
            return if is_in(tensors) { Err(inconsistent("the fingerprint of no encoder")) } else { Ok(()) };
        };
        if name.is_empty() {
            return Err(inconsistent("an encoder without a name"));
        }
        let d = self.machine.dimensions;
        let fingerprint = match limits {
            Some(limits) => {
                let finite =
                    |limits: &Limits| limits.least.is_finite() && limits.most.is_none_or(f64::is_finite);
                if !limits.iter().all(finite) {
                    return Err(inconsistent("the limits of a fingerprint are not finite"));
                }
                let count = tensors.length(DIRECTIONS)?;
                let look = Look {
                    mean: tensors.f64s(MEAN, d, |_| true)?,
                    deviation: tensors.f64s(DEVIATION, d, |value| value > 0.0)?,
                    directions: tensors.f32s(DIRECTIONS, &[count, d], |value| value.abs() <= 1.001)?,
                };
                Some(Arc::new(Fingerprint { look, limits }))
            }
            None if is_in(tensors) => return Err(inconsistent("a fingerprint without limits")),
            None => None,
        };
        self.ledger.encoder = Some(Known { encoder: Encoder { name, version }, fingerprint });
        Ok(())
    }
}
