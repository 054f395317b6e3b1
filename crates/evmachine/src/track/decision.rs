//! A track as its rows come, and what is said of it.

use serde::{Deserialize, Serialize};

use crate::error::RunError;
use crate::machine::score::ClassScore;
use crate::model::Evm;
use crate::track::rule::{TrackError, TrackRule, members};
use evmachine_engine::features::Features;
use evmachine_engine::psi::curve::ln_psi;
use evmachine_engine::run::Run;

/// Rows that are scored at once.
const TOGETHER: usize = 4096;

/// The rows of a track so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// By class, the sum of supports.
    sums: Vec<f64>,
    /// By row, the class that it alone was recognised as.
    said: Vec<Option<usize>>,
    p_values: Vec<f64>,
    /// The row at which it was sure, from 1, and of what.
    pub(crate) sure: Option<(usize, Option<usize>)>,
}

impl Track {
    pub(crate) fn new(classes: usize) -> Self {
        Self { sums: vec![0.0; classes], said: Vec::new(), p_values: Vec::new(), sure: None }
    }

    pub(crate) fn add(&mut self, supports: &[f64], said: Option<usize>, p_value: Option<f64>) {
        self.sums.iter_mut().zip(supports).for_each(|(sum, support)| *sum += support);
        self.said.push(said);
        self.p_values.extend(p_value);
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.said.len()
    }

    pub(crate) fn means(&self, evm: &Evm) -> Vec<ClassScore> {
        let rows = self.rows().max(1) as f64;
        let score = |sum: &f64| {
            let support = sum / rows;
            ClassScore { ln_probability: ln_psi(evm.params().tail_model, support), support }
        };
        self.sums.iter().map(score).collect()
    }

    /// The p-value of the row in the middle, from below, times rows by its rank: one whatever the dependence of rows.
    pub(crate) fn half_p_value(&self) -> Option<f64> {
        let (count, middle) = (self.p_values.len(), self.p_values.len().div_ceil(2));
        let mut sorted = self.p_values.clone();
        sorted.sort_by(f64::total_cmp);
        let at = sorted.get(middle.checked_sub(1)?)?;
        Some((at * count as f64 / middle as f64).min(1.0))
    }
}

/// What is said of a track.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrackDecision {
    /// The class, by position in [`Evm::classes`]; `None` is unknown.
    pub class: Option<usize>,
    /// The class of highest mean support, known or not.
    pub best: usize,
    /// How far that mean lies above the threshold for rows. The rule decides, and not its sign.
    pub support: f64,
    /// The share of known tracks that score no higher, or a bound on it that holds whatever the dependence of rows; `None` without calibration.
    pub p_value: Option<f64>,
    /// Rows of the track.
    pub rows: usize,
    /// The row at which it was sure, from 1; `None` if it was decided at its end.
    pub sure_at: Option<usize>,
    /// Rows that by themselves are said to be of another class, or known where the track is unknown and the other way round; from 0.
    pub disagree: Vec<usize>,
}

/// # Ask
impl Evm {
    /// What is said of a track as far as it has come.
    pub fn track_decision(&self, rule: &TrackRule, track: &Track) -> TrackDecision {
        let now = self.decision(&track.means(self));
        let (sure_at, class) = match track.sure {
            Some((row, class)) => (Some(row), class),
            None => (None, rule.accepts_end(self, track).then_some(now.best())),
        };
        let disagree = (0..track.rows()).filter(|&row| track.said[row] != class);
        TrackDecision {
            class,
            best: class.unwrap_or(now.best()),
            support: now.support(),
            p_value: rule.p_value(self, track),
            rows: track.rows(),
            sure_at,
            disagree: disagree.collect(),
        }
    }

    /// Decides for tracks: `tracks` names the track of each query. They are answered in the order in which they first come, with the rows of
    /// each; `disagree` counts rows within the track.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params, TrackRule};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// # let (evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
    /// let tracks = ["left", "right", "left", "left"].map(str::to_owned);
    /// let queries = Features::new(vec![0.05, 5.15, 0.15, 5.0], 1)?;
    /// let decided = evm.decide_tracks(&TrackRule::of(&evm), &queries, &tracks)?;
    /// assert_eq!(decided[0].0, "left");
    /// assert_eq!(decided[0].1.class.map(|class| evm.class_name(class)), Some("low"));
    /// assert_eq!(decided[0].1.disagree, [2], "its third row");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decide_tracks(
        &self,
        rule: &TrackRule,
        queries: &Features<'_>,
        tracks: &[String],
    ) -> Result<Vec<(String, TrackDecision)>, TrackError> {
        self.decide_tracks_with(&Run::new(), rule, queries, tracks)
    }

    /// As [`decide_tracks`](Self::decide_tracks), watched and sized by `run`.
    pub fn decide_tracks_with(
        &self,
        run: &Run<'_>,
        rule: &TrackRule,
        queries: &Features<'_>,
        tracks: &[String],
    ) -> Result<Vec<(String, TrackDecision)>, TrackError> {
        if queries.rows() != tracks.len() {
            return Err(TrackError::Count { rows: queries.rows(), tracks: tracks.len() });
        }
        let members = members(tracks);
        let mut places = vec![0; tracks.len()];
        for (place, (_, rows)) in members.iter().enumerate() {
            for &row in rows {
                places[row] = place;
            }
        }
        let mut decided = vec![rule.begin(self); members.len()];
        for first in (0..queries.rows()).step_by(TOGETHER) {
            let part = queries.part(first..(first + TOGETHER).min(queries.rows()));
            let scores = self.map_queries_with(run, &part, |_, scores| scores.to_vec());
            let scores = scores.map_err(|error| match error {
                RunError::Features(error) => RunError::Features(error.map_row(|row| first + row)),
                other => other,
            })?;
            for (row, scores) in scores.iter().enumerate() {
                rule.take(self, &mut decided[places[first + row]], scores);
            }
        }
        let named = members.into_iter().zip(&decided);
        Ok(named.map(|((name, _), track)| (name.to_owned(), self.track_decision(rule, track))).collect())
    }
}
