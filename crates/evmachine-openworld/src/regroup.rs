//! Putting samples into groups, as they come and when another version is live.

use evmachine::{Evm, Features, Grouping, Membership, Run};
use rusqlite::{Row, params};

use crate::error::StoreError;
use crate::groups::GroupId;
use crate::pool::{OpenGroups, Pool, Write};
use crate::samples::{SampleId, vector};

/// Samples whose features are in memory at once.
const AT_ONCE: usize = 8192;

/// Samples that are decided anew in one step, and those that are grouped anew: groups are the better the more of them are
/// founded together.
const DECIDED_AT_ONCE: usize = 512;
const GROUPED_AT_ONCE: usize = 2048;

/// How far what waits has been decided and grouped anew under a version.
pub(crate) struct Refreshing {
    hash: String,
    /// The last sample that was decided.
    decided: SampleId,
    /// Samples to be grouped, once all are decided, the next one last.
    free: Option<Vec<SampleId>>,
}

impl Pool {
    /// Where another version has become live, decides anew what waits, and groups anew what was not handed out; returns whether that was so.
    /// [`next_groups`](Self::next_groups) does it where it has not been done.
    pub fn refresh(&mut self, run: &Run<'_>) -> Result<bool, StoreError> {
        let mut was_due = false;
        while !self.refresh_some(run)? {
            was_due = true;
        }
        Ok(was_due)
    }

    /// A part of what [`refresh`](Self::refresh) does, so that other things can be done in between; returns whether nothing is left to
    /// do. What a part has done is on the disk; whoever opens the pool anew begins again.
    pub fn refresh_some(&mut self, run: &Run<'_>) -> Result<bool, StoreError> {
        if self.is_refreshed()? {
            self.refreshing = None;
            return Ok(true);
        }
        let hash = self.live_hash()?;
        let model = self.live()?;
        let begun = self.refreshing.take().filter(|begun| begun.hash == hash);
        let mut refreshing = begun.unwrap_or(Refreshing { hash, decided: 0, free: None });
        self.refresh_part(run, &model, &mut refreshing)?;
        self.refreshing = Some(refreshing);
        Ok(false)
    }

    /// Whether all that waits was decided, and what was not handed out grouped, under the live version.
    pub fn is_refreshed(&self) -> Result<bool, StoreError> {
        let query = "SELECT value FROM facts WHERE name = 'grouped_under'";
        let under = self.list(query, [], |row| row.get::<_, String>(0))?;
        Ok(under.first() == Some(&self.live_hash()?))
    }

    fn refresh_part(
        &mut self,
        run: &Run<'_>,
        model: &Evm,
        refreshing: &mut Refreshing,
    ) -> Result<(), StoreError> {
        let hash = refreshing.hash.clone();
        let is_live = |write: &Write<'_>| {
            if write.live_hash()? == hash { Ok(()) } else { Err(StoreError::ChangedMeanwhile) }
        };
        let Some(free) = &mut refreshing.free else {
            let query =
                "SELECT number FROM samples WHERE state = 'waiting' AND number > ? ORDER BY number LIMIT ?";
            let limit = (DECIDED_AT_ONCE as u64).cast_signed();
            let samples: Vec<SampleId> = self.list(query, [refreshing.decided, limit], |row| row.get(0))?;
            refreshing.free = self.write(|write| {
                is_live(write)?;
                write.decide(run, model, &hash, &samples)?;
                if samples.len() < DECIDED_AT_ONCE { write.dissolve(run, model).map(Some) } else { Ok(None) }
            })?;
            refreshing.decided = samples.last().copied().unwrap_or(refreshing.decided);
            return Ok(());
        };
        let part = free.split_off(free.len().saturating_sub(GROUPED_AT_ONCE));
        let is_last = free.is_empty();
        self.write(|write| {
            is_live(write)?;
            let mut samples = part;
            samples.reverse();
            write.keep_free(&mut samples)?;
            write.move_to_groups(run, model, &samples)?;
            if is_last { write.finish_refresh(&hash) } else { Ok(()) }
        })
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
        let memberships = groups.grouping.add_with(run, live, features)?;
        self.groups = Some(groups);
        self.found(&memberships, numbers)?;
        Ok(memberships)
    }

    /// Writes the groups that samples of these numbers found.
    pub(crate) fn found(&self, memberships: &[Membership], numbers: &[SampleId]) -> Result<(), StoreError> {
        for (membership, number) in memberships.iter().zip(numbers) {
            if let Some(radius) = membership.founded {
                self.execute(
                    "INSERT INTO groups (number, exemplar, radius, waiting, unknown) VALUES (?, ?, ?, 0, 0)",
                    params![membership.group.cast_signed(), number, radius],
                )?;
            }
        }
        Ok(())
    }

    /// Writes which groups samples are in.
    pub(crate) fn place(&self, memberships: &[Membership], samples: &[SampleId]) -> Result<(), StoreError> {
        for (membership, sample) in memberships.iter().zip(samples) {
            self.execute(
                "UPDATE samples SET group_number = ?, distance = ? WHERE number = ?",
                params![membership.group.cast_signed(), membership.distance, sample],
            )?;
        }
        Ok(())
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
                write.place(&memberships, samples)
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
        // What an earlier version grouped and has not been grouped anew yet takes nothing in.
        let first = self
            .find("SELECT value FROM facts WHERE name = 'groups_from'", [], |row| row.get::<_, String>(0))?
            .and_then(|text| text.parse::<GroupId>().ok())
            .unwrap_or(0);
        let mut grouping = Grouping::new_with(run, live, next as u64)?;
        let query = "SELECT groups.number, radius, features FROM groups JOIN contents ON contents.number = exemplar \
                     WHERE handed IS NULL AND waiting > 0 AND groups.number > ? ORDER BY groups.number LIMIT ?";
        let mut last = first - 1;
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

    /// Decides samples anew that wait.
    fn decide(&self, run: &Run<'_>, live: &Evm, hash: &str, samples: &[SampleId]) -> Result<(), StoreError> {
        if samples.is_empty() {
            return Ok(());
        }
        let features = self.features(samples, live.dimensions())?;
        let decisions = live.decide_with(run, &features)?;
        for (decision, sample) in decisions.iter().zip(samples) {
            let score = decision.score();
            self.execute(
                "UPDATE groups SET unknown = unknown + (SELECT known - ?2 FROM samples WHERE number = ?1 AND state = 'waiting') \
                 WHERE number = (SELECT group_number FROM samples WHERE number = ?1 AND state = 'waiting')",
                params![sample, decision.class().is_some()],
            )?;
            self.execute(
                "UPDATE samples SET class = ?, ln_probability = ?, score = ?, support = ?, known = ?, model = ? \
                 WHERE number = ? AND state = 'waiting'",
                params![
                    live.class_name(decision.best()),
                    score.ln_probability,
                    score.support,
                    decision.support(),
                    decision.class().is_some(),
                    hash,
                    sample
                ],
            )?;
        }
        Ok(())
    }

    /// Lets no group take anything in but those that are founded from now on, and returns what is to leave the others: what is still
    /// unknown comes first, which is at the end.
    fn dissolve(&mut self, run: &Run<'_>, live: &Evm) -> Result<Vec<SampleId>, StoreError> {
        let next = self.value("SELECT ifnull(max(number), 0) + 1 FROM groups")?;
        self.execute(
            "INSERT INTO facts (name, value) VALUES ('groups_from', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            [next.to_string()],
        )?;
        self.groups = Some(OpenGroups {
            grouping: Grouping::new_with(run, live, next as u64)?,
            data_version: self.data_version,
        });
        let free = "SELECT samples.number FROM samples JOIN groups ON groups.number = group_number \
                    WHERE state = 'waiting' AND handed IS NULL ORDER BY known DESC, samples.number DESC";
        self.list(free, [], |row| row.get(0))
    }

    /// Keeps those of the samples that nobody answered or got meanwhile.
    fn keep_free(&self, samples: &mut Vec<SampleId>) -> Result<(), StoreError> {
        let query = "SELECT 1 FROM samples JOIN groups ON groups.number = group_number \
                     WHERE samples.number = ? AND state = 'waiting' AND handed IS NULL";
        let mut kept = Vec::with_capacity(samples.len());
        for &sample in samples.iter() {
            if self.find(query, [sample], |_| Ok(()))?.is_some() {
                kept.push(sample);
            }
        }
        *samples = kept;
        Ok(())
    }

    fn finish_refresh(&mut self, hash: &str) -> Result<(), StoreError> {
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
