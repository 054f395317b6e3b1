//! The rule by which labelled samples are learned or held back; kept with the pool, for all who use it.

use evmachine::{Candidate, EnrolmentRule, Evm, Features, HeldBack, Run};

use crate::error::StoreError;
use crate::pool::Pool;
use crate::samples::{Sample, SampleId, State};

impl Pool {
    /// The rule by which samples are held back; nothing is unless one was set.
    pub fn enrolment(&self) -> Result<EnrolmentRule, StoreError> {
        let query = "SELECT value FROM facts WHERE name = 'enrolment'";
        let Some(text) = self.list(query, [], |row| row.get::<_, String>(0))?.pop() else {
            return Ok(EnrolmentRule::default());
        };
        serde_json::from_str(&text).map_err(|error| StoreError::Inconsistent {
            path: self.folder().to_owned(),
            detail: format!("its rule of enrolment cannot be read: {error}"),
        })
    }

    /// Sets the rule by which samples are held back. From now on, rows of too little quality are not taken in, and what it holds back is
    /// not learned; what was learned before stays.
    pub fn set_enrolment(&mut self, rule: &EnrolmentRule) -> Result<(), StoreError> {
        rule.check()?;
        let inconsistent = |error: serde_json::Error| StoreError::Inconsistent {
            path: self.folder().to_owned(),
            detail: error.to_string(),
        };
        let text = serde_json::to_string(rule).map_err(inconsistent)?;
        self.write(|write| {
            let statement = "INSERT INTO facts (name, value) VALUES ('enrolment', ?) \
                             ON CONFLICT DO UPDATE SET value = excluded.value";
            write.execute(statement, [text]).map(|_| ())
        })
    }

    /// What an update would hold back now of what was labelled and not learned yet, and why.
    pub fn held_back(&mut self, run: &Run<'_>) -> Result<Vec<HeldBack<SampleId>>, StoreError> {
        let (rule, live) = (self.enrolment()?, self.live()?);
        if rule.is_off() {
            return Ok(Vec::new());
        }
        let labelled = self.to_learn()?.into_iter().filter(|answered| answered.label.is_some());
        let labelled: Result<Vec<Sample>, StoreError> =
            labelled.map(|answered| Ok(Sample { picture: None, ..self.sample(answered.sample)? })).collect();
        examine(run, &live, &rule, &labelled?)
    }
}

/// What a rule holds back of labelled samples.
pub(crate) fn examine(
    run: &Run<'_>,
    live: &Evm,
    rule: &EnrolmentRule,
    labelled: &[Sample],
) -> Result<Vec<HeldBack<SampleId>>, StoreError> {
    if rule.is_off() || labelled.is_empty() {
        return Ok(Vec::new());
    }
    let values: Vec<f32> = labelled.iter().flat_map(|sample| sample.features.iter().copied()).collect();
    let features = Features::new(values, live.dimensions())?;
    let candidates: Vec<Candidate<'_>> = labelled
        .iter()
        .map(|sample| Candidate {
            class: label_of(sample).unwrap_or_default(),
            capture: &sample.capture,
            proposed: sample.proposed,
        })
        .collect();
    let held = rule.examine_with(run, live, &features, &candidates)?;
    let held = held.into_iter().zip(labelled).zip(&candidates).filter_map(|((reason, sample), candidate)| {
        Some(HeldBack::new(sample.number, candidate.class.to_owned(), reason?))
    });
    Ok(held.collect())
}

pub(crate) fn label_of(sample: &Sample) -> Option<&str> {
    match &sample.state {
        State::Labelled { label } => Some(label),
        State::Waiting | State::Ignored | State::Discarded => None,
    }
}
