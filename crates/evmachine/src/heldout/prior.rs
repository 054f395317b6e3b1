//! The share of known queries to be expected.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::CalibrateError;

/// The share of known queries to be expected, which P(known) takes for granted: above 0 and below 1.
///
/// ```
/// use evmachine::Prior;
///
/// assert_eq!(Prior::default().share(), 0.5);
/// assert!(Prior::new(1.0).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Prior(f64);

impl Prior {
    /// Known and unknown queries come equally often.
    pub const EVEN: Prior = Prior(0.5);

    /// Refuses what is not above 0 and below 1.
    pub fn new(share: f64) -> Result<Self, CalibrateError> {
        if share > 0.0 && share < 1.0 { Ok(Self(share)) } else { Err(CalibrateError::Prior { prior: share }) }
    }

    /// The share.
    pub fn share(self) -> f64 {
        self.0
    }
}

impl Default for Prior {
    fn default() -> Self {
        Self::EVEN
    }
}

impl TryFrom<f64> for Prior {
    type Error = CalibrateError;

    fn try_from(share: f64) -> Result<Self, CalibrateError> {
        Self::new(share)
    }
}

impl From<Prior> for f64 {
    fn from(prior: Prior) -> f64 {
        prior.0
    }
}

impl FromStr for Prior {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
        Self::new(share).map_err(|error| error.to_string())
    }
}

impl std::fmt::Display for Prior {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(out)
    }
}
