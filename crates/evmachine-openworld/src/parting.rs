//! Groups that a person parts, or puts together.

use evmachine::{Evm, Grouping, Run};
use rusqlite::{Row, params};

use crate::error::StoreError;
use crate::events::{EventId, EventKind, NewEvent};
use crate::groups::GroupId;
use crate::pool::{Pool, Write};
use crate::samples::SampleId;

impl Pool {
    /// Parts a group: members that are farther from its exemplar than `radius` found groups of their own. Returns the group and those,
    /// the largest first, and the event. All of them are handed out, next to where the group was.
    pub fn split(
        &mut self,
        run: &Run<'_>,
        group: GroupId,
        radius: f64,
        person: Option<&str>,
    ) -> Result<(EventId, Vec<GroupId>), StoreError> {
        let live = self.live()?;
        self.write(|write| write.split(run, &live, group, radius, person))
    }

    /// Puts groups together under the first of them, around its exemplar. Returns the event, and the group.
    pub fn merge(
        &mut self,
        run: &Run<'_>,
        groups: &[GroupId],
        person: Option<&str>,
    ) -> Result<(EventId, GroupId), StoreError> {
        let live = self.live()?;
        self.write(|write| write.merge(run, &live, groups, person))
    }

    /// Puts a group off: it comes when all others have. Returns the event.
    pub fn skip(&mut self, group: GroupId, person: Option<&str>) -> Result<EventId, StoreError> {
        self.write(|write| {
            write.refuse_answered(group)?;
            write.mark_handed(group)?;
            let before = write.sketch(&[], &[group])?;
            let statement =
                "UPDATE groups SET skipped = (SELECT ifnull(max(skipped), 0) + 1 FROM groups) WHERE number = ?";
            write.execute(statement, [group])?;
            let samples: Vec<SampleId> =
                write.waiting_in(group)?.into_iter().map(|(sample, _)| sample).collect();
            let event = write.append(&NewEvent::new(EventKind::Skipped, person), &samples)?;
            write.keep_arrangement(event, before)?;
            Ok(event)
        })
    }
}

impl Write<'_> {
    fn waiting_in(&self, group: GroupId) -> Result<Vec<(SampleId, f64)>, StoreError> {
        let query = "SELECT number, distance FROM samples WHERE group_number = ? AND state = 'waiting' ORDER BY number";
        self.list(query, [group], |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?)))
    }

    fn split(
        &mut self,
        run: &Run<'_>,
        live: &Evm,
        group: GroupId,
        radius: f64,
        person: Option<&str>,
    ) -> Result<(EventId, Vec<GroupId>), StoreError> {
        self.refuse_answered(group)?;
        let members = self.waiting_in(group)?;
        let far: Vec<SampleId> =
            members.iter().filter(|(_, distance)| *distance > radius).map(|(sample, _)| *sample).collect();
        let inside = members.len() - far.len();
        if far.is_empty() || inside == 0 || !radius.is_finite() {
            return Err(StoreError::NoParting { group, radius, inside, members: members.len() });
        }
        self.mark_handed(group)?;
        let before = self.sketch(&far, &[group])?;
        let next = self.value("SELECT ifnull(max(number), 0) + 1 FROM groups")?;
        let mut grouping = Grouping::new_with(run, live, next as u64)?;
        let features = self.features(&far, live.dimensions())?;
        let memberships = grouping.add_with(run, live, &features)?;
        self.found(&memberships, &far)?;
        self.place(&memberships, &far)?;
        let statement = "UPDATE groups SET radius = min(radius, ?) WHERE number = ?";
        self.execute(statement, params![radius, group])?;
        self.count_group(group)?;
        let mut parts: Vec<GroupId> =
            memberships.iter().map(|membership| membership.group.cast_signed()).collect();
        parts.sort_unstable();
        parts.dedup();
        let statement = "UPDATE groups SET (handed, place, skipped) = \
                         (SELECT handed, place, skipped FROM groups WHERE number = ?) WHERE number = ?";
        for part in &parts {
            self.count_group(*part)?;
            self.execute(statement, [group, *part])?;
        }
        // Numbers that were given here are not given again.
        self.groups = None;
        let query = "SELECT number FROM groups WHERE number >= ? ORDER BY waiting DESC, number";
        let found = self.list(query, [next], |row| row.get(0))?;
        let event = self.append(&NewEvent::new(EventKind::Split, person), &far)?;
        self.keep_arrangement(event, before)?;
        Ok((event, [vec![group], found].concat()))
    }

    fn merge(
        &mut self,
        run: &Run<'_>,
        live: &Evm,
        groups: &[GroupId],
        person: Option<&str>,
    ) -> Result<(EventId, GroupId), StoreError> {
        let (&first, others) = groups.split_first().ok_or(StoreError::NoSamples)?;
        for group in groups {
            self.refuse_answered(*group)?;
        }
        let mut samples: Vec<SampleId> = Vec::new();
        for group in others.iter().filter(|group| **group != first) {
            self.mark_handed(*group)?;
            samples.extend(self.waiting_in(*group)?.iter().map(|(sample, _)| *sample));
        }
        self.mark_handed(first)?;
        samples.sort_unstable();
        samples.dedup();
        // One group alone is as it was.
        if samples.is_empty() {
            return Err(StoreError::NoSamples);
        }
        let before = self.sketch(&samples, &[first])?;
        let exemplar =
            self.find("SELECT exemplar FROM groups WHERE number = ?", [first], |row| row.get(0))?;
        let exemplar =
            self.features(&[exemplar.ok_or(StoreError::NoGroup { group: first })?], live.dimensions())?;
        // A group that takes in everything measures distances.
        let mut grouping = Grouping::new_with(run, live, first as u64)?;
        grouping.resume(live, &exemplar, &[first as u64], &[f32::MAX])?;
        let memberships = grouping.add_with(run, live, &self.features(&samples, live.dimensions())?)?;
        self.place(&memberships, &samples)?;
        let radius = memberships.iter().map(|membership| f64::from(membership.distance)).fold(0.0, f64::max);
        self.execute("UPDATE groups SET radius = max(radius, ?) WHERE number = ?", params![radius, first])?;
        for group in groups {
            self.count_group(*group)?;
        }
        let event = self.append(&NewEvent::new(EventKind::Merged, person), &samples)?;
        self.keep_arrangement(event, before)?;
        Ok((event, first))
    }
}
