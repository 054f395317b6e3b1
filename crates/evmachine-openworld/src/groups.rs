//! Groups: what a person is shown at once.

use std::path::Path;

use evmachine::{Evm, Features, Run, finite};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::pool::{Pool, Write, list, now};
use crate::samples::{SampleId, vector};

/// Identifies a group. A group that was handed out keeps its number and its members until it is answered.
pub type GroupId = i64;

/// Known classes that are suggested with a group.
const SUGGESTED: usize = 3;

/// Samples that one answer may serve.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Group {
    /// Its number.
    pub number: GroupId,
    /// The sample around which the others lie.
    pub exemplar: SampleId,
    /// None of them is farther from it.
    pub radius: f64,
    /// The known classes that come nearest to the exemplar, best first.
    pub neighbors: Vec<Neighbor>,
    /// Samples of it that wait for an answer.
    pub size: usize,
    /// These, the nearest to the exemplar first; the first of them where so many were asked for.
    pub members: Vec<Member>,
    /// The numbers of all of them, in that order.
    #[serde(skip)]
    pub samples: Vec<SampleId>,
    /// Who has it before them, for now.
    #[serde(skip)]
    pub holder: Option<String>,
}

/// A known class near a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Neighbor {
    /// The class.
    pub class: String,
    /// How far the class lies above the threshold for the exemplar. `None` where it was looked for before
    /// it was kept.
    #[serde(default)]
    pub support: Option<f64>,
    /// Psi of the class for the exemplar, the paper's probability.
    #[serde(alias = "probability")]
    pub psi: f64,
    /// Distance of the exemplar to the extreme vector of the class that supports it most.
    pub distance: f64,
}

/// A sample of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Member {
    /// The sample.
    pub sample: SampleId,
    /// What its owner calls it.
    pub id: Option<String>,
    /// A text to show.
    pub text: Option<String>,
    /// Where the original is.
    pub link: Option<String>,
    /// Whether there is a picture to show.
    pub picture: bool,
    /// Its hash, as [`Picture::hash`](crate::Picture::hash) has it.
    #[serde(skip)]
    pub picture_hash: Option<String>,
    /// Distance to the exemplar.
    pub distance: f64,
    /// The class, when it was last decided; `None` is unknown.
    pub class: Option<String>,
    /// The class of the highest support then.
    pub best: String,
    /// Whether that class was supported enough to be known.
    pub known: bool,
}

impl Pool {
    /// The next groups to answer. Those that were handed out and not answered come first and as they were, unless only new ones
    /// are asked for; then those with most unknowns; and last those that were put off.
    pub fn next_groups(
        &mut self,
        run: &Run<'_>,
        count: usize,
        only_new: bool,
    ) -> Result<Vec<Group>, StoreError> {
        self.refresh(run)?;
        self.hand_out(count, only_new, usize::MAX)
    }

    /// As [`next_groups`](Self::next_groups), of the groups as they are, though a refresh may be due; with so many members of each.
    pub fn hand_out(
        &mut self,
        count: usize,
        only_new: bool,
        members: usize,
    ) -> Result<Vec<Group>, StoreError> {
        let live = self.live()?;
        self.write(|write| {
            let number = |row: &Row<'_>| row.get::<_, GroupId>(0);
            let left = |numbers: &[GroupId]| i64::try_from(count - numbers.len()).unwrap_or(i64::MAX);
            let mut numbers = Vec::new();
            if !only_new {
                let query = "SELECT number FROM groups WHERE handed IS NOT NULL AND waiting > 0 AND skipped IS NULL \
                             ORDER BY handed, place, number LIMIT ?";
                numbers = write.list(query, [left(&numbers)], number)?;
            }
            let query = "SELECT number FROM groups WHERE handed IS NULL AND waiting > 0 \
                         ORDER BY unknown DESC, waiting DESC, number LIMIT ?";
            for group in write.list(query, [left(&numbers)], number)? {
                write.mark_handed(group)?;
                numbers.push(group);
            }
            if !only_new {
                let query = "SELECT number FROM groups WHERE waiting > 0 AND skipped IS NOT NULL \
                             ORDER BY skipped LIMIT ?";
                numbers.extend(write.list(query, [left(&numbers)], number)?);
            }
            write.read_groups(&live, &numbers, members)
        })
    }

    /// Groups that wait for an answer.
    pub fn groups_left(&self) -> Result<u64, StoreError> {
        let query = "SELECT count(*) FROM groups WHERE waiting > 0";
        let count = self.database().query_row(query, [], |row| row.get::<_, i64>(0));
        count.map(|count| count as u64).map_err(|error| self.failed(error))
    }

    /// A group that waits for an answer, with so many of its members.
    pub fn group(&mut self, group: GroupId, members: usize) -> Result<Group, StoreError> {
        let live = self.live()?;
        self.groups_by_number(&live, &[group], members)?.pop().ok_or(StoreError::NoGroup { group })
    }
}

impl Write<'_> {
    pub(crate) fn refuse_answered(&self, group: GroupId) -> Result<(), StoreError> {
        let query = "SELECT 1 FROM groups WHERE number = ? AND waiting > 0";
        self.find(query, [group], |_| Ok(()))?.ok_or(StoreError::NoGroup { group })
    }

    /// From now on it stays as it is, behind those that were handed out before.
    pub(crate) fn mark_handed(&mut self, group: GroupId) -> Result<(), StoreError> {
        self.execute(
            "UPDATE groups SET handed = ?, place = (SELECT ifnull(max(place), 0) + 1 FROM groups) \
             WHERE number = ? AND handed IS NULL",
            [now(), group],
        )?;
        if let Some(groups) = &mut self.groups {
            groups.grouping.close(group as u64);
        }
        Ok(())
    }

    /// Groups that wait, in the order of their numbers in the list; the known classes near them are kept with them.
    pub(crate) fn read_groups(
        &self,
        live: &Evm,
        numbers: &[GroupId],
        members: usize,
    ) -> Result<Vec<Group>, StoreError> {
        let (groups, looked_for) = read_groups(&self.transaction, self.folder, live, numbers, members)?;
        for group in groups.iter().filter(|group| looked_for.contains(&group.number)) {
            let written = serde_json::to_string(&group.neighbors).unwrap_or_default();
            self.execute("UPDATE groups SET neighbors = ? WHERE number = ?", params![written, group.number])?;
        }
        Ok(groups)
    }

    /// Counts again what waits in the groups of these samples.
    pub(crate) fn count_groups_of(&mut self, samples: &[SampleId]) -> Result<(), StoreError> {
        let mut groups = Vec::with_capacity(samples.len());
        for &sample in samples {
            let query = "SELECT group_number FROM samples WHERE number = ?";
            groups.extend(self.find(query, [sample], |row| row.get::<_, GroupId>(0))?);
        }
        groups.sort_unstable();
        groups.dedup();
        for group in groups {
            self.count_group(group)?;
        }
        Ok(())
    }

    /// Nothing joins a group without a member that waits.
    pub(crate) fn count_group(&mut self, group: GroupId) -> Result<(), StoreError> {
        let statement = "UPDATE groups SET (waiting, unknown) = (SELECT count(*), count(*) FILTER (WHERE known = 0) \
                         FROM samples WHERE group_number = groups.number AND state = 'waiting') WHERE number = ?";
        self.execute(statement, [group])?;
        let waiting = self.find("SELECT waiting FROM groups WHERE number = ?", [group], |row| row.get(0))?;
        if waiting == Some(0)
            && let Some(groups) = &mut self.groups
        {
            groups.grouping.close(group as u64);
        }
        Ok(())
    }
}

/// What is written of a group: neighbours as JSON, and the vector of the exemplar.
struct Written {
    group: Group,
    neighbors: Option<String>,
    exemplar: Vec<f32>,
}

/// Groups that wait, in the order of their numbers in the list, and those whose neighbours were not written and have been looked for.
/// Changes nothing.
pub(crate) fn read_groups(
    database: &Connection,
    folder: &Path,
    live: &Evm,
    numbers: &[GroupId],
    members: usize,
) -> Result<(Vec<Group>, Vec<GroupId>), StoreError> {
    let failed = |error| StoreError::database(folder, error);
    let mut found: Vec<Written> = Vec::with_capacity(numbers.len());
    for &number in numbers {
        found.extend(read_group(database, number, members).map_err(failed)?);
    }
    let mut unsuggested: Vec<&mut Written> = Vec::new();
    for written in &mut found {
        let neighbors = written.neighbors.as_deref().and_then(|text| serde_json::from_str(text).ok());
        match neighbors {
            Some(neighbors) => written.group.neighbors = neighbors,
            None => unsuggested.push(written),
        }
    }
    let looked_for = unsuggested.iter().map(|written| written.group.number).collect();
    if !unsuggested.is_empty() {
        let vectors = unsuggested.iter().flat_map(|written| written.exemplar.iter().copied()).collect();
        let suggested = suggest(live, vectors)?;
        for (written, neighbors) in unsuggested.into_iter().zip(suggested) {
            written.group.neighbors = neighbors;
        }
    }
    Ok((found.into_iter().map(|written| written.group).collect(), looked_for))
}

fn read_group(
    database: &Connection,
    number: GroupId,
    members: usize,
) -> Result<Option<Written>, rusqlite::Error> {
    let query = "SELECT exemplar, radius, neighbors, features, waiting, CASE WHEN held_until > ? THEN holder END FROM groups \
                 JOIN contents ON contents.number = exemplar WHERE groups.number = ? AND waiting > 0";
    let mut query = database.prepare_cached(query)?;
    let read = |row: &Row<'_>| {
        let group = Group {
            number,
            exemplar: row.get(0)?,
            radius: row.get(1)?,
            neighbors: Vec::new(),
            size: row.get::<_, i64>(4)? as usize,
            members: Vec::new(),
            samples: Vec::new(),
            holder: row.get(5)?,
        };
        Ok(Written { group, neighbors: row.get(2)?, exemplar: vector(row.get_ref(3)?.as_blob()?) })
    };
    let Some(mut written) = query.query_row([now(), number], read).optional()? else { return Ok(None) };
    let samples =
        "SELECT number FROM samples WHERE group_number = ? AND state = 'waiting' ORDER BY distance, number";
    written.group.samples = list(database, samples, [number], |row| row.get(0))?;
    let query = "SELECT number, client_id, text, link, picture IS NOT NULL, distance, class, known, picture_hash FROM samples \
                 JOIN contents USING (number) WHERE group_number = ? AND state = 'waiting' \
                 ORDER BY distance, number LIMIT ?";
    let member = |row: &Row<'_>| {
        let (best, known): (String, bool) = (row.get(6)?, row.get(7)?);
        Ok(Member {
            sample: row.get(0)?,
            id: row.get(1)?,
            text: row.get(2)?,
            link: row.get(3)?,
            picture: row.get(4)?,
            distance: row.get(5)?,
            class: known.then(|| best.clone()),
            best,
            known,
            picture_hash: row.get(8)?,
        })
    };
    let limit = i64::try_from(members).unwrap_or(i64::MAX);
    written.group.members = list(database, query, [number, limit], member)?;
    Ok(Some(written))
}

/// The known classes that come nearest to each of some exemplars, whose vectors follow each other. The processor finds them, always:
/// they are kept with the group, and are to be the same whoever asked first.
fn suggest(live: &Evm, vectors: Vec<f32>) -> Result<Vec<Vec<Neighbor>>, StoreError> {
    let features = Features::new(vectors, live.dimensions())?;
    let (reasons, supports) = (live.explain(&features, SUGGESTED)?, live.class_supports(&features)?);
    let classes = live.classes().len();
    let near = reasons.iter().enumerate().map(|(row, reasons)| {
        let neighbors = reasons.classes.iter().map(|evidence| Neighbor {
            class: live.class_name(evidence.class).to_owned(),
            support: Some(finite(supports[row * classes + evidence.class])),
            psi: evidence.probability,
            distance: evidence.extreme_vectors.first().map_or(f64::MAX, |speaker| speaker.distance),
        });
        neighbors.collect()
    });
    Ok(near.collect())
}
