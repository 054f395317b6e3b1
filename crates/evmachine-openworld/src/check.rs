//! Whether a pool is what it says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rusqlite::Row;
use serde::Serialize;

use crate::error::StoreError;
use crate::events::EventId;
use crate::pool::{Pool, Write};
use crate::samples::{SampleId, State};
use crate::versions;

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// What it is about: the database, a version, an event, a sample, a group, a file.
    pub subject: String,
    /// What is wrong.
    pub problem: String,
    /// Whether nothing is lost by it: a file that nobody names.
    pub harmless: bool,
}

fn finding(subject: impl Into<String>, problem: impl Into<String>) -> Finding {
    Finding { subject: subject.into(), problem: problem.into(), harmless: false }
}

impl Pool {
    /// Looks at everything: the database, the hashes of the versions, whether states follow from events, and files that nobody
    /// names. Others who write wait meanwhile. Changes nothing.
    pub fn check(&mut self) -> Result<Vec<Finding>, StoreError> {
        let versions = self.versions()?;
        let mut findings = Vec::new();
        let named: BTreeSet<String> =
            versions.iter().map(|version| format!("{}.safetensors", version.hash)).collect();
        for version in &versions {
            if let Err(error) = self.load(&version.hash) {
                findings.push(finding(format!("version {}", version.hash), error.to_string()));
            }
        }
        let models = self.folder().join(versions::FOLDER);
        for entry in fs::read_dir(&models).map_err(StoreError::io(&models))? {
            let name = entry.map_err(StoreError::io(&models))?.file_name().to_string_lossy().into_owned();
            if !named.contains(&name) {
                let problem = "no version of that name; it may be removed".to_owned();
                findings.push(Finding { subject: format!("models/{name}"), problem, harmless: true });
            }
        }
        let dimensions = self.dimensions();
        findings.extend(self.write(|write| write.check(dimensions))?);
        Ok(findings)
    }
}

impl Write<'_> {
    fn check(&mut self, dimensions: usize) -> Result<Vec<Finding>, StoreError> {
        let text = |row: &Row<'_>| row.get::<_, String>(0);
        let mut findings: Vec<Finding> = self
            .list("PRAGMA integrity_check", [], text)?
            .into_iter()
            .filter(|line| line != "ok")
            .map(|line| finding("database", line))
            .collect();
        for (table, row) in self.list("PRAGMA foreign_key_check", [], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, Option<i64>>(1)?))
        })? {
            findings.push(finding(format!("{table}, row {row:?}"), "names something that is not there"));
        }
        findings.extend(self.check_undone()?);
        let rows: Vec<(SampleId, String, Option<String>, i64, bool)> = self.list(
            "SELECT number, state, label, ifnull(length(features), 0), proposed FROM samples LEFT JOIN contents USING (number)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
        )?;
        for (sample, state, label, bytes, proposed) in rows {
            let found = State::from_columns(&state, label).map(|state| (state, proposed));
            if found != Some(self.state_by_events(sample)?) {
                findings
                    .push(finding(format!("sample {sample}"), "its state does not follow from the events"));
            }
            if usize::try_from(bytes) != Ok(4 * dimensions) {
                let problem = format!("{bytes} bytes of features instead of {}", 4 * dimensions);
                findings.push(finding(format!("sample {sample}"), problem));
            }
        }
        let lost = "SELECT number FROM samples WHERE state = 'waiting' \
                    AND group_number NOT IN (SELECT number FROM groups)";
        for sample in self.list(lost, [], |row| row.get::<_, SampleId>(0))? {
            findings.push(finding(format!("sample {sample}"), "it waits in no group"));
        }
        let miscounted = "SELECT groups.number FROM groups WHERE (waiting, unknown) IS NOT (\
                          SELECT count(*), count(*) FILTER (WHERE known = 0) FROM samples \
                          WHERE group_number = groups.number AND state = 'waiting')";
        for group in self.list(miscounted, [], |row| row.get::<_, i64>(0))? {
            findings.push(finding(format!("group {group}"), "its members are not counted right"));
        }
        Ok(findings)
    }

    /// Whether what is undone follows from the events.
    fn check_undone(&self) -> Result<Vec<Finding>, StoreError> {
        let undoings: BTreeMap<EventId, EventId> = self
            .list("SELECT number, target FROM events WHERE kind = 'undone'", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?
            .into_iter()
            .collect();
        let mut expected = BTreeSet::new();
        // An undoing comes after what it undoes, so that from the last to the first each is settled when it is met.
        for (undoing, target) in undoings.iter().rev() {
            if !expected.contains(undoing) {
                expected.insert(*target);
            }
        }
        let found: BTreeSet<EventId> =
            self.list("SELECT event FROM undone", [], |row| row.get(0))?.into_iter().collect();
        let differing = found.symmetric_difference(&expected);
        Ok(differing
            .map(|event| finding(format!("event {event}"), "whether it is undone does not follow"))
            .collect())
    }
}
