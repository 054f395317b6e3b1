//! What all systems can do.

use evmachine::{Features, Labels};

use crate::error::SystemError;
use crate::scores::Scores;

/// An open-set classifier: learns, scores each class for a query, and rejects what scores too low.
///
/// ```
/// use evmachine::{Features, Labels, Metric};
/// use evmachine_baselines::{NearestThreshold, System};
///
/// let features = Features::new(vec![0.0, 0.1, 5.0, 5.1], 1)?;
/// let labels = Labels::new(["low", "low", "high", "high"])?;
/// let mut system = NearestThreshold::new(Metric::Euclidean, 1).with_threshold(-1.0);
/// system.fit(&features, &labels)?;
/// let scores = system.scores(&Features::new(vec![0.2, 9.0], 1)?)?;
/// assert_eq!(scores.decide(0, system.threshold()), Some(0));
/// assert_eq!(scores.decide(1, system.threshold()), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait System: Send + Sync {
    /// Its name in tables.
    fn name(&self) -> String;

    /// Learns, and forgets what was learned before.
    fn fit(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError>;

    /// Learns more points, of known or new classes, where the system can.
    fn update(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        let _ = (features, labels);
        Err(SystemError::NotIncremental { system: self.name() })
    }

    /// The classes learned so far, in the order of the scores.
    fn classes(&self) -> &[String];

    /// For each query, a score for each class; higher is more certain. The decision is the class of the highest
    /// score, or unknown where that is below a threshold.
    fn scores(&self, queries: &Features<'_>) -> Result<Scores, SystemError>;

    /// The system's own threshold.
    fn threshold(&self) -> f64;

    /// The score at which the system's probability is `delta`; `None` where scores are no probabilities.
    fn threshold_at(&self, delta: f64) -> Option<f64> {
        let _ = delta;
        None
    }

    /// Vectors kept for decisions: extreme vectors, support vectors (once for each machine that holds them),
    /// kernels, means, or all points. Divided by the points learned, this is the paper's vector ratio.
    fn vectors(&self) -> usize;
}

/// The threshold for scores that are probabilities. At 0 everything is accepted, what scores below 0 to be told apart too.
pub(crate) fn at_probability(delta: f64) -> f64 {
    if delta > 0.0 { delta } else { f64::NEG_INFINITY }
}

impl System for Box<dyn System> {
    fn name(&self) -> String {
        self.as_ref().name()
    }

    fn fit(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        self.as_mut().fit(features, labels)
    }

    fn update(&mut self, features: &Features<'_>, labels: &Labels) -> Result<(), SystemError> {
        self.as_mut().update(features, labels)
    }

    fn classes(&self) -> &[String] {
        self.as_ref().classes()
    }

    fn scores(&self, queries: &Features<'_>) -> Result<Scores, SystemError> {
        self.as_ref().scores(queries)
    }

    fn threshold(&self) -> f64 {
        self.as_ref().threshold()
    }

    fn threshold_at(&self, delta: f64) -> Option<f64> {
        self.as_ref().threshold_at(delta)
    }

    fn vectors(&self) -> usize {
        self.as_ref().vectors()
    }
}
