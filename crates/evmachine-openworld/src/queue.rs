//! The queue: which groups come next for whom, from any place on.
//!
//! What was handed out and not answered comes first, as it was and where it was; then groups with most unknowns; then those that were put
//! off; and last what others have before them, in reverse, so that two people who meet there come from both ends.

use std::fmt;
use std::str::FromStr;

use evmachine::Evm;
use rusqlite::{Connection, Row, params};

use crate::error::StoreError;
use crate::groups::{Group, GroupId, read_groups};
use crate::pool::{Pool, Write, list, now};

/// Seconds for which a group is kept for who got it.
const HELD: i64 = 600;

/// A place in the queue. It stays where it is while groups before it are answered or handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePlace([i64; 4]);

impl fmt::Display for QueuePlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [rank, a, b, c] = self.0;
        write!(formatter, "{rank}_{a}_{b}_{c}")
    }
}

/// Text that is no place in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("that is no place in the queue; give one as it came with groups")]
pub struct NoPlace;

impl FromStr for QueuePlace {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        let numbers: Result<Vec<i64>, _> = text.split('_').map(str::parse).collect();
        numbers.ok().and_then(|numbers| <[i64; 4]>::try_from(numbers).ok()).map(Self).ok_or(NoPlace)
    }
}

/// What is asked of the queue.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueueAsked<'a> {
    /// At most so many groups.
    pub count: usize,
    /// Those behind this place.
    pub after: Option<QueuePlace>,
    /// At most so many members of each.
    pub members: usize,
    /// Who asks: groups that others have come last.
    pub holder: Option<&'a str>,
}

/// Who has a group before them, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holding {
    /// Whose it is.
    pub holder: String,
    /// Until when, in seconds since 1970, unless they look at it again.
    pub until: i64,
}

/// A part of the queue.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct QueuePart {
    /// The groups, the next first.
    pub groups: Vec<Group>,
    /// Where it goes on; `None` at its end.
    pub next: Option<QueuePlace>,
}

impl QueuePart {
    /// Groups that were asked for one by one.
    pub fn of(groups: Vec<Group>) -> Self {
        Self { groups, next: None }
    }
}

/// Ranks: handed out 0, new 1, put off 2, held by others 3. `?1` is who asks, `?2` the time.
const ORDER: &str = "SELECT number, rank, a, b, c FROM (\
    SELECT number, handed, place, waiting, unknown, skipped, \
        CASE WHEN held_until > ?2 AND holder IS NOT ?1 THEN 3 WHEN skipped IS NOT NULL THEN 2 \
             WHEN handed IS NULL THEN 1 ELSE 0 END AS rank, \
        CASE WHEN held_until > ?2 AND holder IS NOT ?1 THEN -ifnull(place, 0) WHEN skipped IS NOT NULL THEN skipped \
             WHEN handed IS NULL THEN -unknown ELSE handed END AS a, \
        CASE WHEN held_until > ?2 AND holder IS NOT ?1 OR skipped IS NOT NULL THEN 0 \
             WHEN handed IS NULL THEN -waiting ELSE ifnull(place, 0) END AS b, \
        number AS c \
    FROM groups WHERE waiting > 0) \
    WHERE (rank, a, b, c) > (?3, ?4, ?5, ?6) ORDER BY rank, a, b, c LIMIT ?7";

/// The numbers of the next groups with their places.
fn next(
    database: &Connection,
    asked: &QueueAsked<'_>,
) -> Result<Vec<(GroupId, QueuePlace)>, rusqlite::Error> {
    let [rank, a, b, c] = asked.after.map_or([-1, 0, 0, 0], |place| place.0);
    let count = i64::try_from(asked.count).unwrap_or(i64::MAX);
    let read =
        |row: &Row<'_>| Ok((row.get(0)?, QueuePlace([row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?])));
    list(database, ORDER, params![asked.holder, now(), rank, a, b, c, count], read)
}

/// Where the queue goes on after these.
fn place_after(found: &[(GroupId, QueuePlace)], count: usize) -> Option<QueuePlace> {
    found.last().map(|(_, place)| *place).filter(|_| found.len() >= count)
}

impl Pool {
    /// The next groups, for who looks: nothing is changed, and nothing is kept for anybody.
    pub fn queue(&self, live: &Evm, asked: &QueueAsked<'_>) -> Result<QueuePart, StoreError> {
        // One state of the database for all questions.
        let view = self.database().unchecked_transaction().map_err(|error| self.failed(error))?;
        let found = next(&view, asked).map_err(|error| self.failed(error))?;
        let numbers: Vec<GroupId> = found.iter().map(|(number, _)| *number).collect();
        let (groups, _) = read_groups(&view, self.folder(), live, &numbers, asked.members)?;
        Ok(QueuePart { groups, next: place_after(&found, asked.count) })
    }

    /// The next groups, for who answers: from now on they stay as they are, and for a while others get them last.
    pub fn hand_out_to(&mut self, live: &Evm, asked: &QueueAsked<'_>) -> Result<QueuePart, StoreError> {
        self.write(|write| {
            let found = next(&write.transaction, asked).map_err(|error| write.failed(error))?;
            let numbers: Vec<GroupId> = found.iter().map(|(number, _)| *number).collect();
            for &group in &numbers {
                write.mark_handed(group)?;
                write.keep_for(group, asked.holder)?;
            }
            let groups = write.read_groups(live, &numbers, asked.members)?;
            Ok(QueuePart { groups, next: place_after(&found, asked.count) })
        })
    }

    /// Keeps a group that waits for who looks at it, for a while from now on, unless somebody else has it. Others get it last.
    pub fn hold(&mut self, group: GroupId, holder: &str) -> Result<Holding, StoreError> {
        self.write(|write| {
            write.refuse_answered(group)?;
            write.mark_handed(group)?;
            write.keep_for(group, Some(holder))?;
            let query = "SELECT holder, held_until FROM groups WHERE number = ?";
            let read = |row: &Row<'_>| Ok(Holding { holder: row.get(0)?, until: row.get(1)? });
            write.find(query, [group], read)?.ok_or(StoreError::NoGroup { group })
        })
    }

    /// Those of some groups that wait, in that order. Changes nothing.
    pub fn groups_by_number(
        &self,
        live: &Evm,
        numbers: &[GroupId],
        members: usize,
    ) -> Result<Vec<Group>, StoreError> {
        let view = self.database().unchecked_transaction().map_err(|error| self.failed(error))?;
        Ok(read_groups(&view, self.folder(), live, numbers, members)?.0)
    }
}

impl Write<'_> {
    /// Keeps a group for somebody, unless somebody else has it.
    fn keep_for(&self, group: GroupId, holder: Option<&str>) -> Result<(), StoreError> {
        let time = now();
        self.execute(
            "UPDATE groups SET holder = ?1, held_until = ?2 \
             WHERE number = ?3 AND ?1 IS NOT NULL AND (holder IS ?1 OR held_until IS NULL OR held_until <= ?4)",
            params![holder, time + HELD, group, time],
        )?;
        Ok(())
    }
}
