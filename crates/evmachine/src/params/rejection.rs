//! Where a query becomes unknown, as a user states it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::percent;

/// The low end of the range that the paper searches.
pub(crate) const DELTA: f64 = 0.05;

/// What decides how much support a query needs to be accepted.
///
/// The shares are kept on rows that the model did not learn, anew at every update; the threshold is then part of the model
/// ([`Evm::threshold`](crate::Evm::threshold)), and [`Evm::promise`](crate::Evm::promise) says what it rests on. If no class has two rows,
/// nothing can be asked, there is no calibration ([`Evm::calibration`](crate::Evm::calibration)), and a psi below 0.05 is unknown.
///
/// ```
/// use evmachine::Rejection;
///
/// let text = serde_json::to_string(&[Rejection::Probability(0.05), Rejection::FalseUnknown(0.01)]).unwrap();
/// assert_eq!(text, r#"[0.05,{"false_unknown":0.01}]"#);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Rejection {
    /// Below this psi: the paper's delta.
    Probability(f64),
    /// Below this support ([`Evm::threshold`](crate::Evm::threshold)), as it is.
    Support(f64),
    /// At most this share of known queries is called unknown: the conformal quantile of held-out scores, so that it holds
    /// on average over fits whatever the distribution, as long as queries come from that of the training rows.
    FalseUnknown(f64),
    /// As [`FalseUnknown`](Rejection::FalseUnknown), for each class by itself: of the known queries whose best class it is, which
    /// need not be their true class. Classes with too few held-out rows share the threshold of all
    /// ([`Promise::classes_without`](crate::Promise::classes_without)).
    FalseUnknownPerClass(f64),
    /// At most this share of unknown queries is accepted: of strangers like those that were given
    /// ([`Evm::calibrate_unknowns`](crate::Evm::calibrate_unknowns)); else by an estimate from classes left out in turn.
    FalseKnown(f64),
}

impl Rejection {
    /// The paper's delta: psi below 0.05 is unknown. It also stands in if there is nothing to set a threshold on.
    pub const PAPER: Rejection = Rejection::Probability(DELTA);

    /// The rule unless another is given: at most 5 % of known queries are called unknown.
    pub const DEFAULT: Rejection = Rejection::FalseUnknown(0.05);

    /// What it is written as.
    pub(crate) const TAKES: &str = "a probability, support with a number, or one of false_unknown, false_unknown_per_class, false_known with a share";

    /// Its share or probability.
    pub const fn value(self) -> f64 {
        match self {
            Rejection::Probability(value)
            | Rejection::Support(value)
            | Rejection::FalseUnknown(value)
            | Rejection::FalseUnknownPerClass(value)
            | Rejection::FalseKnown(value) => value,
        }
    }

    /// Which rule it is, as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Rejection::Probability(_) => "probability",
            Rejection::Support(_) => "support",
            Rejection::FalseUnknown(_) => "false_unknown",
            Rejection::FalseUnknownPerClass(_) => "false_unknown_per_class",
            Rejection::FalseKnown(_) => "false_known",
        }
    }

    /// Whether the threshold comes from held-out rows.
    pub fn is_calibrated(self) -> bool {
        !matches!(self, Rejection::Probability(_) | Rejection::Support(_))
    }
}

impl From<f64> for Rejection {
    fn from(delta: f64) -> Self {
        Rejection::Probability(delta)
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::Probability(delta) => write!(formatter, "psi below {delta}"),
            Rejection::Support(support) => write!(formatter, "a score below {support}"),
            Rejection::FalseUnknown(rate) => write!(formatter, "{} % of known rejected", percent(*rate)),
            Rejection::FalseUnknownPerClass(rate) => {
                write!(formatter, "{} % of known rejected in each class", percent(*rate))
            }
            Rejection::FalseKnown(rate) => write!(formatter, "{} % of unknown accepted", percent(*rate)),
        }
    }
}

/// A number, or an object of one entry.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenRejection {
    Number(f64),
    Named(Named),
}

#[derive(Serialize, Deserialize)]
enum Named {
    #[serde(rename = "support")]
    Support(f64),
    #[serde(rename = "false_unknown")]
    Unknown(f64),
    #[serde(rename = "false_unknown_per_class")]
    UnknownPerClass(f64),
    #[serde(rename = "false_known")]
    Known(f64),
}

impl Serialize for Rejection {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Rejection::Probability(delta) => WrittenRejection::Number(delta),
            Rejection::Support(support) => WrittenRejection::Named(Named::Support(support)),
            Rejection::FalseUnknown(rate) => WrittenRejection::Named(Named::Unknown(rate)),
            Rejection::FalseUnknownPerClass(rate) => WrittenRejection::Named(Named::UnknownPerClass(rate)),
            Rejection::FalseKnown(rate) => WrittenRejection::Named(Named::Known(rate)),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Rejection {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = WrittenRejection::deserialize(deserializer)
            .map_err(|_| serde::de::Error::custom(format!("must be {}", Rejection::TAKES)))?;
        Ok(match written {
            WrittenRejection::Number(delta) => Rejection::Probability(delta),
            WrittenRejection::Named(Named::Support(support)) => Rejection::Support(support),
            WrittenRejection::Named(Named::Unknown(rate)) => Rejection::FalseUnknown(rate),
            WrittenRejection::Named(Named::UnknownPerClass(rate)) => Rejection::FalseUnknownPerClass(rate),
            WrittenRejection::Named(Named::Known(rate)) => Rejection::FalseKnown(rate),
        })
    }
}
