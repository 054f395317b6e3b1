//! What a fit or an update did.

use std::fmt;
use std::time::Duration;

use crate::params::TailMemory;
use crate::psi::{FitStatus, PsiModel};
use crate::tail::Plan;

/// What a fit or an update did. A fit is an update of an empty model: all of its classes are new.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Rows learned from.
    pub rows: usize,
    /// Classes that the model did not have before.
    pub new_classes: Vec<String>,
    /// Classes in the model now.
    pub classes: usize,
    /// Smallest and largest tail size of the classes that got data.
    pub tail_sizes: (usize, usize),
    /// Classes whose tail size exceeds the number of their negatives and was clipped to it.
    pub clipped: Vec<String>,
    /// How the fits of the new rows went.
    pub fits: StatusCounts,
    /// Extreme vectors from before whose Psi-model was fitted again.
    pub refitted: usize,
    /// New rows that became extreme vectors.
    pub added: usize,
    /// Extreme vectors from before that were dropped.
    pub dropped: usize,
    /// Extreme vectors in the model now.
    pub extreme_vectors: usize,
    /// Extreme vectors by all rows ever learned from: the paper's vector ratio.
    pub vector_ratio: f64,
    /// What the model remembers of tails; less than was asked for where the limit did not allow it.
    pub tail_memory: TailMemory,
    /// Rows held out for a while, to choose and to calibrate on; 0 where nothing asked for it.
    pub held_out: usize,
    /// The penalty that a fit chose for its probe.
    pub probe_penalty: Option<f64>,
    /// What a fit chose as the shares of features, logits and probe in a decision ([`Evm::shares`](crate::Evm::shares)).
    pub shares: Option<[f64; 3]>,
    /// Why the parameters should be chosen anew, if they should.
    pub tune_again: Option<TuneAgain>,
    /// How tails were made: those between the new rows and extreme vectors where there were any, then those of the new rows.
    pub plans: Vec<Plan>,
    /// Where the time went.
    pub times: StageTimes,
}

/// Why parameters that were chosen on a smaller model may not fit any more.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum TuneAgain {
    /// There are twice as many classes as when the model was fitted, or more.
    ClassesGrew {
        /// Classes then.
        from: usize,
        /// Classes now.
        to: usize,
    },
    /// Held-out rows are named right less often, by three points or more.
    AccuracyFell {
        /// Share of them then.
        from: f64,
        /// Share of them now.
        to: f64,
    },
}

impl fmt::Display for TuneAgain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TuneAgain::ClassesGrew { from, to } => {
                write!(formatter, "the model was fitted with {from} classes and has {to} now")
            }
            TuneAgain::AccuracyFell { from, to } => write!(
                formatter,
                "{:.1} % of held-out rows were named right when the model was fitted, {:.1} % are now",
                100.0 * from,
                100.0 * to
            ),
        }
    }
}

/// Wall-clock time of each stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StageTimes {
    /// The matrix of the first batch, and the new rows whitened with it.
    pub whitening: Duration,
    /// Moving points towards their neighbours.
    pub smoothing: Duration,
    /// Distances, tails and fits of the new rows.
    pub tails: Duration,
    /// Old extreme vectors against the new rows.
    pub refit: Duration,
    /// Choosing extreme vectors.
    pub cover: Duration,
    /// Rows held out, the trial without them, probe, witnesses and threshold.
    pub calibration: Duration,
}

/// How many fits ended in each [`FitStatus`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatusCounts([usize; FitStatus::ALL.len()]);

impl StatusCounts {
    /// Number of fits with that status.
    pub fn get(&self, status: FitStatus) -> usize {
        self.0[status as usize]
    }

    /// The statuses that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (FitStatus, usize)> + '_ {
        FitStatus::ALL.into_iter().map(|status| (status, self.get(status))).filter(|(_, count)| *count > 0)
    }
}

impl<'a> FromIterator<&'a PsiModel> for StatusCounts {
    fn from_iter<I: IntoIterator<Item = &'a PsiModel>>(models: I) -> Self {
        let mut counts = Self::default();
        for model in models {
            counts.0[model.status as usize] += 1;
        }
        counts
    }
}

impl fmt::Display for StatusCounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (status, count)) in self.iter().enumerate() {
            let comma = if position > 0 { ", " } else { "" };
            write!(formatter, "{comma}{count} {}", status.describe())?;
        }
        Ok(())
    }
}
