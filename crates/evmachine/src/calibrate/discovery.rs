//! Unknowns of a whole batch: which rows to call unknown so that few of those are known, and how many unknowns there are.
//!
//! The p-value of a known query is uniform, so the procedure of Benjamini and Hochberg over p-values keeps the share of known rows among
//! those called unknown (the false discovery rate) at or below what was asked for, on average over batches. P-values that share their
//! calibrating rows depend on each other in a way that keeps this true (Bates, Candes, Lei, Romano and Sesia, 2023).

use serde::Serialize;

use crate::error::CalibrateError;
use crate::model::Evm;

/// P-values above this are those of known queries, but for few, in the estimate of how many there are.
const LAMBDA: f64 = 0.5;

/// Which rows of a batch are unknown ([`Evm::discover`]).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Discoveries {
    /// By row, whether it is called unknown.
    pub unknown: Vec<bool>,
    /// The largest p-value that is called unknown; `None` where none is.
    pub largest: Option<f64>,
    /// No p-value can lie below this: 1 / (m + 1), with m calibrating rows.
    pub smallest_possible: f64,
    /// So many rows must lie below all calibrating rows before any can be called unknown.
    pub fewest: usize,
}

/// How many queries of a batch are unknown ([`Evm::share_unknown`]).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct UnknownShare {
    /// The estimated share of unknown queries, between 0 and 1.
    pub share: f64,
    /// Its standard error.
    pub error: f64,
}

impl Discoveries {
    /// What to know if nothing was found and little or nothing could have been; else `None`.
    pub fn doubt(&self) -> Option<String> {
        let rows = self.unknown.len();
        if self.largest.is_none() && self.fewest <= rows && self.fewest > rows / 20 {
            return Some(format!(
                "nothing was found, which says little: at this rate {} of the {rows} rows must lie below all calibrating rows before one is called \
                 unknown; ask for a larger rate, or calibrate on more rows",
                self.fewest
            ));
        }
        (self.fewest > rows && rows > 0).then(|| {
            let calibrating = (1.0 / self.smallest_possible).round() - 1.0;
            format!(
                "{calibrating} calibrating rows are too few to call any of {rows} rows unknown at this rate: no p-value lies below {:.4}; \
                 ask for a larger rate, or calibrate on more rows",
                self.smallest_possible
            )
        })
    }
}

/// # Strangers
impl Evm {
    /// Calls rows of a batch unknown by their p-values ([`Decision::p_value`](crate::Decision::p_value)), so that of those at most a share
    /// `rate` is known, on average over batches.
    ///
    /// # Errors
    ///
    /// If the model has no calibration, or the rate is not between 0 and 1.
    pub fn discover(&self, p_values: &[f64], rate: f64) -> Result<Discoveries, CalibrateError> {
        let smallest_possible = self.smallest_p_value()?;
        if !(rate > 0.0 && rate < 1.0) {
            return Err(CalibrateError::DiscoveryRate { rate });
        }
        let mut sorted = p_values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let step = rate / sorted.len().max(1) as f64;
        let found = (0..sorted.len()).rev().find(|&at| sorted[at] <= step * (at + 1) as f64 * (1.0 + 1e-12));
        let largest = found.map(|at| sorted[at]);
        Ok(Discoveries {
            unknown: p_values.iter().map(|p| largest.is_some_and(|largest| *p <= largest)).collect(),
            largest,
            smallest_possible,
            fewest: (smallest_possible / step - 1e-9).ceil() as usize,
        })
    }

    /// Estimates how many queries of a batch are unknown, by their p-values: known ones have as many above a half as below, unknown
    /// ones hardly any above (Storey, 2002). An estimate: unknowns that look known count as known.
    pub fn share_unknown(&self, p_values: &[f64]) -> Result<Option<UnknownShare>, CalibrateError> {
        let calibrating = 1.0 / self.smallest_p_value()? - 1.0;
        if p_values.is_empty() {
            return Ok(None);
        }
        let rows = p_values.len() as f64;
        let above = p_values.iter().filter(|p| **p > LAMBDA).count() as f64 / rows;
        let known = above / (1.0 - LAMBDA);
        // Of the rows that were counted, and of where the calibrating rows have their half.
        let counted = above * (1.0 - above) / rows / (1.0 - LAMBDA).powi(2);
        let halved = known * known * LAMBDA / (1.0 - LAMBDA) / calibrating.max(1.0);
        Ok(Some(UnknownShare { share: (1.0 - known).max(0.0), error: (counted + halved).sqrt() }))
    }

    fn smallest_p_value(&self) -> Result<f64, CalibrateError> {
        let calibration = self.held.calibration.as_ref().ok_or(CalibrateError::NotCalibrated)?;
        Ok(calibration.p_value(f64::NEG_INFINITY))
    }
}
