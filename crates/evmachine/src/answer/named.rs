//! Decisions and their reasons with names instead of positions: what the program, Python and the server show.

use serde::{Deserialize, Serialize};

use crate::answer::decision::Decision;
use crate::answer::explain::{Explanation, Speaker};
use crate::error::RunError;
use crate::heldout::prior::Prior;
use crate::json::finite;
use crate::model::Evm;
use crate::model::origin::RowOrigin;
use crate::witness::mixture::Testimony;
use evmachine_engine::features::Features;
use evmachine_engine::run::Run;

/// What the model says of a query, by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Answer {
    /// The class; `None` is unknown.
    pub class: Option<String>,
    /// Whether it is known.
    pub known: bool,
    /// The class of highest support, known or not.
    pub best: String,
    /// How far the best class lies above the threshold, which is what to act on: known from 0 on. Always finite.
    pub support: f64,
    /// The share of known queries that score no higher; `None` without calibration.
    pub p_value: Option<f64>,
    /// P(known); `None` without calibration.
    pub p_known: Option<f64>,
    /// Psi of the best class, the paper's probability.
    pub psi: f64,
}

/// A training row, as people name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct TrainingRow {
    /// Counted from 0 over all rows ever given to the model.
    pub source: u64,
    /// Its number in the batch, as in the file it came from, from 1.
    pub number: u64,
    /// Its id, if it has one.
    pub id: Option<String>,
    /// The number of its batch, from 1; `None` if nobody named it.
    pub batch: Option<usize>,
    /// What the batch is called: the file, as a rule.
    pub batch_name: Option<String>,
    /// When it was learned, in seconds since 1970-01-01 UTC.
    pub time: Option<i64>,
}

impl From<RowOrigin<'_>> for TrainingRow {
    fn from(origin: RowOrigin<'_>) -> Self {
        Self {
            source: origin.source,
            number: origin.number,
            id: origin.id.map(str::to_owned),
            batch: origin.batch,
            batch_name: origin.batch_name.map(str::to_owned),
            time: origin.time,
        }
    }
}

/// An extreme vector that counted, with the training row that it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct NamedSpeaker {
    /// Its class.
    pub class: String,
    /// The row it came from.
    pub row: TrainingRow,
    /// Its position in [`Evm::extreme_vectors`].
    pub extreme_vector: usize,
    /// Its distance to the query.
    pub distance: f64,
    /// Its psi at that distance.
    pub psi: f64,
    /// The distance at which its psi falls below the rejection threshold; `None` if it never does.
    pub radius: Option<f64>,
}

/// What one class has to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct NamedEvidence {
    /// The class.
    pub class: String,
    /// How far it lies above the threshold. Always finite.
    pub support: f64,
    /// Its psi.
    pub psi: f64,
    /// Which witness said what; `None` if the features are the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witnesses: Option<Testimony>,
    /// The extreme vectors whose psi were averaged, largest first.
    pub extreme_vectors: Vec<NamedSpeaker>,
}

/// The ignored sample that is nearest to a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct NamedIgnored {
    /// The row it came from.
    pub row: TrainingRow,
    /// Its distance to the query.
    pub distance: f64,
    /// Whether no extreme vector is nearer, which makes the query unknown.
    pub decides: bool,
}

/// The vector that is not of a class and nearest to a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct NamedDenied {
    /// The class that it is not of.
    pub class: String,
    /// The row it came from.
    pub row: TrainingRow,
    /// Its distance to the query.
    pub distance: f64,
    /// Whether no extreme vector is nearer, so that the query is not answered with the class.
    pub decides: bool,
}

/// An answer with its reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Reasons {
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
    /// The best classes, best first.
    pub classes: Vec<NamedEvidence>,
    /// How far the query must move at least to change between known and unknown; `None` if no distance tells
    /// ([`Explanation::distance_to_boundary`]).
    pub distance_to_boundary: Option<f64>,
    /// The nearest ignored sample, if the model has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<NamedIgnored>,
    /// The nearest denials of the classes that the query cannot be for them; if there are none, the nearest denial, if the model has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<NamedDenied>,
}

/// The training row that carries an answer, and the answer without it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct NamedDoubt {
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
    /// What carries it: the extreme vector of the best class that speaks loudest.
    pub because: NamedSpeaker,
    /// The answer if that row were silent.
    pub without: Answer,
}

/// # Explain
impl Evm {
    /// A decision by name.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params, Prior};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// # let (evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
    /// let decision = evm.decide(&Features::new(vec![5.1], 1)?)?.remove(0);
    /// let answer = evm.answer(&decision, Prior::EVEN);
    /// assert_eq!(answer.class.as_deref(), Some("high"));
    /// assert_eq!(serde_json::from_str::<evmachine::Answer>(&serde_json::to_string(&answer)?)?, answer);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the decision is of another model.
    pub fn answer(&self, decision: &Decision, prior: Prior) -> Answer {
        Answer {
            class: self.name_of(decision).map(str::to_owned),
            known: decision.class().is_some(),
            best: self.class_name(decision.best()).to_owned(),
            support: finite(decision.support()),
            p_value: decision.p_value(),
            p_known: self.probability_known(decision.score(), prior),
            psi: decision.psi(),
        }
    }

    /// The answer to each query, with its reasons by its `classes` best classes.
    pub fn reasons(
        &self,
        queries: &Features<'_>,
        classes: usize,
        prior: Prior,
    ) -> Result<Vec<Reasons>, RunError> {
        self.reasons_with(&Run::new(), queries, classes, prior)
    }

    /// As [`reasons`](Self::reasons), watched and sized by `run`.
    pub fn reasons_with(
        &self,
        run: &Run<'_>,
        queries: &Features<'_>,
        classes: usize,
        prior: Prior,
    ) -> Result<Vec<Reasons>, RunError> {
        let explanations = self.explain_with(run, queries, classes)?;
        let supports = self.class_supports_with(run, queries)?;
        let rows = explanations.iter().zip(supports.chunks_exact(self.classes().len().max(1)));
        Ok(rows.map(|(explanation, supports)| self.reasons_of(explanation, supports, prior)).collect())
    }

    /// As [`doubt`](Self::doubt), by name.
    pub fn named_doubt(&self, queries: &Features<'_>, prior: Prior) -> Result<Vec<NamedDoubt>, RunError> {
        self.named_doubt_with(&Run::new(), queries, prior)
    }

    /// As [`named_doubt`](Self::named_doubt), watched and sized by `run`.
    pub fn named_doubt_with(
        &self,
        run: &Run<'_>,
        queries: &Features<'_>,
        prior: Prior,
    ) -> Result<Vec<NamedDoubt>, RunError> {
        let doubts = self.doubt_with(run, queries)?;
        let named = doubts.iter().map(|doubt| NamedDoubt {
            answer: self.answer(&doubt.decision, prior),
            because: self.named_speaker(doubt.decision.best(), &doubt.because),
            without: self.answer(&doubt.without, prior),
        });
        Ok(named.collect())
    }

    /// For each query the training rows that lie nearest, of whatever class, the nearest first: up to `count` of those that the model
    /// holds.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// let all = Params { cover_threshold: 1.0, ..Params::paper() };
    /// let (evm, _) = Evm::fit(&all, &features, &labels)?;
    /// let near = evm.nearest_rows(&Features::new(vec![4.0], 1)?, 4)?.remove(0);
    /// let rows: Vec<_> = near.iter().map(|near| (near.class.as_str(), near.row.source)).collect();
    /// assert_eq!(rows, [("high", 3), ("high", 4), ("high", 5), ("low", 2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn nearest_rows(
        &self,
        queries: &Features<'_>,
        count: usize,
    ) -> Result<Vec<Vec<NamedSpeaker>>, RunError> {
        self.nearest_rows_with(&Run::new(), queries, count)
    }

    /// As [`nearest_rows`](Self::nearest_rows), watched and sized by `run`.
    pub fn nearest_rows_with(
        &self,
        run: &Run<'_>,
        queries: &Features<'_>,
        count: usize,
    ) -> Result<Vec<Vec<NamedSpeaker>>, RunError> {
        let found = self.nearest(run, queries, count)?;
        let named = |near: &Vec<(usize, Speaker)>| {
            near.iter().map(|(class, speaker)| self.named_speaker(*class, speaker)).collect()
        };
        Ok(found.iter().map(named).collect())
    }

    fn named_speaker(&self, class: usize, speaker: &Speaker) -> NamedSpeaker {
        NamedSpeaker {
            class: self.class_name(class).to_owned(),
            row: self.origin(speaker.source).into(),
            extreme_vector: speaker.extreme_vector,
            distance: speaker.distance,
            psi: speaker.psi,
            radius: Some(speaker.radius).filter(|radius| radius.is_finite()),
        }
    }

    /// `supports` of all classes above the threshold.
    fn reasons_of(&self, explanation: &Explanation, supports: &[f64], prior: Prior) -> Reasons {
        let classes = explanation.classes.iter().map(|evidence| NamedEvidence {
            class: self.class_name(evidence.class).to_owned(),
            support: finite(supports[evidence.class]),
            psi: evidence.probability,
            witnesses: evidence.witnesses,
            extreme_vectors: evidence
                .extreme_vectors
                .iter()
                .map(|speaker| self.named_speaker(evidence.class, speaker))
                .collect(),
        });
        Reasons {
            answer: self.answer(&explanation.decision, prior),
            classes: classes.collect(),
            distance_to_boundary: Some(explanation.distance_to_boundary).filter(|way| way.is_finite()),
            ignored: explanation.ignored.map(|near| NamedIgnored {
                row: self.origin(near.source).into(),
                distance: near.distance,
                decides: near.decides,
            }),
            denied: explanation
                .denied
                .iter()
                .map(|near| NamedDenied {
                    class: self.class_name(near.class).to_owned(),
                    row: self.origin(near.source).into(),
                    distance: near.distance,
                    decides: near.decides,
                })
                .collect(),
        }
    }
}
