//! Named sets of parameters to start from.

use serde_json::{Map, Value};

use super::Params;
use crate::error::ParamsError;
use evmachine_engine::metric::Metric;

/// Where parameters start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Preset {
    /// [`Params::robust_for`] the metric: what is recommended.
    #[default]
    Robust,
    /// [`Params::plain`].
    Plain,
    /// [`Params::paper`].
    Paper,
}

impl Preset {
    /// All presets.
    pub const ALL: [Preset; 3] = [Preset::Robust, Preset::Plain, Preset::Paper];

    /// Its name in every front end.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Robust => "robust",
            Preset::Plain => "plain",
            Preset::Paper => "paper",
        }
    }

    /// The preset of that name.
    ///
    /// ```
    /// use evmachine::Preset;
    ///
    /// assert_eq!(Preset::from_name("robust"), Some(Preset::default()));
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// Its parameters for a metric.
    pub fn params(self, metric: Metric) -> Params {
        match self {
            Preset::Robust => Params::robust_for(metric),
            Preset::Plain => Params { metric, ..Params::plain() },
            Preset::Paper => Params { metric, ..Params::paper() },
        }
    }

    /// Its parameters for the metric among the values, with the other values in place of its own, as [`Params::with`] takes them.
    ///
    /// ```
    /// use evmachine::{Metric, Params, Preset};
    ///
    /// let values = serde_json::json!({"metric": "cosine", "confidence": 0.95});
    /// let params = Preset::Robust.with(values.as_object().cloned().unwrap_or_default())?;
    /// assert_eq!(params, Params { confidence: 0.95, ..Params::robust_for(Metric::Cosine) });
    /// # Ok::<(), evmachine::ParamsError>(())
    /// ```
    pub fn with(self, values: Map<String, Value>) -> Result<Params, ParamsError> {
        let metric = values.get("metric").and_then(Value::as_str).and_then(Metric::from_name);
        self.params(metric.unwrap_or(Metric::Euclidean)).with(values)
    }
}
