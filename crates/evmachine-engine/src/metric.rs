//! How far apart two vectors are: Euclidean, cosine, Manhattan, or the user's own function.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// A user's own distance.
///
/// It must be symmetric, 0 from a vector to itself, and finite and not negative for all pairs; the last two are
/// checked wherever it is called, and a violation ends the call with a [`MetricError`].
///
/// ```
/// use std::sync::Arc;
/// use evmachine::{Distance, Metric};
///
/// #[derive(Debug)]
/// struct Chebyshev;
///
/// impl Distance for Chebyshev {
///     fn name(&self) -> &str {
///         "chebyshev"
///     }
///     fn distance(&self, a: &[f32], b: &[f32]) -> f32 {
///         a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
///     }
/// }
///
/// let metric = Metric::custom(Chebyshev);
/// assert_eq!(metric.name(), "custom:chebyshev");
/// ```
pub trait Distance: fmt::Debug + Send + Sync {
    /// The name under which a model file remembers the metric.
    fn name(&self) -> &str;
    /// The distance between two vectors of one length.
    fn distance(&self, a: &[f32], b: &[f32]) -> f32;
}

/// The distance that margins are measured in.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Metric {
    /// `||a - b||`, the square root of the summed squares.
    #[default]
    Euclidean,
    /// `1 - cos(a, b)`, in [0, 2]. All-zero vectors are an error.
    Cosine,
    /// The sum of `|a_i - b_i|`.
    Manhattan,
    /// The user's own, evaluated pair by pair.
    Custom(Arc<dyn Distance>),
}

impl Metric {
    /// Wraps a user's own distance.
    pub fn custom(distance: impl Distance + 'static) -> Self {
        Metric::Custom(Arc::new(distance))
    }

    /// `euclidean`, `cosine`, `manhattan`, or `custom:` and the user's name.
    pub fn name(&self) -> String {
        match self {
            Metric::Euclidean => "euclidean".to_owned(),
            Metric::Cosine => "cosine".to_owned(),
            Metric::Manhattan => "manhattan".to_owned(),
            Metric::Custom(distance) => format!("custom:{}", distance.name()),
        }
    }

    /// The built-in metric of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "euclidean" => Some(Metric::Euclidean),
            "cosine" => Some(Metric::Cosine),
            "manhattan" => Some(Metric::Manhattan),
            _ => None,
        }
    }

    /// The distance that a rank stands for. Ranks order pairs like distances do and are cheaper to compute:
    /// squared for Euclidean, the distance itself for the others.
    pub fn distance_of_rank(&self, rank: f32) -> f32 {
        match self {
            Metric::Euclidean => rank.sqrt(),
            _ => rank,
        }
    }

    /// Whether it comes from a scalar product, so that features can be whitened for it: Euclidean and cosine.
    pub fn is_linear(&self) -> bool {
        matches!(self, Metric::Euclidean | Metric::Cosine)
    }

    /// Whether a rank is the square of its distance, and not the distance itself.
    pub fn ranks_are_squares(&self) -> bool {
        matches!(self, Metric::Euclidean)
    }

    /// The largest rank whose distance is at most `radius`; negative where there is none.
    pub fn largest_rank_within(&self, radius: f32) -> f32 {
        if radius < 0.0 {
            return -1.0;
        }
        let Metric::Euclidean = self else { return radius };
        let mut rank = radius * radius;
        if rank == f32::INFINITY {
            return rank;
        }
        while rank.next_up().sqrt() <= radius {
            rank = rank.next_up();
        }
        while rank.sqrt() > radius {
            rank = rank.next_down();
        }
        rank
    }
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Metric::Custom(own), Metric::Custom(other)) => own.name() == other.name(),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// A user's own metric gave a value that is no distance.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("the metric {name:?} gave {value}; a distance must be finite and not negative")]
pub struct MetricError {
    /// Name of the metric.
    pub name: String,
    /// The value it gave.
    pub value: f32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_bounds_are_exact() {
        for radius in [0.0, 1e-20, 0.3, 1.0, 1.5, 2.0_f32.sqrt(), 1e10] {
            let rank = Metric::Euclidean.largest_rank_within(radius);
            assert!(rank.sqrt() <= radius, "{radius}");
            assert!(rank.next_up().sqrt() > radius, "{radius}");
        }
        assert!(Metric::Cosine.largest_rank_within(-0.5) < 0.0);
        assert_eq!(Metric::Euclidean.largest_rank_within(f32::INFINITY), f32::INFINITY);
    }
}
