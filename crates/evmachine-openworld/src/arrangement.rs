//! How samples lie in groups before and after an event: what parting, merging, putting off and leaving strays out change, kept with the
//! event, so that undoing it gives back what was there.

use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::events::{EventId, EventKind};
use crate::groups::GroupId;
use crate::pool::Write;
use crate::samples::SampleId;

/// Where a sample lies: its group, and its distance to the exemplar.
type Spot = (GroupId, f64);
/// What else changes of a group: its radius, and where it stands among those that were put off.
type Standing = (f64, Option<i64>);

/// What was before something is done.
pub(crate) struct Sketch {
    samples: Vec<(SampleId, Spot)>,
    groups: Vec<(GroupId, Standing)>,
}

/// Before and after, sample by sample and group by group.
#[derive(Debug, Serialize, Deserialize)]
struct Arrangement {
    samples: Vec<(SampleId, Spot, Spot)>,
    groups: Vec<(GroupId, Standing, Standing)>,
}

impl Write<'_> {
    /// How these lie now.
    pub(crate) fn sketch(&self, samples: &[SampleId], groups: &[GroupId]) -> Result<Sketch, StoreError> {
        let mut sketch = Sketch { samples: Vec::new(), groups: Vec::new() };
        for &sample in samples {
            sketch.samples.push((sample, self.spot(sample)?));
        }
        for &group in groups {
            sketch.groups.push((group, self.standing(group)?));
        }
        Ok(sketch)
    }

    /// Keeps with an event what was before it and is now.
    pub(crate) fn keep_arrangement(&self, event: EventId, before: Sketch) -> Result<(), StoreError> {
        let mut arrangement = Arrangement { samples: Vec::new(), groups: Vec::new() };
        for (sample, old) in before.samples {
            arrangement.samples.push((sample, old, self.spot(sample)?));
        }
        for (group, old) in before.groups {
            arrangement.groups.push((group, old, self.standing(group)?));
        }
        let written = serde_json::to_string(&arrangement).unwrap_or_default();
        self.execute("INSERT INTO arrangements (event, content) VALUES (?, ?)", params![event, written])?;
        Ok(())
    }

    /// Gives back what was before an event, or after it. A sample that has been put elsewhere since stays there, and is left alone from
    /// then on; where the event said nothing but how samples lie, that refuses it.
    pub(crate) fn turn_arrangement(
        &mut self,
        event: EventId,
        kind: EventKind,
        comes_back: bool,
    ) -> Result<(), StoreError> {
        let query = "SELECT content FROM arrangements WHERE event = ?";
        let Some(written) = self.find(query, [event], |row| row.get::<_, String>(0))? else { return Ok(()) };
        let mut arrangement: Arrangement =
            serde_json::from_str(&written).map_err(|error| StoreError::Inconsistent {
                path: self.folder.to_owned(),
                detail: format!("the arrangement of event {event}: {error}"),
            })?;
        let meant = (arrangement.samples.len(), arrangement.groups.len());
        let mut kept = Arrangement { samples: Vec::new(), groups: Vec::new() };
        let mut touched: Vec<GroupId> = Vec::new();
        for (sample, before, after) in arrangement.samples.drain(..) {
            let (from, to) = if comes_back { (before, after) } else { (after, before) };
            let moved = self.execute(
                "UPDATE samples SET group_number = ?1, distance = ?2 WHERE number = ?3 AND group_number = ?4 \
                 AND EXISTS (SELECT 1 FROM groups WHERE groups.number = ?1)",
                params![to.0, to.1, sample, from.0],
            )?;
            if moved > 0 {
                kept.samples.push((sample, before, after));
                touched.extend([from.0, to.0]);
            }
        }
        for (group, before, after) in arrangement.groups.drain(..) {
            let (from, to) = if comes_back { (before, after) } else { (after, before) };
            let changed = self.execute(
                "UPDATE groups SET radius = ?, skipped = ? WHERE number = ? AND radius = ? AND skipped IS ?",
                params![to.0, to.1, group, from.0, from.1],
            )?;
            if changed > 0 {
                kept.groups.push((group, before, after));
                touched.push(group);
            }
        }
        if (kept.samples.len(), kept.groups.len()) != meant {
            if kind.arranges() {
                return Err(StoreError::RearrangedSince { event, kind });
            }
            let written = serde_json::to_string(&kept).unwrap_or_default();
            self.execute("UPDATE arrangements SET content = ? WHERE event = ?", params![written, event])?;
        }
        touched.sort_unstable();
        touched.dedup();
        for group in touched {
            self.count_group(group)?;
        }
        self.groups = None;
        Ok(())
    }

    fn spot(&self, sample: SampleId) -> Result<Spot, StoreError> {
        let query = "SELECT group_number, distance FROM samples WHERE number = ?";
        let found = self.find(query, [sample], |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?)))?;
        found.ok_or(StoreError::NoSample { sample })
    }

    fn standing(&self, group: GroupId) -> Result<Standing, StoreError> {
        let query = "SELECT radius, skipped FROM groups WHERE number = ?";
        let found = self.find(query, [group], |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?)))?;
        found.ok_or(StoreError::NoGroup { group })
    }
}
