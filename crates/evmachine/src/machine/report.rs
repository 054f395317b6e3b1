//! What a fit or an update did.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::params::{Params, TailMemory, TailSize};
use evmachine_engine::plan::Plan;
use evmachine_engine::psi::{FitStatus, PsiModel};
use evmachine_engine::search::TailRecall;

/// How much of a decision each witness is; the shares add up to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Shares {
    /// The support in feature space.
    pub features: f64,
    /// The machine over logits.
    pub logits: f64,
    /// The linear probe.
    pub probe: f64,
    /// The forest.
    pub forest: f64,
}

/// What a fit or an update did. A fit is an update of an empty model: all of its classes are new.
///
/// ```
/// # use evmachine::{Evm, Features, Labels, Params, TailSize};
/// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
/// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
/// let params = Params { tail_size: TailSize::Count(3), ..Params::paper() };
/// let (_, report) = Evm::fit(&params, &features, &labels)?;
/// let written = serde_json::to_value(&report)?;
/// assert_eq!(written["new_classes"], serde_json::json!(["low", "high"]));
/// assert_eq!(written["fits"]["converged"], 6);
/// assert!(written["times"]["tails"].as_f64() > Some(0.0), "in seconds");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// The class that is alone, without anything to measure margins against; they were guessed from within it.
    pub alone: Option<String>,
    /// Rows that were not learned, to choose and to calibrate on; of up to 2,000 rows, those that models of folds were asked about. 0 if
    /// nothing asked for it.
    pub held_out: usize,
    /// The penalty that a fit chose for its probe.
    pub probe_penalty: Option<f64>,
    /// What a fit chose as the shares of features, logits and probe in a decision ([`Evm::shares`](crate::Evm::shares)).
    pub shares: Option<Shares>,
    /// Why the parameters should be chosen anew, if they should.
    pub tune_again: Option<TuneAgain>,
    /// How tails were made: those between the new rows and extreme vectors where there were any, then those of the new rows.
    pub plans: Vec<Plan>,
    /// What an approximate search found of the tails of the new rows; `None` where it was exact.
    pub recall: Option<TailRecall>,
    /// Where the time went.
    pub times: StageTimes,
}

impl Report {
    /// What a person should look at; nothing where all went as it should.
    pub fn concerns(&self, params: &Params) -> Vec<Concern> {
        let mut concerns = Vec::new();
        if self.alone.is_some() {
            concerns.push(Concern::Alone);
        }
        // What the default and the preset take is nobody's wish.
        let is_asked_for = ![TailSize::Auto, Params::robust().tail_size].contains(&params.tail_size);
        if !self.clipped.is_empty() && is_asked_for {
            concerns.push(Concern::TailsClipped { classes: self.clipped.len() });
        }
        // The margin of a tail of one is equal to itself, and a tail that was clipped may be one.
        let several = self.tail_sizes.0 > 1 && self.clipped.is_empty();
        let equal = if several { self.fits.get(FitStatus::EqualMargins) } else { 0 };
        let flat = self.fits.get(FitStatus::ZeroTail) + equal;
        if flat > 0 {
            concerns.push(Concern::FlatTails { flat, rows: self.rows });
        }
        // An update may well be the first row of a class.
        let is_fit = self.new_classes.len() == self.classes;
        if is_fit && self.classes > 2 && self.classes * 2 > self.rows {
            concerns.push(Concern::ClassOfItsOwn);
        }
        if params.cover_risk > 0.0 && params.cover_threshold >= 1.0 && params.max_extreme_vectors.is_none() {
            concerns.push(Concern::IdleRisk);
        }
        concerns
    }
}

/// Something about a fit or an update that a person should look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "concern", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Concern {
    /// The tail size that was asked for exceeds the number of negatives.
    TailsClipped {
        /// Of so many classes.
        classes: usize,
    },
    /// There is one class and nothing else; see [`Report::alone`].
    Alone,
    /// Labels look like something that identifies rows.
    ClassOfItsOwn,
    /// Margins that do not differ: constant features, rows under several labels, or differences that 32-bit numbers lose.
    FlatTails {
        /// So many fits.
        flat: usize,
        /// Rows learned from.
        rows: usize,
    },
    /// There is a risk in the cover, and a threshold of the cover that keeps every point.
    IdleRisk,
}

impl fmt::Display for Concern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Concern::TailsClipped { classes: 1 } => formatter.write_str(
                "the tail size exceeds the number of negatives of one class; all its negatives were used",
            ),
            Concern::TailsClipped { classes } => write!(
                formatter,
                "the tail size exceeds the number of negatives of {classes} classes; all their negatives were used"
            ),
            Concern::Alone => formatter.write_str(
                "there is one class, and nothing to measure its margins against: they are guessed from within it until \
                 there is another class or an ignored sample",
            ),
            Concern::ClassOfItsOwn => {
                formatter.write_str("more than half of the rows have a class of their own")
            }
            Concern::IdleRisk => formatter.write_str(
                "cover_risk has no effect: with cover_threshold = 1 every row is kept; set a threshold below 1, such as 0.5",
            ),
            Concern::FlatTails { flat, rows } => write!(
                formatter,
                "{flat} of {rows} rows are equally far from all their nearest negatives; are features constant, or rows \
                 repeated under several labels?"
            ),
        }
    }
}

/// Why parameters that were chosen on a smaller model may not fit any more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
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

/// Wall-clock time of each stage; written as seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct StageTimes {
    /// The matrix of the first batch, and the new rows whitened with it.
    #[serde(serialize_with = "seconds")]
    pub whitening: Duration,
    /// Moving points towards their neighbours.
    #[serde(serialize_with = "seconds")]
    pub smoothing: Duration,
    /// Distances, tails and fits of the new rows.
    #[serde(serialize_with = "seconds")]
    pub tails: Duration,
    /// Old extreme vectors against the new rows.
    #[serde(serialize_with = "seconds")]
    pub refit: Duration,
    /// Choosing extreme vectors.
    #[serde(serialize_with = "seconds")]
    pub cover: Duration,
    /// Weights of witnesses, and how far to cover, with classes left out in turn.
    #[serde(serialize_with = "seconds")]
    pub weighing: Duration,
    /// Rows held out, the trial without them, probe, witnesses and threshold.
    #[serde(serialize_with = "seconds")]
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

impl Serialize for StatusCounts {
    /// As a map of the statuses that occurred.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Report {
        Report {
            rows: 9,
            new_classes: Vec::new(),
            classes: 2,
            tail_sizes: (1, 4),
            clipped: Vec::new(),
            fits: StatusCounts::default(),
            refitted: 0,
            added: 2,
            dropped: 1,
            extreme_vectors: 5,
            vector_ratio: 0.5,
            tail_memory: TailMemory::Max,
            alone: None,
            held_out: 0,
            probe_penalty: None,
            shares: None,
            tune_again: None,
            plans: Vec::new(),
            recall: None,
            times: StageTimes::default(),
        }
    }

    #[test]
    fn reports_are_written_by_the_names_of_their_fields() {
        let psi = |status| PsiModel { shape: 1.0, scale: 1.0, shift: 0.0, status };
        let fits = [FitStatus::Converged, FitStatus::ZeroTail, FitStatus::Converged].map(psi);
        let report = Report {
            rows: 3,
            new_classes: vec!["a".to_owned()],
            fits: fits.iter().collect(),
            shares: Some(Shares { features: 0.5, logits: 0.25, probe: 0.25, forest: 0.0 }),
            tune_again: Some(TuneAgain::ClassesGrew { from: 2, to: 4 }),
            times: StageTimes { tails: Duration::from_millis(1_500), ..StageTimes::default() },
            ..plain()
        };
        let times = r#"{"whitening":0.0,"smoothing":0.0,"tails":1.5,"refit":0.0,"cover":0.0,"weighing":0.0,"calibration":0.0}"#;
        let expected = format!(
            r#"{{"rows":3,"new_classes":["a"],"classes":2,"tail_sizes":[1,4],"clipped":[],"fits":{{"converged":2,"zero_tail":1}},"refitted":0,"added":2,"dropped":1,"extreme_vectors":5,"vector_ratio":0.5,"tail_memory":"max","alone":null,"held_out":0,"probe_penalty":null,"shares":{{"features":0.5,"logits":0.25,"probe":0.25,"forest":0.0}},"tune_again":{{"reason":"classes_grew","from":2,"to":4}},"plans":[],"recall":null,"times":{times}}}"#
        );
        assert_eq!(serde_json::to_string(&report).unwrap(), expected);
        assert_eq!(report.concerns(&Params::plain()), [Concern::FlatTails { flat: 1, rows: 3 }]);
    }

    #[test]
    fn a_tail_size_that_nobody_asked_for_is_no_concern() {
        let report = Report { clipped: vec!["a".to_owned(), "b".to_owned()], ..plain() };
        assert_eq!(report.concerns(&Params::plain()), []);
        assert_eq!(report.concerns(&Params::robust()), []);
        let asked = Params { tail_size: TailSize::Count(50), ..Params::plain() };
        assert_eq!(report.concerns(&asked), [Concern::TailsClipped { classes: 2 }]);
        let risky = Params { cover_risk: 1.0, ..Params::robust() };
        assert_eq!(plain().concerns(&risky), [Concern::IdleRisk]);
        assert_eq!(plain().concerns(&Params { cover_threshold: 0.5, ..risky }), []);
        let own = Report { rows: 3, classes: 3, new_classes: vec![String::new(); 3], ..plain() };
        assert_eq!(own.concerns(&asked), [Concern::ClassOfItsOwn]);
        assert_eq!(Report { classes: 9, ..own }.concerns(&asked), [], "an update");
        let psi = PsiModel { shape: 1.0, scale: 1.0, shift: 0.0, status: FitStatus::EqualMargins };
        let single = Report { fits: [psi].iter().collect(), ..plain() };
        assert_eq!(single.concerns(&asked), [], "a tail of one");
        let several = Report { tail_sizes: (2, 4), ..single };
        assert_eq!(several.concerns(&asked), [Concern::FlatTails { flat: 1, rows: 9 }]);
    }
}
