//! What people say of samples.

use evmachine::{Run, UNKNOWN, class_name};
use rusqlite::Row;
use serde::Serialize;

use crate::error::StoreError;
use crate::events::{EventId, EventKind, NewEvent};
use crate::groups::GroupId;
use crate::pool::{Pool, Write};
use crate::samples::SampleId;

/// What is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer<'a> {
    /// They are of that class.
    Label(&'a str),
    /// The system takes them to be of that class, by itself: a rule may ask that a person confirms it, by a label, before they are
    /// learned ([`Pool::set_enrolment`]).
    Propose(&'a str),
    /// They are strangers, and are to stay strangers.
    Ignore,
    /// They are of no use.
    Discard,
    /// Nothing yet: they wait again.
    Reopen,
}

impl Answer<'_> {
    fn kind(self) -> EventKind {
        match self {
            Self::Label(_) => EventKind::Labelled,
            Self::Propose(_) => EventKind::Proposed,
            Self::Ignore => EventKind::Ignored,
            Self::Discard => EventKind::Discarded,
            Self::Reopen => EventKind::Reopened,
        }
    }
}

/// A sample that waits no more, and what was said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AnsweredAlready {
    /// The sample.
    pub sample: SampleId,
    /// labelled, ignored or discarded.
    pub state: String,
    /// The class, where it got one.
    pub label: Option<String>,
    /// Who said so, where that was said.
    pub person: Option<String>,
}

impl std::fmt::Display for AnsweredAlready {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.label {
            Some(label) => write!(formatter, "sample {} was named {label:?}", self.sample)?,
            None => write!(formatter, "sample {} was {}", self.sample, self.state)?,
        }
        self.person.iter().try_for_each(|person| write!(formatter, " by {person}"))
    }
}

/// What it is said of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// These samples, answered already or not.
    Samples(&'a [SampleId]),
    /// These samples, as somebody sees them: all of them must wait, or nothing is answered.
    Waiting {
        /// The samples.
        samples: &'a [SampleId],
        /// The group that they were shown in, if any: those of its members that are not meant go on to wait in other groups.
        group: Option<GroupId>,
    },
    /// The members of a group that wait, but for some, which go on to wait in other groups.
    Group {
        /// The group.
        group: GroupId,
        /// Members that do not belong to the others.
        except: &'a [SampleId],
    },
}

impl Pool {
    /// Refuses a name that no class may have, unless the live version has a class of it.
    pub fn check_name(&mut self, name: &str) -> Result<(), StoreError> {
        if name == UNKNOWN || self.live()?.class_index(name).is_none() {
            class_name::check(name)?;
        }
        Ok(())
    }

    /// Takes an answer, and returns its event and how many samples it is about. A later answer to a sample replaces an earlier
    /// one, until a version that learned from it is live.
    pub fn answer(
        &mut self,
        run: &Run<'_>,
        target: &Target<'_>,
        answer: Answer<'_>,
        person: Option<&str>,
    ) -> Result<(EventId, usize), StoreError> {
        let live = self.live()?;
        let label = match answer {
            Answer::Label(name) | Answer::Propose(name) => Some(name),
            Answer::Ignore | Answer::Discard | Answer::Reopen => None,
        };
        if let Some(name) = label {
            self.check_name(name)?;
        }
        self.write(|write| {
            let (samples, left) = write.resolve(target)?;
            write.refuse_learned(&samples)?;
            let event = NewEvent { label, ..NewEvent::new(answer.kind(), person) };
            let event = write.append(&event, &samples)?;
            write.follow_events(&samples)?;
            if let Target::Group { group, .. } | Target::Waiting { group: Some(group), .. } = *target {
                write.mark_handed(group)?;
            }
            if !left.is_empty() {
                let before = write.sketch(&left, &[])?;
                write.move_to_groups(run, &live, &left)?;
                write.keep_arrangement(event, before)?;
            }
            Ok((event, samples.len()))
        })
    }
}

impl Write<'_> {
    /// The samples that an answer is about, and those of the group that it leaves.
    fn resolve(&self, target: &Target<'_>) -> Result<(Vec<SampleId>, Vec<SampleId>), StoreError> {
        let (chosen, left) = match *target {
            Target::Samples(samples) => {
                for &sample in samples {
                    let found = self.find("SELECT 1 FROM samples WHERE number = ?", [sample], |_| Ok(()))?;
                    found.ok_or(StoreError::NoSample { sample })?;
                }
                (in_order(samples), Vec::new())
            }
            Target::Waiting { samples, group } => {
                let samples = in_order(samples);
                self.refuse_answered_already(&samples)?;
                let members = group.map_or(Ok(Vec::new()), |group| self.waiting_members(group))?;
                let left = members.into_iter().filter(|member| samples.binary_search(member).is_err());
                let left = left.collect();
                (samples, left)
            }
            Target::Group { group, except } => {
                let members = self.waiting_members(group)?;
                if members.is_empty() {
                    return Err(StoreError::NoGroup { group });
                }
                if let Some(&sample) = except.iter().find(|sample| !members.contains(sample)) {
                    return Err(StoreError::NotInGroup { sample, group });
                }
                members.into_iter().partition(|member| !except.contains(member))
            }
        };
        if chosen.is_empty() { Err(StoreError::NoSamples) } else { Ok((chosen, left)) }
    }

    /// The members of a group that wait, by number.
    fn waiting_members(&self, group: GroupId) -> Result<Vec<SampleId>, StoreError> {
        let query = "SELECT number FROM samples WHERE group_number = ? AND state = 'waiting' ORDER BY number";
        self.list(query, [group], |row| row.get(0))
    }

    /// Whoever answered first has answered.
    fn refuse_answered_already(&self, samples: &[SampleId]) -> Result<(), StoreError> {
        let mut answered = Vec::new();
        for &sample in samples {
            let query = "SELECT state, label FROM samples WHERE number = ?";
            let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get(1)?));
            let (state, label) = self.find(query, [sample], read)?.ok_or(StoreError::NoSample { sample })?;
            if state != "waiting" {
                let person = self.answered_by(sample)?;
                answered.push(AnsweredAlready { sample, state, label, person });
            }
        }
        let meant = samples.len();
        if answered.is_empty() { Ok(()) } else { Err(StoreError::AnsweredAlready { answered, meant }) }
    }
}

fn in_order(samples: &[SampleId]) -> Vec<SampleId> {
    let mut samples = samples.to_vec();
    samples.sort_unstable();
    samples.dedup();
    samples
}
