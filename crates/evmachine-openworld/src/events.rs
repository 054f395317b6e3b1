//! What happened, appended and never changed, and what of it is in force.
//!
//! An event is in force unless an event that is in force undoes it. The state of a sample is what the last of the answers to it says
//! that is in force.

use std::fmt;

use rusqlite::{Row, params};
use serde::Serialize;

use crate::error::StoreError;
use crate::pool::{Pool, Write, now};
use crate::samples::{SampleId, State};
use crate::versions::{LINEAGE, Names};

/// Identifies an event, for as long as the pool lives.
pub type EventId = i64;

/// What an event did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// Samples got a label.
    Labelled,
    /// The system gave samples a label by itself.
    Proposed,
    /// Samples are to stay strangers.
    Ignored,
    /// Samples are of no use.
    Discarded,
    /// Samples wait again.
    Reopened,
    /// A version was made of what was labelled, and is live.
    Updated,
    /// A version was made by a correction, and is live.
    Edited,
    /// Another version is live.
    Promoted,
    /// A group was parted.
    Split,
    /// Groups were put together.
    Merged,
    /// A group was put off.
    Skipped,
    /// A second opinion was asked for.
    Asked,
    /// A second opinion was given.
    Opinion,
    /// Another event is not in force any more.
    Undone,
}

impl EventKind {
    const ALL: [Self; 14] = [
        Self::Labelled,
        Self::Proposed,
        Self::Ignored,
        Self::Discarded,
        Self::Reopened,
        Self::Updated,
        Self::Edited,
        Self::Promoted,
        Self::Split,
        Self::Merged,
        Self::Skipped,
        Self::Asked,
        Self::Opinion,
        Self::Undone,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Labelled => "labelled",
            Self::Proposed => "proposed",
            Self::Ignored => "ignored",
            Self::Discarded => "discarded",
            Self::Reopened => "reopened",
            Self::Updated => "updated",
            Self::Edited => "edited",
            Self::Promoted => "promoted",
            Self::Split => "split",
            Self::Merged => "merged",
            Self::Skipped => "skipped",
            Self::Asked => "asked",
            Self::Opinion => "opinion",
            Self::Undone => "undone",
        }
    }

    fn read(name: &str) -> Result<Self, rusqlite::Error> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or(rusqlite::Error::InvalidQuery)
    }

    /// Whether it says which version is live.
    pub fn changes_live(self) -> bool {
        matches!(self, Self::Updated | Self::Edited | Self::Promoted)
    }

    /// Whether it says what samples are.
    fn answers(self) -> bool {
        matches!(self, Self::Labelled | Self::Proposed | Self::Ignored | Self::Discarded | Self::Reopened)
    }

    /// Whether it says only how samples lie in groups.
    pub(crate) fn arranges(self) -> bool {
        matches!(self, Self::Split | Self::Merged | Self::Skipped)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Event {
    /// Its number.
    pub number: EventId,
    /// What it did.
    pub kind: EventKind,
    /// When, in seconds since 1970.
    pub time: i64,
    /// Who did it, where that was said.
    pub person: Option<String>,
    /// The class that samples got, or what was corrected.
    pub label: Option<String>,
    /// The event that it undid.
    pub target: Option<EventId>,
    /// The version that became live.
    pub model: Option<String>,
    /// How many samples it is about.
    pub samples: u64,
    /// Whether nothing undid it.
    pub in_force: bool,
}

/// An event to append.
pub(crate) struct NewEvent<'a> {
    pub(crate) kind: EventKind,
    pub(crate) person: Option<&'a str>,
    pub(crate) label: Option<&'a str>,
    pub(crate) target: Option<EventId>,
    /// The version that becomes live, and the names before it.
    pub(crate) model: Option<(&'a str, &'a Names)>,
}

impl<'a> NewEvent<'a> {
    pub(crate) fn new(kind: EventKind, person: Option<&'a str>) -> Self {
        Self { kind, person, label: None, target: None, model: None }
    }
}

/// Events as [`read_event`] reads them.
const EVENTS: &str = "SELECT number, kind, time, person, label, target, model, \
                      (SELECT count(*) FROM event_samples WHERE event = number), \
                      number NOT IN (SELECT event FROM undone) FROM events";

fn read_event(row: &Row<'_>) -> Result<Event, rusqlite::Error> {
    Ok(Event {
        number: row.get(0)?,
        kind: EventKind::read(&row.get::<_, String>(1)?)?,
        time: row.get(2)?,
        person: row.get(3)?,
        label: row.get(4)?,
        target: row.get(5)?,
        model: row.get(6)?,
        samples: row.get::<_, i64>(7)? as u64,
        in_force: row.get(8)?,
    })
}

impl Pool {
    /// All events, the first one first.
    pub fn events(&self) -> Result<Vec<Event>, StoreError> {
        let mut events = self.last_events(usize::MAX, None)?;
        events.reverse();
        Ok(events)
    }

    /// The last events, or the last before one of them; the latest first.
    pub fn last_events(&self, count: usize, before: Option<EventId>) -> Result<Vec<Event>, StoreError> {
        let query = format!("{EVENTS} WHERE number < ? ORDER BY number DESC LIMIT ?");
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.list(&query, [before.unwrap_or(i64::MAX), count], read_event)
    }

    /// The events about a sample, the latest first.
    pub fn events_of(&self, sample: SampleId) -> Result<Vec<Event>, StoreError> {
        let query = format!(
            "{EVENTS} WHERE number IN (SELECT event FROM event_samples WHERE sample = ?) ORDER BY number DESC"
        );
        self.list(&query, [sample], read_event)
    }

    /// By person, how many answers they gave since a time that are in force, and of how many samples; the most first.
    pub fn answers_since(&self, time: i64) -> Result<Vec<(String, u64, u64)>, StoreError> {
        let query = "SELECT person, count(DISTINCT number), count(*) FROM events JOIN event_samples ON event = number \
                     WHERE person IS NOT NULL AND time >= ? AND kind IN ('labelled', 'ignored', 'discarded') \
                     AND number NOT IN (SELECT event FROM undone) GROUP BY person ORDER BY 2 DESC, 1";
        let read =
            |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64, row.get::<_, i64>(2)? as u64));
        self.list(query, [time], read)
    }

    /// Undoes an event: all is as if it had not been. Unless one is named, the last that is in force and not itself an undoing.
    /// Returns the event that was undone and the one that says so, which can be undone too.
    pub fn undo(
        &mut self,
        event: Option<EventId>,
        person: Option<&str>,
    ) -> Result<(EventId, EventId), StoreError> {
        self.write(|write| write.undo(event, person))
    }

    /// The last event in force that is no undoing and leaves the live version as it is; with a name, the last of that person.
    pub fn last_answer(&self, person: Option<&str>) -> Result<Option<EventId>, StoreError> {
        let query = "SELECT number FROM events WHERE kind NOT IN ('undone', 'updated', 'edited', 'promoted') \
                     AND (?1 IS NULL OR person = ?1) AND number NOT IN (SELECT event FROM undone) \
                     ORDER BY number DESC LIMIT 1";
        Ok(self.list(query, [person], |row| row.get(0))?.pop())
    }

    /// What undoing an event would take back, or bring back: the kind of the event at the end of a chain of undoings.
    pub fn undoes(&mut self, event: EventId) -> Result<EventKind, StoreError> {
        self.write(|write| write.root(event).map(|(_, kind)| kind))
    }
}

impl Write<'_> {
    pub(crate) fn append(
        &mut self,
        event: &NewEvent<'_>,
        samples: &[SampleId],
    ) -> Result<EventId, StoreError> {
        let (model, before) = event.model.unzip();
        self.execute(
            "INSERT INTO events (kind, time, person, label, target, model, live_before, previous_before) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                event.kind.name(),
                now(),
                event.person,
                event.label,
                event.target,
                model,
                before.map(|before| &before.live),
                before.and_then(|before| before.previous.as_ref())
            ],
        )?;
        let number = self.transaction.last_insert_rowid();
        for sample in samples {
            self.execute("INSERT INTO event_samples (event, sample) VALUES (?, ?)", [number, *sample])?;
        }
        Ok(number)
    }

    fn undo(
        &mut self,
        event: Option<EventId>,
        person: Option<&str>,
    ) -> Result<(EventId, EventId), StoreError> {
        let last = "SELECT number FROM events WHERE kind <> 'undone' AND number NOT IN (SELECT event FROM undone) \
                    ORDER BY number DESC LIMIT 1";
        let event = match event {
            Some(event) => event,
            None => self.find(last, [], |row| row.get(0))?.ok_or(StoreError::NothingToUndo)?,
        };
        if !self.is_in_force(event)? {
            return Err(StoreError::AlreadyUndone { event });
        }
        let (root, kind) = self.root(event)?;
        let samples: Vec<SampleId> =
            self.list("SELECT sample FROM event_samples WHERE event = ?", [root], |row| row.get(0))?;
        if kind.answers() {
            self.refuse_learned(&samples)?;
        }
        let target = Some(event);
        let undoing = self.append(&NewEvent { target, ..NewEvent::new(EventKind::Undone, person) }, &[])?;
        let was_in_force = self.is_in_force(root)?;
        self.follow_undoing(event)?;
        let comes_back = self.is_in_force(root)?;
        if kind.changes_live() && comes_back != was_in_force {
            self.turn_live(root, kind, comes_back)?;
        }
        if !kind.changes_live() {
            if comes_back != was_in_force {
                self.turn_arrangement(root, kind, comes_back)?;
            }
            self.follow_events(&samples)?;
            // Groups that were answered may wait again.
            self.groups = None;
        }
        Ok((event, undoing))
    }

    fn is_in_force(&self, event: EventId) -> Result<bool, StoreError> {
        let query = "SELECT number NOT IN (SELECT event FROM undone) FROM events WHERE number = ?";
        self.find(query, [event], |row| row.get(0))?.ok_or(StoreError::NoEvent { event })
    }

    /// The event that is no undoing at the end of a chain of them.
    fn root(&self, event: EventId) -> Result<(EventId, EventKind), StoreError> {
        let mut at = event;
        loop {
            let read = |row: &Row<'_>| {
                Ok((EventKind::read(&row.get::<_, String>(0)?)?, row.get::<_, Option<EventId>>(1)?))
            };
            let found = self.find("SELECT kind, target FROM events WHERE number = ?", [at], read)?;
            match found.ok_or(StoreError::NoEvent { event: at })? {
                (EventKind::Undone, Some(target)) => at = target,
                (kind, _) => return Ok((at, kind)),
            }
        }
    }

    /// Gives the names back that an event changed, or changes them again, if nothing changed them since.
    fn turn_live(&self, event: EventId, kind: EventKind, comes_back: bool) -> Result<(), StoreError> {
        let query = "SELECT model, live_before, previous_before FROM events WHERE number = ?";
        let read = |row: &Row<'_>| Ok((row.get(0)?, Names { live: row.get(1)?, previous: row.get(2)? }));
        let (model, before): (String, Names) =
            self.find(query, [event], read)?.ok_or(StoreError::NoEvent { event })?;
        let after = Names { live: model, previous: Some(before.live.clone()) };
        let (from, to) = if comes_back { (before, after) } else { (after, before) };
        if self.names()? != from {
            return Err(StoreError::NotTheLast { event, kind });
        }
        self.set_names(&to.live, to.previous.as_deref())
    }

    /// Has an event that was just undone follow, and what it undid in turn: an event may be undone by several, and is in force if none of
    /// these is.
    fn follow_undoing(&self, event: EventId) -> Result<(), StoreError> {
        let mut at = Some(event);
        while let Some(event) = at {
            let undoes = "SELECT 1 FROM events WHERE kind = 'undone' AND target = ? \
                          AND number NOT IN (SELECT event FROM undone) LIMIT 1";
            let in_force = self.find(undoes, [event], |_| Ok(()))?.is_none();
            let statement = if in_force {
                "DELETE FROM undone WHERE event = ?"
            } else {
                "INSERT INTO undone (event) VALUES (?) ON CONFLICT DO NOTHING"
            };
            // Where nothing changes here, nothing changes further on.
            if self.execute(statement, [event])? == 0 {
                return Ok(());
            }
            let target = "SELECT target FROM events WHERE number = ? AND kind = 'undone'";
            at = self.find(target, [event], |row| row.get(0))?;
        }
        Ok(())
    }

    /// What the events say of a sample, and whether it was the system that said so.
    pub(crate) fn state_by_events(&self, sample: SampleId) -> Result<(State, bool), StoreError> {
        let query = "SELECT kind, events.label FROM event_samples JOIN events ON events.number = event \
                     WHERE sample = ? AND kind IN ('labelled', 'proposed', 'ignored', 'discarded', 'reopened') \
                     AND event NOT IN (SELECT event FROM undone) ORDER BY event DESC LIMIT 1";
        let read = |row: &Row<'_>| {
            let kind = EventKind::read(&row.get::<_, String>(0)?)?;
            let name = match kind {
                EventKind::Reopened => "waiting",
                EventKind::Proposed => "labelled",
                other => other.name(),
            };
            let state = State::from_columns(name, row.get(1)?).ok_or(rusqlite::Error::InvalidQuery)?;
            Ok((state, kind == EventKind::Proposed))
        };
        Ok(self.find(query, [sample], read)?.unwrap_or((State::Waiting, false)))
    }

    /// Who gave the answer to a sample that is in force.
    pub(crate) fn answered_by(&self, sample: SampleId) -> Result<Option<String>, StoreError> {
        let query = "SELECT person FROM event_samples JOIN events ON events.number = event \
                     WHERE sample = ? AND kind IN ('labelled', 'proposed', 'ignored', 'discarded', 'reopened') \
                     AND event NOT IN (SELECT event FROM undone) ORDER BY event DESC LIMIT 1";
        Ok(self.find(query, [sample], |row| row.get(0))?.flatten())
    }

    /// Brings the states of samples, and the counts of their groups, up to the events.
    pub(crate) fn follow_events(&mut self, samples: &[SampleId]) -> Result<(), StoreError> {
        for &sample in samples {
            let (state, proposed) = self.state_by_events(sample)?;
            let (state, label) = state.columns();
            self.execute(
                "UPDATE samples SET state = ?, label = ?, proposed = ? WHERE number = ?",
                params![state, label, proposed, sample],
            )?;
        }
        self.count_groups_of(samples)
    }

    /// What the live version has learned stays answered as it was learned.
    pub(crate) fn refuse_learned(&self, samples: &[SampleId]) -> Result<(), StoreError> {
        let query = format!(
            "{LINEAGE} SELECT sample FROM event_samples JOIN events ON events.number = event \
             WHERE sample = ? AND kind = 'updated' AND model IN (SELECT hash FROM lineage)"
        );
        for &sample in samples {
            if self.find(&query, [sample], |_| Ok(()))?.is_some() {
                return Err(StoreError::AlreadyLearned { sample });
            }
        }
        Ok(())
    }
}
