//! The seam at which another device takes over what costs most: tails with their fits, covers, supports, and the spaces and probes
//! that come before them.
//!
//! A [`Device`] has vectors written, ready for the metric, where it can take them from, and gives back what the processor would
//! have found, but for the rounding of distances. It is handed to a call by [`Run::device`](crate::Run::device).

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use thiserror::Error;

use crate::metric::Metric;
pub use crate::psi::FitRule;
pub use crate::psi::curve::CurveValues;
use crate::psi::{PsiModel, TailModel};

/// Something other than the processor that can do the heavy work of a call.
///
/// Each call blocks until its results are in memory, and gives the same bytes whenever it is repeated on one device.
pub trait Device: Send + Sync {
    /// What people call it, as `NVIDIA H200 (cuda:0)`.
    fn name(&self) -> &str;

    /// Whether it does work of this kind at all; unless it says otherwise, tails, covers and supports.
    fn does(&self, kind: WorkKind) -> bool {
        matches!(kind, WorkKind::Tails | WorkKind::Covers | WorkKind::Supports)
    }

    /// Whether work of so many multiplications is worth sending.
    fn takes(&self, multiplications: u64) -> bool;

    /// Whether the processor is to do what the device has failed to do. It is asked once for each failure, and need not take
    /// anything afterwards.
    fn gives_way(&self, error: &DeviceError) -> bool {
        let _ = error;
        false
    }

    /// The smallest distances of each row to columns of other classes, fitted or as they are.
    fn tails(&self, work: &TailWork<'_>) -> Result<Tails, DeviceError>;

    /// The greedy set cover of each class, by position and gain in the order of choice; ties go to the first.
    fn covers(&self, work: &CoverWork<'_>) -> Result<Vec<Vec<(u32, u32)>>, DeviceError> {
        let _ = work;
        Err(self.not_asked())
    }

    /// The sum of `(x - m)(x - m)^T` over vectors x, where m is the mean of the class: `dimensions x dimensions`, symmetric.
    fn scatter(&self, work: &ScatterWork<'_>) -> Result<Vec<f64>, DeviceError> {
        let _ = work;
        Err(self.not_asked())
    }

    /// Writes `W x` of each vector x to `out`, one after the other.
    fn transform(&self, work: &TransformWork<'_>, out: &mut [f32]) -> Result<(), DeviceError> {
        let _ = (work, out);
        Err(self.not_asked())
    }

    /// The vectors of each class that move, moved towards their nearest, handed to `deliver` class by class, in order.
    fn smooth(&self, work: &SmoothingWork<'_>, deliver: &mut DeliverMoved<'_>) -> Result<(), DeviceError> {
        let _ = (work, deliver);
        Err(self.not_asked())
    }

    /// The loss of a linear probe over rows, which stay on the device while it lives.
    fn loss<'a>(&'a self, work: &LossWork<'_>) -> Result<Box<dyn Loss + 'a>, DeviceError> {
        let _ = work;
        Err(self.not_asked())
    }

    /// The largest supports of queries, handed to `deliver` in parts, in order. Without any queries, the model is made ready for the
    /// next call.
    fn supports(&self, work: &SupportWork<'_>, deliver: &mut Deliver<'_>) -> Result<(), DeviceError> {
        let _ = (work, deliver);
        Err(self.not_asked())
    }

    /// That it does no work of some kind.
    fn not_asked(&self) -> DeviceError {
        DeviceError::NotAsked { device: self.name().to_owned() }
    }
}

/// What a device may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkKind {
    /// [`Device::tails`]
    Tails,
    /// [`Device::covers`]
    Covers,
    /// [`Device::supports`]
    Supports,
    /// [`Device::scatter`] and [`Device::transform`]
    Whitening,
    /// [`Device::smooth`]
    Smoothing,
    /// [`Device::loss`]
    Probe,
}

impl fmt::Debug for dyn Device + '_ {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Device").field(&self.name()).finish()
    }
}

/// What the device found, or nothing where it failed and gives way.
pub fn unless_given_way<T>(
    device: &dyn Device,
    found: Result<T, DeviceError>,
) -> Result<Option<T>, DeviceError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error != DeviceError::Stopped && device.gives_way(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Hears how many units of the work are finished, and may stop it.
pub type Watch<'a> = dyn Fn(usize) -> ControlFlow<()> + Sync + 'a;

/// Takes the supports of the next queries.
pub type Deliver<'a> = dyn FnMut(&Supports) -> Result<(), DeviceError> + 'a;

/// Vectors that are made ready for the metric, of unit length for cosine, on their way to a device. No copy of all of them is
/// made in between.
pub trait Source: Send + Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// Writes the vectors from the first given one on, one after the other, as many as there is room for.
    fn write(&self, first: usize, out: &mut [f32]);

    /// All of them, of so many dimensions.
    fn to_vec(&self, dimensions: usize) -> Vec<f32> {
        let mut values = vec![0.0; self.count() * dimensions];
        self.write(0, &mut values);
        values
    }
}

/// Some vectors of a source, one after the other.
pub struct Part<'a> {
    /// All of them.
    pub source: &'a dyn Source,
    /// Which.
    pub range: Range<usize>,
}

impl Source for Part<'_> {
    fn count(&self) -> usize {
        self.range.len()
    }

    fn write(&self, first: usize, out: &mut [f32]) {
        self.source.write(self.range.start + first, out);
    }
}

/// Vectors, and the class of each.
#[derive(Clone, Copy)]
pub struct Vectors<'a> {
    /// The vectors.
    pub values: &'a dyn Source,
    /// As many as there are vectors; [`NO_CLASS`] is another class than all others.
    pub classes: &'a [u32],
}

/// Of vectors that belong to no class.
pub const NO_CLASS: u32 = u32::MAX;

/// Tails that are wanted.
pub struct TailWork<'a> {
    /// Not a custom one.
    pub metric: &'a Metric,
    /// Length of a vector.
    pub dimensions: usize,
    /// Whose tails are wanted.
    pub rows: Vectors<'a>,
    /// Whether they are measured against each other.
    pub among_themselves: bool,
    /// What else they are measured against, part after part.
    pub columns: &'a [Vectors<'a>],
    /// Values of a tail by class, not more than there are negatives.
    pub sizes: &'a [usize],
    /// By row, the largest distance of interest.
    pub bounds: Option<&'a [f32]>,
    /// How to fit, if tails are to be fitted.
    pub fit: Option<FitRule>,
    /// Whether tails are wanted as they are.
    pub keep: bool,
    /// Counts rows.
    pub watch: &'a Watch<'a>,
}

/// Tails that were found, by row.
#[derive(Debug, Clone, Default)]
pub struct Tails {
    /// Fits, where they were asked for; `None` for rows without a tail.
    pub psi: Vec<Option<PsiModel>>,
    /// Values of each tail.
    pub counts: Vec<u32>,
    /// The largest distance of each.
    pub largest: Vec<f32>,
    /// The tails, where they were asked for, one after the other; each sorted.
    pub values: Vec<f32>,
}

/// Covers that are wanted.
pub struct CoverWork<'a> {
    /// Not a custom one.
    pub metric: &'a Metric,
    /// Length of a vector.
    pub dimensions: usize,
    /// Each class by itself.
    pub classes: &'a [CoverClass<'a>],
    /// Counts classes.
    pub watch: &'a Watch<'a>,
}

/// Points of a class that are to cover each other.
#[derive(Clone)]
pub struct CoverClass<'a> {
    /// Those that may be chosen.
    pub points: &'a dyn Source,
    /// Those that are to be covered, where they lie elsewhere.
    pub targets: Option<&'a dyn Source>,
    /// By point, the largest distance that it covers; negative for none but itself.
    pub radii: Vec<f32>,
    /// By target, the distance from which on it is not covered.
    pub limits: Option<Vec<f32>>,
}

/// A scatter that is wanted.
pub struct ScatterWork<'a> {
    /// Length of a vector.
    pub dimensions: usize,
    /// What it is taken over.
    pub vectors: Vectors<'a>,
    /// By class, the mean of its vectors.
    pub means: &'a [f64],
    /// Counts vectors.
    pub watch: &'a Watch<'a>,
}

/// Vectors that are to be multiplied by a matrix.
pub struct TransformWork<'a> {
    /// Length of a vector, before and after.
    pub dimensions: usize,
    /// The vectors.
    pub vectors: &'a dyn Source,
    /// W, column after column.
    pub matrix: &'a [f64],
    /// Values from one column to the next, at least the dimensions.
    pub stride: usize,
}

/// Vectors that are to move the given part of the way to the mean of their nearest.
pub struct SmoothingWork<'a> {
    /// Not a custom one.
    pub metric: &'a Metric,
    /// Length of a vector.
    pub dimensions: usize,
    /// Part of the way, in (0, 1].
    pub fraction: f64,
    /// How many the mean is of, itself included: the nearest of the class, ties to the first.
    pub neighbors: usize,
    /// Each class by itself.
    pub classes: &'a [SmoothingClass<'a>],
    /// Counts vectors that moved.
    pub watch: &'a Watch<'a>,
}

/// A class that is smoothed.
pub struct SmoothingClass<'a> {
    /// Its vectors.
    pub points: &'a dyn Source,
    /// So many at the beginning are neighbours and do not move.
    pub staying: usize,
}

/// Takes the moved vectors of the next class.
pub type DeliverMoved<'a> = dyn FnMut(&[f32]) -> Result<(), DeviceError> + 'a;

/// Rows that a probe learns from.
pub struct LossWork<'a> {
    /// Length of a row.
    pub dimensions: usize,
    /// Standardised rows.
    pub rows: &'a dyn Source,
    /// Class of each row.
    pub classes: &'a [u32],
    /// What each row counts; they add up to 1.
    pub shares: &'a [f64],
    /// Number of classes.
    pub class_count: usize,
    /// Values from the coefficients of one dimension to those of the next, at least the classes.
    pub width: usize,
}

/// The mean cross-entropy of the rows of a [`LossWork`].
pub trait Loss: Send + Sync {
    /// The loss at the coefficients, and its slopes. Both are `(1 + dimensions) x width`, intercepts first; where there is no class,
    /// slopes are 0.
    fn evaluate(&self, coefficients: &[f64], slopes: &mut [f64]) -> Result<f64, DeviceError>;
}

/// Supports that are wanted.
pub struct SupportWork<'a> {
    /// Not a custom one.
    pub metric: &'a Metric,
    /// Length of a vector.
    pub dimensions: usize,
    /// Queries.
    pub queries: &'a dyn Source,
    /// What supports them.
    pub model: &'a Arc<SupportModel>,
    /// The k largest of each class, or, where there is none, the one largest of all.
    pub fused: Option<usize>,
    /// Counts queries.
    pub watch: &'a Watch<'a>,
}

/// Extreme vectors and their curves. They never change: what a device makes of them holds for as long as the [`Arc`] lives, and
/// [`Weak`](std::sync::Weak) tells whether it does.
pub struct SupportModel {
    /// Extreme vectors, class after class.
    pub vectors: Arc<dyn Source>,
    /// The curve of each.
    pub curves: Vec<CurveValues>,
    /// Which kind of curve.
    pub tail_model: TailModel,
    /// By class, its extreme vectors.
    pub classes: Vec<Range<usize>>,
}

/// Supports that were found for some queries.
#[derive(Debug, Clone)]
pub struct Supports {
    /// k values of each class of each query, from the largest down; or one value of each query.
    pub values: Vec<f64>,
    /// Where the one value of each query was found.
    pub places: Vec<u32>,
    /// The distance of each query to its nearest extreme vector.
    pub nearest: Vec<f32>,
}

/// A device did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The work does not fit its memory.
    #[error(
        "{device} has not the memory for it: {wanted} bytes were wanted, {free} are free; free some, or use the processor"
    )]
    Memory {
        /// Its name.
        device: String,
        /// Bytes.
        wanted: u64,
        /// Bytes.
        free: u64,
    },
    /// It failed, or is gone.
    #[error("{device} failed: {reason}")]
    Failed {
        /// Its name.
        device: String,
        /// What its driver says.
        reason: String,
    },
    /// It does no work of that kind.
    #[error("{device} does no work of that kind")]
    NotAsked {
        /// Its name.
        device: String,
    },
    /// Whoever watches ended it.
    #[error("stopped")]
    Stopped,
}
