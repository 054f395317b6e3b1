//! What ends an experiment.

use std::path::{Path, PathBuf};

use evmachine::tuning::DeriveError;
use evmachine::{FeatureError, FitError, LabelError, ReduceError};
use evmachine_baselines::SystemError;
use evmachine_eval::TuneError;
use evmachine_plot::PlotError;
use thiserror::Error;

/// An experiment that did not come to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReproError {
    /// A system failed.
    #[error(transparent)]
    System(#[from] SystemError),
    /// A model could not be reduced.
    #[error(transparent)]
    Reduce(#[from] ReduceError),
    /// Tuning failed.
    #[error(transparent)]
    Tune(TuneError),
    /// A model could not be derived from the distances of another.
    #[error(transparent)]
    Derive(#[from] DeriveError),
    /// A picture could not be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// Labels that are none.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// Features that are none.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A log that this experiment did not write.
    #[error("{}: {detail}; remove it, or give another folder", path.display())]
    Log {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The folder holds a run with other settings.
    #[error("{} holds a run with other settings; remove it, or give another folder", path.display())]
    Settings {
        /// The folder.
        path: PathBuf,
    },
    /// The data does not allow the protocol.
    #[error("{classes} classes are too few: {needed} are needed")]
    TooFewClasses {
        /// Classes in the data.
        classes: usize,
        /// Classes that the protocol needs.
        needed: usize,
    },
    /// A metric that nobody knows.
    #[error("{name} is no metric; give one of euclidean, cosine, manhattan")]
    UnknownMetric {
        /// What was given.
        name: String,
    },
    /// Stopped, as asked; what was finished is in the log.
    #[error("stopped, as asked; run the same command again to go on from there")]
    Stopped,
}

impl ReproError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |source| Self::File { path: path.to_owned(), source }
    }
}

impl From<FitError> for ReproError {
    fn from(error: FitError) -> Self {
        Self::System(error.into())
    }
}

impl From<TuneError> for ReproError {
    fn from(error: TuneError) -> Self {
        if error == TuneError::Stopped { Self::Stopped } else { Self::Tune(error) }
    }
}
