//! Groups: what a person is shown at once.

use evmachine::{Evm, Features, Run};
use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::pool::{Pool, Write, now};
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
    /// Distance to the exemplar.
    pub distance: f64,
    /// The class it was decided to be nearest to.
    pub class: String,
    /// Whether that class is known to be its own.
    pub known: bool,
}

/// Exemplar, radius, neighbours as JSON, the vector of the exemplar, members that wait.
type Written = (SampleId, f64, Option<String>, Vec<f32>, usize);

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
            numbers.into_iter().map(|group| write.group(&live, group, members)).collect()
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
        self.write(|write| write.group(&live, group, members))
    }

    /// Puts a group off: it comes when all others have.
    pub fn skip(&mut self, group: GroupId) -> Result<(), StoreError> {
        self.write(|write| {
            write.refuse_answered(group)?;
            write.mark_handed(group)?;
            let statement =
                "UPDATE groups SET skipped = (SELECT ifnull(max(skipped), 0) + 1 FROM groups) WHERE number = ?";
            write.execute(statement, [group])?;
            Ok(())
        })
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

    pub(crate) fn group(&self, live: &Evm, number: GroupId, members: usize) -> Result<Group, StoreError> {
        let query = "SELECT exemplar, radius, neighbors, features, waiting FROM groups \
                     JOIN contents ON contents.number = exemplar WHERE groups.number = ? AND waiting > 0";
        let read = |row: &Row<'_>| {
            let vector = vector(row.get_ref(3)?.as_blob()?);
            let size = row.get::<_, i64>(4)? as usize;
            Ok((row.get(0)?, row.get(1)?, row.get::<_, Option<String>>(2)?, vector, size))
        };
        let found: Option<Written> = self.find(query, [number], read)?;
        let (exemplar, radius, written, vector, size) = found.ok_or(StoreError::NoGroup { group: number })?;
        let neighbors = match written.and_then(|written| serde_json::from_str(&written).ok()) {
            Some(neighbors) => neighbors,
            None => self.suggest(live, number, vector)?,
        };
        let query = "SELECT number, client_id, text, link, picture IS NOT NULL, distance, class, known FROM samples \
                     JOIN contents USING (number) WHERE group_number = ? AND state = 'waiting' \
                     ORDER BY distance, number LIMIT ?";
        let member = |row: &Row<'_>| {
            Ok(Member {
                sample: row.get(0)?,
                id: row.get(1)?,
                text: row.get(2)?,
                link: row.get(3)?,
                picture: row.get(4)?,
                distance: row.get(5)?,
                class: row.get(6)?,
                known: row.get(7)?,
            })
        };
        let limit = i64::try_from(members).unwrap_or(i64::MAX);
        let members = self.list(query, [number, limit], member)?;
        Ok(Group { number, exemplar, radius, neighbors, size, members })
    }

    /// The known classes that come nearest to an exemplar; kept with the group.
    fn suggest(&self, live: &Evm, group: GroupId, vector: Vec<f32>) -> Result<Vec<Neighbor>, StoreError> {
        let columns = vector.len();
        let features = Features::new(vector, columns)?;
        let (reasons, supports) = (live.explain(&features, SUGGESTED)?, live.class_supports(&features)?);
        let classes = reasons.iter().flat_map(|reasons| &reasons.classes);
        let neighbors: Vec<Neighbor> = classes
            .map(|evidence| Neighbor {
                class: live.class_name(evidence.class).to_owned(),
                support: Some(supports[evidence.class].clamp(f64::MIN, f64::MAX)),
                psi: evidence.probability,
                distance: evidence.speakers.first().map_or(f64::MAX, |speaker| speaker.distance),
            })
            .collect();
        let written = serde_json::to_string(&neighbors).unwrap_or_default();
        self.execute("UPDATE groups SET neighbors = ? WHERE number = ?", params![written, group])?;
        Ok(neighbors)
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
