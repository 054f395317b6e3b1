//! When a track is known, when it is unknown, and when more rows would not change that.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::error::{RunError, percent};
use crate::heldout::conformal;
use crate::input::labels::Labels;
use crate::machine::score::ClassScore;
use crate::model::Evm;
use crate::params::rejection::Rejection;
use crate::track::decision::Track;
use evmachine_engine::features::Features;
use evmachine_engine::run::Run;

/// Of the rate, this part is for known tracks that are called unknown before their end.
const EARLY: f64 = 0.2;
/// The share of tracks without their own class that may be called known before their end. An estimate.
const STRANGERS: f64 = 0.01;

/// Tracks that a rule cannot be set on, or decided by.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum TrackError {
    /// As many track names as rows are needed.
    #[error("{rows} rows but {tracks} names of tracks; there must be one for each row")]
    Count {
        /// Rows given.
        rows: usize,
        /// Names given.
        tracks: usize,
    },
    /// Rows of a calibrating track have two classes.
    #[error(
        "the calibrating track {track:?} has rows of class {one:?} and of class {other:?}; a track is of one class"
    )]
    Mixed {
        /// The track.
        track: String,
        /// The class of its first row.
        one: String,
        /// Another.
        other: String,
    },
    /// Too few tracks for the rate.
    #[error("{} % of known tracks rejected takes {needed} calibrating tracks of known classes, and {tracks} were given; give more, or allow a larger share", percent(*.rate))]
    TooFew {
        /// The share of known tracks that may be rejected.
        rate: f64,
        /// Tracks given.
        tracks: usize,
        /// Tracks needed.
        needed: usize,
    },
    /// The model's rule is no share of known rows.
    #[error(
        "tracks are calibrated for a share of known ones that may be rejected, and the model's rule is {rule}; set it with max_false_unknown first"
    )]
    NoRate {
        /// The rule.
        rule: String,
    },
    /// The run ended early: bad features, the metric, a device, a disk, or an observer that asked to stop.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// What a [`TrackRule`] rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TrackBasis {
    /// Tracks of known classes that were never learned.
    Tracks,
    /// Rows that calibrate the model; it holds however rows of a track depend on each other.
    Rows,
    /// The threshold for rows, which promises nothing for tracks.
    Threshold,
}

/// When a track is known.
///
/// Set on tracks ([`TrackRule::calibrated`]): the score of a track is the mean of its rows, and the threshold is the conformal quantile of the
/// scores of calibrating tracks, so that at most a share `rate` of known tracks is rejected. A fifth of the rate is for tracks that are called
/// unknown before their end, when their mean so far falls below what calibrating tracks ever fall to. A track is called known before its end
/// when its mean so far reaches what few calibrating tracks reach for a class that is not theirs, and the threshold.
///
/// Set on rows ([`TrackRule::of`]): a track is unknown if at least half of its rows have a p-value of at most half the rate. The k-th lowest of m
/// p-values times m / k is a p-value whatever their dependence (Rueschendorf, 1982), so that the same share of known tracks is rejected at most,
/// as a rule fewer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrackRule {
    /// What it rests on.
    pub basis: TrackBasis,
    /// The share of known tracks that may be rejected; `None` if nothing is promised.
    pub rate: Option<f64>,
    /// Tracks that it was set on.
    pub tracks: usize,
    /// Final scores of the calibrating tracks, in rising order.
    scores: Vec<f64>,
    threshold: f64,
    /// From which on a track is known before its end, and up to which it is unknown.
    accepts: f64,
    rejects: f64,
    /// Supports of rows are kept between these.
    bounds: (f64, f64),
}

impl TrackRule {
    /// The rule that the model has without calibrating tracks.
    pub fn of(evm: &Evm) -> Self {
        let rate = rate_of(evm).filter(|_| evm.held.calibration.is_some());
        let calibration = evm.held.calibration.as_deref();
        let thresholds = (0..evm.classes().len()).map(|class| evm.threshold_of(class));
        let threshold = thresholds.fold(f64::NEG_INFINITY, f64::max);
        let mut others: Vec<f64> = calibration
            .map_or(Vec::new(), |calibration| calibration.left_out().iter().map(|row| row.score).collect());
        Self {
            basis: if rate.is_some() { TrackBasis::Rows } else { TrackBasis::Threshold },
            rate,
            tracks: 0,
            scores: Vec::new(),
            threshold,
            accepts: reached_by_few(&mut others).max(threshold),
            rejects: f64::NEG_INFINITY,
            bounds: bounds_of(evm),
        }
    }

    /// A rule for the rate of the model, set on labelled rows that it has not learned, with the track of each. Tracks of classes that the model
    /// does not know are passed over.
    pub fn calibrated(
        evm: &Evm,
        features: &Features<'_>,
        labels: &Labels,
        tracks: &[String],
    ) -> Result<Self, TrackError> {
        Self::calibrated_with(&Run::new(), evm, features, labels, tracks)
    }

    /// As [`calibrated`](Self::calibrated), watched and sized by `run`.
    pub fn calibrated_with(
        run: &Run<'_>,
        evm: &Evm,
        features: &Features<'_>,
        labels: &Labels,
        tracks: &[String],
    ) -> Result<Self, TrackError> {
        let rows = features.rows();
        if tracks.len() != rows || labels.len() != rows {
            return Err(TrackError::Count { rows, tracks: tracks.len().min(labels.len()) });
        }
        let rate = rate_of(evm)
            .ok_or_else(|| TrackError::NoRate { rule: evm.params().rejection_threshold.to_string() })?;
        let members = members(tracks);
        let mut truth: Vec<usize> = vec![usize::MAX; rows];
        for (track, rows) in &members {
            let class = |row: usize| labels.name(row);
            if let Some(&other) = rows.iter().find(|row| class(**row) != class(rows[0])) {
                let (one, other) = (class(rows[0]).to_owned(), class(other).to_owned());
                return Err(TrackError::Mixed { track: (*track).to_owned(), one, other });
            }
            let known = evm.class_index(class(rows[0]));
            for &row in rows {
                truth[row] = known.unwrap_or(usize::MAX);
            }
        }
        let bounds = bounds_of(evm);
        let mut scores = evm.map_queries_with(run, features, |_, scores| bounded(scores, bounds))?;
        let (mut finals, mut lowest, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (_, rows) in members.iter().filter(|(_, rows)| truth[rows[0]] != usize::MAX) {
            let own = truth[rows[0]];
            let rows: Vec<Vec<f64>> = rows.iter().map(|&row| std::mem::take(&mut scores[row])).collect();
            let course = course(evm, &rows, None);
            lowest.push(course.iter().copied().fold(f64::INFINITY, f64::min));
            finals.extend(course.last());
            if evm.classes().len() > 1 {
                others
                    .push(self::course(evm, &rows, Some(own)).into_iter().fold(f64::NEG_INFINITY, f64::max));
            }
        }
        finals.sort_by(f64::total_cmp);
        lowest.sort_by(f64::total_cmp);
        let (count, confidence) = (finals.len(), evm.params().confidence);
        let early = conformal::mistakes_allowed(count, rate * EARLY, confidence);
        // If tracks are too few to call any unknown before its end, all of the rate is for their ends.
        let share = if early > 0 { rate * (1.0 - EARLY) } else { rate };
        let late = conformal::mistakes_allowed(count, share, confidence);
        if late == 0 {
            let needed = conformal::rows_needed(rate, confidence);
            return Err(TrackError::TooFew { rate, tracks: count, needed });
        }
        Ok(Self {
            basis: TrackBasis::Tracks,
            rate: Some(rate),
            tracks: count,
            threshold: finals[late - 1],
            accepts: reached_by_few(&mut others).max(finals[late - 1]),
            rejects: early.checked_sub(1).map_or(f64::NEG_INFINITY, |at| lowest[at].next_down()),
            scores: finals,
            bounds,
        })
    }

    /// A track without rows, for [`take`](Self::take).
    pub fn begin(&self, evm: &Evm) -> Track {
        Track::new(evm.classes().len())
    }

    /// Takes the scores of a row in, as [`Evm::map_queries`] gives them.
    ///
    /// # Panics
    ///
    /// If there are not as many scores as the model has classes.
    pub fn take(&self, evm: &Evm, track: &mut Track, scores: &[ClassScore]) {
        let said = evm.decision(scores);
        track.add(&bounded(scores, self.bounds), said.class(), said.p_value());
        if track.sure.is_some() {
            return;
        }
        let now = evm.decision(&track.means(evm));
        let score = now.score().support;
        if score >= self.accepts {
            track.sure = Some((track.rows(), Some(now.best())));
        } else if score <= self.rejects {
            track.sure = Some((track.rows(), None));
        }
    }

    /// Whether a track that has ended without being sure is known, by the score of its means.
    pub(crate) fn accepts_end(&self, evm: &Evm, track: &Track) -> bool {
        let now = evm.decision(&track.means(evm));
        match (self.basis, self.rate) {
            (TrackBasis::Tracks, _) => now.score().support >= self.threshold,
            (TrackBasis::Rows, Some(rate)) => self.p_value(evm, track).is_none_or(|p_value| p_value > rate),
            _ => now.class().is_some(),
        }
    }

    /// The share of known tracks that score no higher, or a bound on it that holds whatever the dependence of rows.
    pub(crate) fn p_value(&self, evm: &Evm, track: &Track) -> Option<f64> {
        match self.basis {
            TrackBasis::Tracks => {
                let score = evm.decision(&track.means(evm)).score().support;
                let below = self.scores.partition_point(|other| *other <= score);
                Some((below + 1) as f64 / (self.scores.len() + 1) as f64)
            }
            _ => track.half_p_value(),
        }
    }
}

impl fmt::Display for TrackRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.basis, self.rate) {
            (TrackBasis::Tracks, Some(rate)) => {
                write!(f, "{} % of known tracks rejected, set on {} tracks", percent(rate), self.tracks)
            }
            (TrackBasis::Rows, Some(rate)) => write!(
                f,
                "at most {} % of known tracks rejected, however their rows depend on each other: unknown is a track of which half of the rows have a \
                 p-value of at most {} %",
                percent(rate),
                percent(rate / 2.0)
            ),
            _ => f.write_str(
                "the threshold for rows, applied to the mean of a track: nothing is promised for tracks",
            ),
        }
    }
}

/// The names of tracks in the order in which they come, with the rows of each.
pub(crate) fn members(tracks: &[String]) -> Vec<(&str, Vec<usize>)> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut members: Vec<(&str, Vec<usize>)> = Vec::new();
    for (row, track) in tracks.iter().enumerate() {
        let place = *places.entry(track).or_insert_with(|| {
            members.push((track, Vec::new()));
            members.len() - 1
        });
        members[place].1.push(row);
    }
    members
}

fn rate_of(evm: &Evm) -> Option<f64> {
    match evm.params().rejection_threshold {
        Rejection::FalseUnknown(rate) | Rejection::FalseUnknownPerClass(rate) => Some(rate),
        _ => None,
    }
}

/// What calibrating rows score, and as much again below twice: what lies further out counts no more.
fn bounds_of(evm: &Evm) -> (f64, f64) {
    let rows = evm.held.calibration.as_deref().map_or(&[][..], |calibration| calibration.rows());
    match (rows.first(), rows.get((rows.len() * 99 / 100).min(rows.len().saturating_sub(1)))) {
        (Some(lowest), Some(high)) => {
            let low = rows[rows.len() / 100].score.max(lowest.score);
            let range = (high.score - low).max(1e-9);
            (low - 2.0 * range, high.score)
        }
        _ => (-1e6, 1e6),
    }
}

fn bounded(scores: &[ClassScore], (low, high): (f64, f64)) -> Vec<f64> {
    scores.iter().map(|score| score.support.clamp(low, high)).collect()
}

/// The score of the mean after each row, of all classes but one if one is left out.
fn course(evm: &Evm, rows: &[Vec<f64>], without: Option<usize>) -> Vec<f64> {
    let mut track = Track::new(evm.classes().len());
    let after = |row: &Vec<f64>| {
        track.add(row, None, None);
        let mut means = track.means(evm);
        if let Some(class) = without {
            means.remove(class);
        }
        evm.decision(&means).score().support
    };
    rows.iter().map(after).collect()
}

/// What at most [`STRANGERS`] of these reach; infinite without any.
fn reached_by_few(scores: &mut [f64]) -> f64 {
    scores.sort_by(f64::total_cmp);
    let few = (scores.len() as f64 * STRANGERS) as usize;
    if scores.is_empty() {
        f64::INFINITY
    } else {
        scores[scores.len() - 1 - few.min(scores.len() - 1)].next_up()
    }
}
