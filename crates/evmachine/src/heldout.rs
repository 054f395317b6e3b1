//! Rows that were not learned, and what they tell: thresholds, p-values, promises.

pub(crate) mod beta;
pub(crate) mod calibration;
pub(crate) mod discovery;
pub(crate) mod holdout;
pub(crate) mod promise;
pub(crate) mod sample;
pub(crate) mod threshold;
