//! Where a query becomes unknown, as a user states it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What decides how much support a query needs to be accepted.
///
/// All but [`Probability`](Rejection::Probability) are set on rows that were held out of a fit, anew at every update; the
/// threshold is then part of the model ([`Evm::threshold`](crate::Evm::threshold)). Where nothing can be held out, because no
/// class has two rows, there is no calibration ([`Evm::calibration`](crate::Evm::calibration), and
/// [`Report::held_out`](crate::Report::held_out) is 0), and a psi below 0.05 is unknown.
///
/// ```
/// use evmachine::Rejection;
///
/// let text = serde_json::to_string(&[Rejection::Probability(0.05), Rejection::FalseUnknown(0.01)]).unwrap();
/// assert_eq!(text, r#"[0.05,{"false_unknown":0.01}]"#);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rejection {
    /// Below this psi: the paper's delta.
    Probability(f64),
    /// At most this share of known queries is called unknown: the conformal quantile of held-out scores, so that it holds
    /// on average over fits whatever the distribution, as long as queries come from that of the training rows.
    FalseUnknown(f64),
    /// As [`FalseUnknown`](Rejection::FalseUnknown), by the class that is answered, for those with enough held-out rows.
    FalseUnknownPerClass(f64),
    /// At most this share of unknown queries is accepted, by the distribution that
    /// [`Params::strangers`](crate::Params::strangers) states.
    FalseKnown(f64),
}

impl Rejection {
    /// Its share or probability.
    pub fn value(self) -> f64 {
        match self {
            Rejection::Probability(value)
            | Rejection::FalseUnknown(value)
            | Rejection::FalseUnknownPerClass(value)
            | Rejection::FalseKnown(value) => value,
        }
    }

    /// Whether the threshold comes from held-out rows.
    pub fn is_calibrated(self) -> bool {
        !matches!(self, Rejection::Probability(_))
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
            Rejection::FalseUnknown(rate) => write!(formatter, "{} % of known rejected", 100.0 * rate),
            Rejection::FalseUnknownPerClass(rate) => {
                write!(formatter, "{} % of known rejected in each class", 100.0 * rate)
            }
            Rejection::FalseKnown(rate) => write!(formatter, "{} % of unknown accepted", 100.0 * rate),
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
            Rejection::FalseUnknown(rate) => WrittenRejection::Named(Named::Unknown(rate)),
            Rejection::FalseUnknownPerClass(rate) => WrittenRejection::Named(Named::UnknownPerClass(rate)),
            Rejection::FalseKnown(rate) => WrittenRejection::Named(Named::Known(rate)),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Rejection {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = WrittenRejection::deserialize(deserializer).map_err(|_| {
            serde::de::Error::custom(
                "must be a probability, or one of false_unknown, false_unknown_per_class, false_known with a share",
            )
        })?;
        Ok(match written {
            WrittenRejection::Number(delta) => Rejection::Probability(delta),
            WrittenRejection::Named(Named::Unknown(rate)) => Rejection::FalseUnknown(rate),
            WrittenRejection::Named(Named::UnknownPerClass(rate)) => Rejection::FalseUnknownPerClass(rate),
            WrittenRejection::Named(Named::Known(rate)) => Rejection::FalseKnown(rate),
        })
    }
}
