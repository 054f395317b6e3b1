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

    /// What so many held-out rows leave to be doubted of the rule, as a sentence for whoever asked for it.
    ///
    /// ```
    /// use evmachine::Rejection;
    ///
    /// assert_eq!(Rejection::FalseUnknown(0.05).doubt(59), None);
    /// let doubt = Rejection::FalseUnknown(0.01).doubt(59).expect("one in a hundred, of 59");
    /// assert!(doubt.starts_with("59 held-out rows tell shares down to 1.67 %"));
    /// ```
    pub fn doubt(self, rows: usize) -> Option<String> {
        let (Self::FalseUnknown(share) | Self::FalseUnknownPerClass(share)) = self else { return None };
        let least = 1.0 / (rows + 1) as f64;
        if share == 0.0 {
            Some(
                "nothing that is known may be rejected, so nothing is: every query within reach gets a name"
                    .to_owned(),
            )
        } else if share < least {
            Some(format!(
                "{rows} held-out rows tell shares down to {:.2} %, and {} % are asked for: the threshold is a guess; more rows, or a larger \
                 share, have it measured",
                100.0 * least,
                percent(share)
            ))
        } else {
            None
        }
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
            Rejection::FalseUnknown(rate) => write!(formatter, "{} % of known rejected", percent(*rate)),
            Rejection::FalseUnknownPerClass(rate) => {
                write!(formatter, "{} % of known rejected in each class", percent(*rate))
            }
            Rejection::FalseKnown(rate) => write!(formatter, "{} % of unknown accepted", percent(*rate)),
        }
    }
}

/// Per cent, to four digits behind the point.
fn percent(share: f64) -> f64 {
    (share * 1e6).round() / 1e4
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
