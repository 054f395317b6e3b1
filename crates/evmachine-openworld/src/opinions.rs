//! Second opinions: somebody asks for one, somebody else gives it without changing the answer, and where the two differ, a third look
//! settles it.

use std::collections::BTreeMap;

use rusqlite::{Row, params};
use serde::Serialize;

use crate::error::StoreError;
use crate::events::{EventId, EventKind, NewEvent};
use crate::pool::{Pool, Write};
use crate::samples::{Sample, SampleId, State};

/// What somebody else says of a sample that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opinion<'a> {
    /// It is of that class.
    Class(&'a str),
    /// It is of none.
    Stranger,
}

/// A sample that two people see differently.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Disagreement {
    /// The sample, with the answer that is in force.
    pub sample: Sample,
    /// Who gave that answer, where it was said.
    pub answered_by: Option<String>,
    /// The class of the second opinion; `None` is a stranger.
    pub opinion: Option<String>,
    /// Who has it, where it was said.
    pub person: Option<String>,
    /// The event of the opinion.
    pub event: EventId,
}

/// How often second opinions were the same, for answers of one class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Agreement {
    /// The class of the answers; `None` are strangers.
    pub class: Option<String>,
    /// Second opinions on them.
    pub opinions: u64,
    /// Those of them that were the same.
    pub agreed: u64,
}

/// Kinds of events that answer, for a list in SQL.
const ANSWERS: &str = "('labelled', 'proposed', 'ignored', 'discarded', 'reopened')";

impl Pool {
    /// Asks for a second opinion on samples that were answered. Returns the event, which can be undone.
    pub fn ask_opinion(&mut self, samples: &[SampleId], person: Option<&str>) -> Result<EventId, StoreError> {
        self.write(|write| {
            let samples = write.answered_samples(samples)?;
            write.append(&NewEvent::new(EventKind::Asked, person), &samples)
        })
    }

    /// Samples on which a second opinion was asked for and not given yet, and which `person` did not answer; the first asked for first.
    pub fn opinions_wanted(&self, person: Option<&str>, count: usize) -> Result<Vec<Sample>, StoreError> {
        let query = format!(
            "SELECT asked.sample FROM (SELECT sample, max(event) AS event FROM event_samples \
             JOIN events ON events.number = event WHERE kind = 'asked' AND event NOT IN (SELECT event FROM undone) \
             GROUP BY sample) AS asked JOIN samples ON samples.number = asked.sample \
             WHERE state <> 'waiting' AND NOT EXISTS (SELECT 1 FROM event_samples AS later \
             JOIN events ON events.number = later.event WHERE later.sample = asked.sample AND later.event > asked.event \
             AND (kind = 'opinion' OR kind IN {ANSWERS}) AND later.event NOT IN (SELECT event FROM undone)) \
             AND (?1 IS NULL OR ?1 IS NOT (SELECT person FROM event_samples AS own \
             JOIN events ON events.number = own.event WHERE own.sample = asked.sample AND kind IN {ANSWERS} \
             AND own.event NOT IN (SELECT event FROM undone) ORDER BY own.event DESC LIMIT 1)) \
             ORDER BY asked.event, asked.sample LIMIT ?2"
        );
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let numbers: Vec<SampleId> = self.list(&query, params![person, count], |row| row.get(0))?;
        numbers.into_iter().map(|number| self.sample(number)).collect()
    }

    /// Takes a second opinion on samples, which stay as they were answered. Nobody gives one on an answer of their own, unless somebody
    /// else disagrees with it. Returns the event, which can be undone.
    pub fn give_opinion(
        &mut self,
        samples: &[SampleId],
        opinion: Opinion<'_>,
        person: Option<&str>,
    ) -> Result<EventId, StoreError> {
        if let Opinion::Class(name) = opinion {
            self.check_name(name)?;
        }
        self.write(|write| {
            let samples = write.answered_samples(samples)?;
            for &sample in &samples {
                let answered_by = write.answered_by(sample)?;
                if person.is_some() && answered_by.as_deref() == person && !write.has_opinion(sample)? {
                    return Err(StoreError::OwnAnswer { sample });
                }
            }
            let label = if let Opinion::Class(name) = opinion { Some(name) } else { None };
            write.append(&NewEvent { label, ..NewEvent::new(EventKind::Opinion, person) }, &samples)
        })
    }

    /// Samples whose last opinion is another than their answer, and that nobody has answered since; the oldest first.
    pub fn disagreements(&self, count: usize) -> Result<Vec<Disagreement>, StoreError> {
        let mut found = Vec::new();
        for Given { sample, event, label, person, .. } in
            self.opinions()?.into_iter().filter(|given| given.is_last)
        {
            let sample = self.sample(sample)?;
            let is_same = match &sample.state {
                State::Labelled { label: said } => label.as_ref() == Some(said),
                State::Ignored => label.is_none(),
                State::Waiting | State::Discarded => false,
            };
            if !is_same && sample.state != State::Waiting {
                let answered_by = self.answered_by(sample.number)?;
                found.push(Disagreement { sample, answered_by, opinion: label, person, event });
            }
            if found.len() >= count {
                break;
            }
        }
        Ok(found)
    }

    /// How often second opinions agreed with the answers that they were asked about, by the class of the answer. Of several opinions on
    /// one answer the first counts.
    pub fn agreement(&self) -> Result<Vec<Agreement>, StoreError> {
        let mut by_class: BTreeMap<Option<String>, (u64, u64)> = BTreeMap::new();
        for given in self.opinions()?.into_iter().filter(|given| given.is_first) {
            let same = given.is_named && given.answer == given.label;
            let counts = by_class.entry(given.answer).or_default();
            counts.0 += 1;
            counts.1 += u64::from(same);
        }
        let found = by_class.into_iter();
        Ok(found.map(|(class, (opinions, agreed))| Agreement { class, opinions, agreed }).collect())
    }

    fn answered_by(&self, sample: SampleId) -> Result<Option<String>, StoreError> {
        let query = format!(
            "SELECT person FROM event_samples JOIN events ON events.number = event WHERE sample = ? \
             AND kind IN {ANSWERS} AND event NOT IN (SELECT event FROM undone) ORDER BY event DESC LIMIT 1"
        );
        Ok(self.list(&query, [sample], |row| row.get(0))?.pop().flatten())
    }

    /// All opinions in force, in the order in which they were given.
    fn opinions(&self) -> Result<Vec<Given>, StoreError> {
        let newer = format!(
            "SELECT 1 FROM event_samples AS later JOIN events AS what ON what.number = later.event \
             WHERE later.sample = given.sample AND later.event > given.event \
             AND (what.kind = 'opinion' OR what.kind IN {ANSWERS}) AND later.event NOT IN (SELECT event FROM undone)"
        );
        // The answer before it, and the last opinion before it.
        let before = |kinds: &str, column: &str| {
            format!(
                "SELECT {column} FROM event_samples AS earlier JOIN events AS what ON what.number = earlier.event \
                 WHERE earlier.sample = given.sample AND earlier.event < given.event AND what.kind IN {kinds} \
                 AND earlier.event NOT IN (SELECT event FROM undone) ORDER BY earlier.event DESC LIMIT 1"
            )
        };
        let query = format!(
            "SELECT given.sample, given.event, events.label, events.person, NOT EXISTS ({newer}), \
             ({}), ({}), ifnull(({}), 0) < ifnull(({}), 0) \
             FROM event_samples AS given JOIN events ON events.number = given.event \
             WHERE kind = 'opinion' AND given.event NOT IN (SELECT event FROM undone) ORDER BY given.event, given.sample",
            before(ANSWERS, "what.kind"),
            before(ANSWERS, "what.label"),
            before("('opinion')", "what.number"),
            before(ANSWERS, "what.number"),
        );
        let read = |row: &Row<'_>| {
            let kind: Option<String> = row.get(5)?;
            Ok(Given {
                sample: row.get(0)?,
                event: row.get(1)?,
                label: row.get(2)?,
                person: row.get(3)?,
                is_last: row.get(4)?,
                is_named: kind.is_some_and(|kind| kind == "labelled" || kind == "ignored"),
                answer: row.get(6)?,
                is_first: row.get(7)?,
            })
        };
        self.list(&query, [], read)
    }
}

/// An opinion on a sample.
struct Given {
    sample: SampleId,
    event: EventId,
    /// The class; `None` is a stranger.
    label: Option<String>,
    person: Option<String>,
    /// Whether nothing was said of the sample since.
    is_last: bool,
    /// Whether it is the first since the sample was answered.
    is_first: bool,
    /// Whether the answer before it says what the sample is.
    is_named: bool,
    /// The class of that answer; `None` is a stranger, or one of no use.
    answer: Option<String>,
}

impl Write<'_> {
    /// These samples in order, all of which must have been answered.
    fn answered_samples(&self, samples: &[SampleId]) -> Result<Vec<SampleId>, StoreError> {
        let mut samples = samples.to_vec();
        samples.sort_unstable();
        samples.dedup();
        if samples.is_empty() {
            return Err(StoreError::NoSamples);
        }
        for &sample in &samples {
            let state = "SELECT state FROM samples WHERE number = ?";
            let state = self.find(state, [sample], |row| row.get::<_, String>(0))?;
            if state.ok_or(StoreError::NoSample { sample })? == "waiting" {
                return Err(StoreError::NotAnswered { sample });
            }
        }
        Ok(samples)
    }

    /// Whether anybody has an opinion on the answer to a sample that is in force.
    fn has_opinion(&self, sample: SampleId) -> Result<bool, StoreError> {
        let query = format!(
            "SELECT kind = 'opinion' FROM event_samples JOIN events ON events.number = event WHERE sample = ? \
             AND (kind = 'opinion' OR kind IN {ANSWERS}) AND event NOT IN (SELECT event FROM undone) \
             ORDER BY event DESC LIMIT 1"
        );
        Ok(self.find(&query, [sample], |row| row.get(0))?.unwrap_or(false))
    }
}
