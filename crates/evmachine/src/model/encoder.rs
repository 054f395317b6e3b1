//! The encoder that vectors come from: its name, and what its vectors have in common.
//!
//! Vectors of another encoder of the same size raise no error and mean nothing. A name is refused if it is another one; vectors that
//! do not look like those that the model was trained on are doubted, with the number that gives them away.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::input::fingerprint::{EncoderDoubt, Fingerprint};
use crate::input::labels::Labels;
use crate::model::Evm;
use evmachine_engine::features::Features;

/// What vectors were made by.
///
/// ```
/// use evmachine::Encoder;
///
/// let encoder: Encoder = "clip-vit-b32@2".parse()?;
/// assert_eq!((encoder.name.as_str(), encoder.version.as_deref()), ("clip-vit-b32", Some("2")));
/// assert_eq!(encoder.to_string(), "clip-vit-b32@2");
/// assert!("@2".parse::<Encoder>().is_err());
/// # Ok::<(), evmachine::EncoderError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoder {
    /// Its name.
    pub name: String,
    /// Its version, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl fmt::Display for Encoder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        self.version.as_ref().map_or(Ok(()), |version| write!(formatter, "@{version}"))
    }
}

impl FromStr for Encoder {
    type Err = EncoderError;

    /// `NAME` or `NAME@VERSION`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, version) = match text.rsplit_once('@') {
            Some((name, version)) => (name, Some(version.to_owned())),
            None => (text, None),
        };
        if name.trim().is_empty() || version.as_ref().is_some_and(|version| version.trim().is_empty()) {
            return Err(EncoderError::NoName { given: text.to_owned() });
        }
        Ok(Self { name: name.to_owned(), version })
    }
}

impl Encoder {
    /// Whether vectors of both may meet: the names are equal, and so are the versions where both have one.
    fn is(&self, other: &Self) -> bool {
        let same = |(a, b): (&String, &String)| a == b;
        self.name == other.name && self.version.as_ref().zip(other.version.as_ref()).is_none_or(same)
    }
}

/// Vectors of an encoder that is not that of the model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EncoderError {
    /// A name without a letter.
    #[error("the encoder {given:?} has no name or an empty version; write NAME or NAME@VERSION")]
    NoName {
        /// What was given.
        given: String,
    },
    /// Another one.
    #[error(
        "the vectors are of the encoder {given}, and the model was trained on vectors of {expected}: they cannot be compared; \
         encode them with {expected}, or migrate the model"
    )]
    Other {
        /// That of the model.
        expected: Encoder,
        /// That of the vectors.
        given: Encoder,
    },
    /// The model was trained without saying it.
    #[error(
        "the vectors are of the encoder {given}, and the model does not say which one it was trained on; train it with its encoder named"
    )]
    NotNamed {
        /// That of the vectors.
        given: Encoder,
    },
}

/// The encoder of a model, with what its vectors have in common.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Known {
    pub(crate) encoder: Encoder,
    /// `None` where there were too few rows.
    pub(crate) fingerprint: Option<Arc<Fingerprint>>,
}

/// # Look inside
impl Evm {
    /// The encoder of the vectors that the model was trained on, where it was named.
    pub fn encoder(&self) -> Option<&Encoder> {
        self.ledger.encoder.as_ref().map(|known| &known.encoder)
    }

    /// Keeps the encoder of the training rows and their fingerprint: what vectors of that encoder have in common. A hundred rows are
    /// needed for it, of several classes to tell content from encoder.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params};
    /// let features = Features::new((0..600).map(|i| (i * 37 % 101) as f32 + 100.0).collect::<Vec<f32>>(), 4)?;
    /// let labels = Labels::new((0..150).map(|row| ["a", "b", "c"][row % 3]))?;
    /// let (mut evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
    /// evm.set_encoder("counter@1".parse()?, &features, &labels);
    /// assert_eq!(evm.check_encoder(&"counter".parse()?), Ok(()));
    /// assert!(evm.check_encoder(&"counter@2".parse()?).is_err());
    /// assert_eq!(evm.encoder_doubt(&features), None);
    /// let other = Features::new(features.values().iter().map(|value| value - 150.0).collect::<Vec<f32>>(), 4)?;
    /// assert!(evm.encoder_doubt(&other).is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_encoder(&mut self, encoder: Encoder, features: &Features<'_>, labels: &Labels) {
        let fits = features.columns() == self.machine.dimensions && features.rows() == labels.len();
        let fingerprint = if fits { Fingerprint::of(features, labels) } else { None };
        self.ledger.encoder = Some(Known { encoder, fingerprint: fingerprint.map(Arc::new) });
    }

    /// Refuses vectors of an encoder that has another name than that of the model, or another version where both have one.
    pub fn check_encoder(&self, given: &Encoder) -> Result<(), EncoderError> {
        match self.encoder() {
            None => Err(EncoderError::NotNamed { given: given.clone() }),
            Some(expected) if !expected.is(given) => {
                Err(EncoderError::Other { expected: expected.clone(), given: given.clone() })
            }
            Some(_) => Ok(()),
        }
    }

    /// What about vectors is unlike those of the model's encoder; `None` where they are like them, are fewer than 20, or the model
    /// has no fingerprint. Says nothing of whether they are of known classes.
    pub fn encoder_doubt(&self, features: &Features<'_>) -> Option<EncoderDoubt> {
        self.ledger.encoder.as_ref()?.fingerprint.as_ref()?.doubt(features)
    }
}
