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
    /// Its samples that wait for an answer, the nearest to the exemplar first.
    pub members: Vec<Member>,
}

/// A known class near a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Neighbor {
    /// The class.
    pub class: String,
    /// P of the class for the exemplar.
    pub probability: f64,
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
    /// Distance to the exemplar.
    pub distance: f64,
    /// The class it was decided to be nearest to.
    pub class: String,
    /// Whether that class is known to be its own.
    pub known: bool,
}

impl Pool {
    /// The next groups to answer. Those that were handed out and not answered come first and as they were, unless only new ones
    /// are asked for; then those with most unknowns.
    pub fn next_groups(
        &mut self,
        run: &Run<'_>,
        count: usize,
        only_new: bool,
    ) -> Result<Vec<Group>, StoreError> {
        self.refresh(run)?;
        let live = self.live()?;
        let limit = i64::try_from(count).unwrap_or(i64::MAX);
        self.write(|write| {
            let number = |row: &Row<'_>| row.get::<_, GroupId>(0);
            let mut numbers = Vec::new();
            if !only_new {
                let query = "SELECT number FROM groups WHERE handed IS NOT NULL AND waiting > 0 \
                             ORDER BY handed, number LIMIT ?";
                numbers = write.list(query, [limit], number)?;
            }
            let query = "SELECT number FROM groups WHERE handed IS NULL AND waiting > 0 \
                         ORDER BY unknown DESC, waiting DESC, number LIMIT ?";
            for group in
                write.list(query, [i64::try_from(count - numbers.len()).unwrap_or(i64::MAX)], number)?
            {
                write.execute("UPDATE groups SET handed = ? WHERE number = ?", [now(), group])?;
                if let Some(groups) = &mut write.groups {
                    groups.grouping.close(group as u64);
                }
                numbers.push(group);
            }
            numbers.into_iter().map(|group| write.group(&live, group)).collect()
        })
    }
}

impl Write<'_> {
    fn group(&self, live: &Evm, number: GroupId) -> Result<Group, StoreError> {
        let query = "SELECT exemplar, radius, neighbors, features FROM groups \
                     JOIN contents ON contents.number = exemplar WHERE groups.number = ?";
        let read = |row: &Row<'_>| {
            let vector = vector(row.get_ref(3)?.as_blob()?);
            Ok((row.get(0)?, row.get(1)?, row.get::<_, Option<String>>(2)?, vector))
        };
        let found: Option<(SampleId, f64, Option<String>, Vec<f32>)> = self.find(query, [number], read)?;
        let (exemplar, radius, written, vector) = found.ok_or(StoreError::NoGroup { group: number })?;
        let neighbors = match written.and_then(|written| serde_json::from_str(&written).ok()) {
            Some(neighbors) => neighbors,
            None => self.suggest(live, number, vector)?,
        };
        let members = "SELECT number, client_id, text, link, distance, class, known FROM samples \
                       JOIN contents USING (number) WHERE group_number = ? AND state = 'waiting' \
                       ORDER BY distance, number";
        let member = |row: &Row<'_>| {
            Ok(Member {
                sample: row.get(0)?,
                id: row.get(1)?,
                text: row.get(2)?,
                link: row.get(3)?,
                distance: row.get(4)?,
                class: row.get(5)?,
                known: row.get(6)?,
            })
        };
        Ok(Group { number, exemplar, radius, neighbors, members: self.list(members, [number], member)? })
    }

    /// The known classes that come nearest to an exemplar; kept with the group.
    fn suggest(&self, live: &Evm, group: GroupId, vector: Vec<f32>) -> Result<Vec<Neighbor>, StoreError> {
        let columns = vector.len();
        let reasons = live.explain(&Features::new(vector, columns)?, SUGGESTED)?;
        let classes = reasons.iter().flat_map(|reasons| &reasons.classes);
        let neighbors: Vec<Neighbor> = classes
            .map(|evidence| Neighbor {
                class: live.class_name(evidence.class).to_owned(),
                probability: evidence.probability,
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
