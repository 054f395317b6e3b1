//! Putting samples into groups, as they come and when another version is live.

use evmachine::{Evm, Features, Grouping, Membership, Run};
use rusqlite::{Row, params};

use crate::error::StoreError;
use crate::groups::GroupId;
use crate::pool::{OpenGroups, Pool, Write};
use crate::samples::{SampleId, vector};

/// Samples whose features are in memory at once.
const AT_ONCE: usize = 8192;

impl Pool {
    /// Where another version has become live, decides anew what waits, and groups anew what was not handed out; returns whether that was so.
    /// [`next_groups`](Self::next_groups) does it where it has not been done.
    pub fn refresh(&mut self, run: &Run<'_>) -> Result<bool, StoreError> {
        let live = self.names()?.live;
        let query = "SELECT value FROM facts WHERE name = 'grouped_under'";
        let under = self.list(query, [], |row| row.get::<_, String>(0))?;
        if under.first() == Some(&live) {
            return Ok(false);
        }
        let model = self.live()?;
        self.write(|write| {
            if write.live_hash()? != live {
                return Err(StoreError::ChangedMeanwhile);
            }
            write.refresh(run, &model, &live)
        })?;
        Ok(true)
    }
}

impl Write<'_> {
    /// Finds or founds a group for each sample, under these numbers; the counts of the groups are left to the caller.
    pub(crate) fn join_groups(
        &mut self,
        run: &Run<'_>,
        live: &Evm,
        features: &Features<'_>,
        numbers: &[SampleId],
    ) -> Result<Vec<Membership>, StoreError> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let mut groups = match self.groups.take() {
            Some(groups) => groups,
            None => self.open_groups(run, live)?,
        };
        let memberships = groups.grouping.add(run, live, features)?;
        self.groups = Some(groups);
        for (membership, &number) in memberships.iter().zip(numbers) {
            if let Some(radius) = membership.founded {
                self.execute(
                    "INSERT INTO groups (number, exemplar, radius, waiting, unknown) VALUES (?, ?, ?, 0, 0)",
                    params![membership.group.cast_signed(), number, radius],
                )?;
            }
        }
        Ok(memberships)
    }

    /// Moves samples that wait to groups that they can join, or to new ones.
    pub(crate) fn move_to_groups(
        &mut self,
        run: &Run<'_>,
        live: &Evm,
        samples: &[SampleId],
    ) -> Result<(), StoreError> {
        for samples in samples.chunks(AT_ONCE) {
            self.count_groups_after(samples, |write| {
                let features = write.features(samples, live.dimensions())?;
                let memberships = write.join_groups(run, live, &features, samples)?;
                for (membership, sample) in memberships.iter().zip(samples) {
                    write.execute(
                        "UPDATE samples SET group_number = ?, distance = ? WHERE number = ?",
                        params![membership.group.cast_signed(), membership.distance, sample],
                    )?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Counts the groups that samples left and those that they came to.
    fn count_groups_after(
        &mut self,
        samples: &[SampleId],
        work: impl FnOnce(&mut Self) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut left = Vec::new();
        for sample in samples {
            let query = "SELECT group_number FROM samples WHERE number = ?";
            left.extend(self.find(query, [sample], |row| row.get::<_, GroupId>(0))?);
        }
        work(self)?;
        left.sort_unstable();
        left.dedup();
        for group in left {
            self.count_group(group)?;
        }
        self.count_groups_of(samples)
    }

    pub(crate) fn features(
        &self,
        samples: &[SampleId],
        dimensions: usize,
    ) -> Result<Features<'static>, StoreError> {
        let mut values = Vec::with_capacity(samples.len() * dimensions);
        for &sample in samples {
            let query = "SELECT features FROM contents WHERE number = ?";
            let read = |row: &Row<'_>| Ok(vector(row.get_ref(0)?.as_blob()?));
            values.extend(self.find(query, [sample], read)?.ok_or(StoreError::NoSample { sample })?);
        }
        Ok(Features::new(values, dimensions)?)
    }

    /// The groups of the database that samples can join.
    fn open_groups(&self, run: &Run<'_>, live: &Evm) -> Result<OpenGroups, StoreError> {
        let next = self.value("SELECT ifnull(max(number), 0) + 1 FROM groups")?;
        let mut grouping = Grouping::new(run, live, next as u64)?;
        let query = "SELECT groups.number, radius, features FROM groups JOIN contents ON contents.number = exemplar \
                     WHERE handed IS NULL AND waiting > 0 AND groups.number > ? ORDER BY groups.number LIMIT ?";
        let mut last = 0;
        loop {
            let (mut numbers, mut radii, mut values) = (Vec::new(), Vec::new(), Vec::new());
            self.list(query, params![last, (AT_ONCE as u64).cast_signed()], |row| {
                numbers.push(row.get::<_, GroupId>(0)? as u64);
                radii.push(row.get::<_, f64>(1)? as f32);
                values.extend(vector(row.get_ref(2)?.as_blob()?));
                Ok(())
            })?;
            let Some(&highest) = numbers.last() else { break };
            grouping.resume(live, &Features::new(values, live.dimensions())?, &numbers, &radii)?;
            last = highest.cast_signed();
        }
        Ok(OpenGroups { grouping, data_version: self.data_version })
    }

    fn refresh(&mut self, run: &Run<'_>, live: &Evm, hash: &str) -> Result<(), StoreError> {
        let waiting: Vec<SampleId> =
            self.list("SELECT number FROM samples WHERE state = 'waiting' ORDER BY number", [], |row| {
                row.get(0)
            })?;
        for samples in waiting.chunks(AT_ONCE) {
            let features = self.features(samples, live.dimensions())?;
            let decisions = live.decide_with(run, &features)?;
            for (decision, sample) in decisions.iter().zip(samples) {
                let score = decision.score();
                self.execute(
                    "UPDATE samples SET class = ?, ln_probability = ?, support = ?, known = ?, model = ? WHERE number = ?",
                    params![
                        live.class_name(decision.best()),
                        score.ln_probability,
                        score.support,
                        decision.class().is_some(),
                        hash,
                        sample
                    ],
                )?;
            }
        }
        // No group takes anything in but those that are founded now. What is still unknown comes first.
        let next = self.value("SELECT ifnull(max(number), 0) + 1 FROM groups")?;
        self.groups = Some(OpenGroups {
            grouping: Grouping::new(run, live, next as u64)?,
            data_version: self.data_version,
        });
        let free = "SELECT samples.number FROM samples JOIN groups ON groups.number = group_number \
                    WHERE state = 'waiting' AND handed IS NULL ORDER BY known, samples.number";
        let free: Vec<SampleId> = self.list(free, [], |row| row.get(0))?;
        self.move_to_groups(run, live, &free)?;
        self.execute(
            "UPDATE groups SET (waiting, unknown) = (SELECT count(*), count(*) FILTER (WHERE known = 0) \
             FROM samples WHERE group_number = groups.number AND state = 'waiting') WHERE handed IS NOT NULL",
            [],
        )?;
        self.execute(
            "DELETE FROM groups WHERE handed IS NULL AND waiting = 0 \
             AND NOT EXISTS (SELECT 1 FROM samples WHERE group_number = groups.number)",
            [],
        )?;
        self.execute("UPDATE groups SET neighbors = NULL WHERE handed IS NOT NULL AND waiting > 0", [])?;
        self.execute("UPDATE facts SET value = ? WHERE name = 'grouped_under'", [hash])?;
        Ok(())
    }
}
