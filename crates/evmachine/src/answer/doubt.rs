//! "This match was wrong": which training row carried a decision, and what it would be without that row.

use serde::{Deserialize, Serialize};

use crate::answer::decision::Decision;
use crate::answer::explain::Speaker;
use crate::error::RunError;
use crate::machine::score::ClassScore;
use crate::model::Evm;
use evmachine_engine::features::Features;
use evmachine_engine::psi::curve::ln_psi;
use evmachine_engine::run::Run;

/// What a decision rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Doubt {
    /// The decision itself.
    pub decision: Decision,
    /// The extreme vector of the best class that speaks loudest.
    pub because: Speaker,
    /// The decision if that row were silent. The margins that it gave to others are still theirs;
    /// [`Edit::SetAside`](crate::Edit::SetAside) takes them back too.
    pub without: Decision,
}

/// A query that two models decide differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Difference {
    /// The query, from 0.
    pub row: usize,
    /// The class that the first model gives it; `None` is unknown.
    pub before: Option<String>,
    /// The class that the second gives it.
    pub after: Option<String>,
}

/// # Explain
impl Evm {
    /// For each query the row that carries its decision, and the decision without that row.
    ///
    /// ```
    /// # use evmachine::{Edit, Evm, Features, Labels, Params};
    /// // The fourth row is mislabelled.
    /// let features = Features::new(vec![0.0, 0.1, 0.2, 0.3, 5.0, 5.1, 5.2], 1)?;
    /// let labels = Labels::new(["low", "low", "low", "high", "high", "high", "high"])?;
    /// let all = Params { cover_threshold: 1.0, ..Params::paper() };
    /// let (mut evm, _) = Evm::fit(&all, &features, &labels)?;
    /// let query = Features::new(vec![0.31], 1)?;
    /// let doubt = evm.doubt(&query)?.remove(0);
    /// assert_eq!((doubt.decision.class(), doubt.because.source), (Some(1), 3));
    /// assert_ne!(doubt.without.class(), Some(1));
    /// evm.edit(&Edit::SetAside { rows: vec![doubt.because.source] })?;
    /// assert_eq!(evm.decide(&query)?[0].class(), Some(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn doubt(&self, queries: &Features<'_>) -> Result<Vec<Doubt>, RunError> {
        self.doubt_with(&Run::new(), queries)
    }

    /// As [`doubt`](Self::doubt), watched and sized by `run`.
    pub fn doubt_with(&self, run: &Run<'_>, queries: &Features<'_>) -> Result<Vec<Doubt>, RunError> {
        let reasons = self.explain_with(run, queries, 1)?;
        let carriers: Vec<Speaker> =
            reasons.iter().map(|reason| reason.classes[0].extreme_vectors[0]).collect();
        let sources: Vec<u64> = carriers.iter().map(|carrier| carrier.source).collect();
        let supports = self.supports(run, queries, Some(&sources))?;
        let score = |&support: &f64| ClassScore {
            ln_probability: ln_psi(self.machine.params.tail_model, support),
            support,
        };
        let rows = supports.chunks_exact(self.machine.classes.len()).zip(reasons.iter().zip(carriers));
        let doubts = rows.map(|(supports, (reason, carrier))| Doubt {
            decision: reason.decision,
            because: carrier,
            without: self.decision(&supports.iter().map(score).collect::<Vec<_>>()),
        });
        Ok(doubts.collect())
    }

    /// The queries that another model decides differently, class names being compared.
    pub fn differences(&self, other: &Evm, queries: &Features<'_>) -> Result<Vec<Difference>, RunError> {
        self.differences_with(&Run::new(), other, queries)
    }

    /// As [`differences`](Self::differences), watched and sized by `run`.
    pub fn differences_with(
        &self,
        run: &Run<'_>,
        other: &Evm,
        queries: &Features<'_>,
    ) -> Result<Vec<Difference>, RunError> {
        let name =
            |evm: &Evm, decision: &Decision| decision.class().map(|class| evm.class_name(class).to_owned());
        let (before, after) = (self.decide_with(run, queries)?, other.decide_with(run, queries)?);
        let rows = before.iter().zip(&after).enumerate().map(|(row, (before, after))| Difference {
            row,
            before: name(self, before),
            after: name(other, after),
        });
        Ok(rows.filter(|row| row.before != row.after).collect())
    }
}
