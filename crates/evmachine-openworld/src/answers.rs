//! What people say of samples.

use evmachine::Run;

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
            Self::Ignore => EventKind::Ignored,
            Self::Discard => EventKind::Discarded,
            Self::Reopen => EventKind::Reopened,
        }
    }
}

/// What it is said of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// These samples, answered already or not.
    Samples(&'a [SampleId]),
    /// The members of a group that wait, but for some, which go on to wait in other groups.
    Group {
        /// The group.
        group: GroupId,
        /// Members that do not belong to the others.
        except: &'a [SampleId],
    },
}

impl Pool {
    /// Takes an answer, and returns its event and how many samples it is about. A later answer to a sample replaces an earlier
    /// one, until a version that learned from it is live.
    pub fn answer(
        &mut self,
        run: &Run<'_>,
        target: &Target<'_>,
        answer: Answer<'_>,
        person: Option<&str>,
    ) -> Result<(EventId, usize), StoreError> {
        if answer == Answer::Label("") {
            return Err(StoreError::EmptyName);
        }
        let live = match target {
            Target::Group { except, .. } if !except.is_empty() => Some(self.live()?),
            _ => None,
        };
        self.write(|write| {
            let (samples, left) = write.resolve(target)?;
            write.refuse_learned(&samples)?;
            let label = if let Answer::Label(label) = answer { Some(label) } else { None };
            let event = NewEvent { label, ..NewEvent::new(answer.kind(), person) };
            let event = write.append(&event, &samples)?;
            write.follow_events(&samples)?;
            if let Target::Group { group, .. } = *target {
                write.mark_handed(group)?;
            }
            if let Some(live) = live
                && !left.is_empty()
            {
                write.move_to_groups(run, &live, &left)?;
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
                let mut samples = samples.to_vec();
                samples.sort_unstable();
                samples.dedup();
                (samples, Vec::new())
            }
            Target::Group { group, except } => {
                let query =
                    "SELECT number FROM samples WHERE group_number = ? AND state = 'waiting' ORDER BY number";
                let members: Vec<SampleId> = self.list(query, [group], |row| row.get(0))?;
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
}
