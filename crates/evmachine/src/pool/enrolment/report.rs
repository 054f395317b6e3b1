//! What was held back, and why.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::input::labels::Labels;
use crate::pool::SampleId;
use evmachine_engine::features::Features;

/// Why a sample is held back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[non_exhaustive]
pub enum HeldReason {
    /// Its quality is below the least.
    LowQuality {
        /// What it is.
        quality: f64,
        /// The least that the rule asks for.
        least: f64,
    },
    /// A quality is asked for, and it has none.
    NoQuality {
        /// The least that the rule asks for.
        least: f64,
    },
    /// Under the cosine, it is too short to have a direction.
    NearZero {
        /// Its length.
        norm: f64,
        /// The least length: a hundredth of the median length of the rows that the model keeps as they came, or, if it keeps none, of the
        /// samples that were judged with it.
        least: f64,
    },
    /// The system named it by itself, and no person has confirmed that.
    Quarantined,
    /// Its name is no class yet, and has too few samples.
    FewSamples {
        /// Samples of the name that nothing else holds back.
        samples: usize,
        /// How many the rule asks for.
        least: usize,
    },
    /// Its name is no class yet, and its samples come from too few occasions.
    FewOccasions {
        /// The occasions.
        occasions: usize,
        /// How many the rule asks for.
        least: usize,
    },
    /// Its class would move too far at once, and it is one of those farthest from the centre.
    Moved {
        /// How far all samples of the class together would move it ([`EnrolmentRule::most_moved`](super::EnrolmentRule::most_moved)).
        moved: f64,
        /// How far it may move.
        most: f64,
    },
}

impl HeldReason {
    /// Its name, as in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::LowQuality { .. } => "low_quality",
            Self::NoQuality { .. } => "no_quality",
            Self::NearZero { .. } => "near_zero",
            Self::Quarantined => "quarantined",
            Self::FewSamples { .. } => "few_samples",
            Self::FewOccasions { .. } => "few_occasions",
            Self::Moved { .. } => "moved",
        }
    }

    /// How many samples are held back for which reason, in words: `2 few_samples, 1 low_quality`.
    pub fn summary<'a>(reasons: impl IntoIterator<Item = &'a Self>) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for reason in reasons {
            *counts.entry(reason.name()).or_default() += 1;
        }
        let counted: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
        counted.join(", ")
    }
}

impl fmt::Display for HeldReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LowQuality { quality, least } => {
                write!(formatter, "its quality is {quality}, and the rule asks for {least}")
            }
            Self::NoQuality { least } => {
                write!(formatter, "its quality is not known, and the rule asks for {least}")
            }
            Self::NearZero { norm, least } => {
                write!(
                    formatter,
                    "its length is {norm:.3e}; below {least:.3e} a vector has no direction to compare"
                )
            }
            Self::Quarantined => formatter.write_str("the system named it, and no person has confirmed that"),
            Self::FewSamples { samples, least } => {
                write!(formatter, "{samples} of the {least} samples that a new class needs")
            }
            Self::FewOccasions { occasions, least } => {
                write!(formatter, "{occasions} of the {least} occasions that a new class needs")
            }
            Self::Moved { moved, most } => {
                write!(
                    formatter,
                    "all of them would move the class by {moved:.3} widths, and {most} is allowed"
                )
            }
        }
    }
}

/// A sample that is held back.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HeldBack<Id = SampleId> {
    /// The sample.
    pub sample: Id,
    /// What it was named.
    pub class: String,
    /// Why.
    #[serde(flatten)]
    pub reason: HeldReason,
}

impl<Id> HeldBack<Id> {
    /// A sample by its number, what it was named, and why it is held back.
    pub fn new(sample: Id, class: String, reason: HeldReason) -> Self {
        Self { sample, class, reason }
    }
}

/// Samples that may be learned, as a batch for [`Evm::update`](crate::Evm::update), and those that may not yet.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Enrolled {
    /// The samples, in the order of the rows.
    pub samples: Vec<SampleId>,
    /// The vectors.
    pub features: Features<'static>,
    /// Their labels.
    pub labels: Labels,
    /// Those that stay in the pool.
    pub held_back: Vec<HeldBack>,
}
