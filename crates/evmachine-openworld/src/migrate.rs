//! Another encoder for the same rows: the pool again, in the space of the new vectors.
//!
//! Samples are found by the ids that clients gave them, and the rows of the versions by theirs. Answers, events, notes, versions and the
//! rule of enrolment are those of the pool. What waits is decided and grouped anew, unless no vector differs.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use evmachine::{Evm, MigrationReport, NewVectors, Run};
use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params};
use serde::Serialize;

use crate::backup;
use crate::error::StoreError;
use crate::pool::{Pool, list};
use crate::samples::{SampleId, blob};
use crate::versions::{self, Version};

/// A version over the new vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MigratedVersion {
    /// Its hash before.
    pub before: String,
    /// Its hash; the same if no vector differs.
    pub hash: String,
    /// Which rows were found, and what is missing.
    pub report: MigrationReport,
}

/// What a migration of a pool did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PoolMigration {
    /// The versions, in the order in which they were made.
    pub versions: Vec<MigratedVersion>,
    /// Samples that have a new vector.
    pub samples: u64,
    /// Ids of samples that have none, and are not in the new pool.
    pub missing: Vec<String>,
    /// Samples without an id, which cannot be found, and are not in the new pool.
    pub without_id: u64,
    /// Whether no vector is another one: groups are then those of the pool.
    pub unchanged: bool,
}

/// How a sample is found again.
enum Found {
    Row(usize),
    Missing(String),
    WithoutId,
}

impl Pool {
    /// Makes a pool of the same samples, answers and versions over other vectors, in a folder that is not there yet or is empty. This one
    /// stays as it is. Features have these names; none are needed.
    pub fn migrate(
        &self,
        run: &Run<'_>,
        folder: &Path,
        new: &NewVectors<'_>,
        feature_names: &[String],
    ) -> Result<PoolMigration, StoreError> {
        let mut copy = self.draft(folder)?;
        let failed = |error| StoreError::database(folder, error);
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(new.ids.len());
        for (row, id) in new.ids.iter().enumerate().take(new.features.rows()) {
            places.entry(id.as_str()).or_insert(row);
        }
        // The state of the copy counts: the pool may be used meanwhile.
        let read = |row: &Row<'_>| Ok(Version { hash: row.get(0)?, parent: row.get(1)?, made: row.get(2)? });
        let versions = list(&copy, "SELECT hash, parent, made FROM models ORDER BY number", [], read);
        let versions = versions.map_err(failed)?;
        let migrated = self.migrate_versions(run, folder, &versions, new, feature_names)?;
        let samples = find_samples(&copy, &places).map_err(failed)?;
        let same = same_vectors(&copy, &samples, new).map_err(failed)?;
        let unchanged = same && migrated.iter().all(|version| version.report.unchanged);
        copy.pragma_update(None, "foreign_keys", false).map_err(failed)?;
        let transaction = copy.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(failed)?;
        let rewritten = Rewriting { transaction, unchanged }.rewrite(&versions, &migrated, &samples, new);
        rewritten.map_err(failed)?;
        backup::finish(folder, copy)?;
        Self::open(folder)?.refresh(run)?;
        let mut report =
            PoolMigration { versions: migrated, samples: 0, missing: Vec::new(), without_id: 0, unchanged };
        for (_, found) in samples {
            match found {
                Found::Row(_) => report.samples += 1,
                Found::Missing(id) => report.missing.push(id),
                Found::WithoutId => report.without_id += 1,
            }
        }
        Ok(report)
    }

    /// Writes each version over the new vectors.
    fn migrate_versions(
        &self,
        run: &Run<'_>,
        folder: &Path,
        versions: &[Version],
        new: &NewVectors<'_>,
        feature_names: &[String],
    ) -> Result<Vec<MigratedVersion>, StoreError> {
        let mut migrated = Vec::with_capacity(versions.len());
        for version in versions {
            let (mut model, report): (Evm, MigrationReport) =
                self.load(&version.hash)?.migrated_with(run, new)?;
            if !report.unchanged {
                model.set_feature_names(feature_names.to_vec())?;
            }
            let hash = versions::write(folder, &model)?;
            migrated.push(MigratedVersion { before: version.hash.clone(), hash, report });
        }
        Ok(migrated)
    }
}

/// Where the samples of a pool are among new vectors.
fn find_samples(
    copy: &Connection,
    places: &HashMap<&str, usize>,
) -> Result<Vec<(SampleId, Found)>, rusqlite::Error> {
    list(copy, "SELECT number, client_id FROM samples ORDER BY number", [], |row| {
        let found = match row.get::<_, Option<String>>(1)? {
            Some(id) => match places.get(id.as_str()) {
                Some(&place) => Found::Row(place),
                None => Found::Missing(id),
            },
            None => Found::WithoutId,
        };
        Ok((row.get(0)?, found))
    })
}

/// Whether all samples are there, with the vectors that they have.
fn same_vectors(
    copy: &Connection,
    samples: &[(SampleId, Found)],
    new: &NewVectors<'_>,
) -> Result<bool, rusqlite::Error> {
    let mut query = copy.prepare("SELECT features FROM contents WHERE number = ?")?;
    for (sample, found) in samples {
        let Found::Row(row) = found else { return Ok(false) };
        let vector: Vec<u8> = query.query_row([sample], |row| row.get(0))?;
        if vector != blob(new.features.row(*row)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The database of the copy, while it becomes that of the new pool.
struct Rewriting<'a> {
    transaction: Transaction<'a>,
    unchanged: bool,
}

impl Rewriting<'_> {
    fn rewrite(
        self,
        versions: &[Version],
        migrated: &[MigratedVersion],
        samples: &[(SampleId, Found)],
        new: &NewVectors<'_>,
    ) -> Result<(), rusqlite::Error> {
        self.rename_versions(versions, migrated)?;
        if !self.unchanged {
            self.replace_vectors(samples, new)?;
            self.regroup()?;
        }
        self.transaction.commit()
    }

    /// Has everything that names a version name the one that it became.
    fn rename_versions(
        &self,
        versions: &[Version],
        migrated: &[MigratedVersion],
    ) -> Result<(), rusqlite::Error> {
        let by_hash: BTreeMap<&str, &str> =
            migrated.iter().map(|version| (&version.before[..], &version.hash[..])).collect();
        if by_hash.iter().all(|(before, after)| before == after) {
            return Ok(());
        }
        let renamed = |hash: &Option<String>| {
            hash.as_ref().map(|hash| by_hash.get(&hash[..]).map_or(hash.clone(), |new| (*new).to_owned()))
        };
        let triggers: Vec<(String, String)> = list(
            &self.transaction,
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'events'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        for (name, _) in &triggers {
            self.transaction.execute_batch(&format!("DROP TRIGGER {name}"))?;
        }
        self.transaction.execute("DELETE FROM models", [])?;
        for Version { hash, parent, made } in versions {
            let (hash, parent) = (renamed(&Some(hash.clone())), renamed(parent));
            // Two versions whose differences are not among the new vectors become one.
            let parent = parent.filter(|parent| Some(parent) != hash.as_ref());
            self.transaction.execute(
                "INSERT INTO models (hash, parent, made) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                params![hash, parent, made],
            )?;
        }
        for (table, column) in [
            ("names", "hash"),
            ("samples", "model"),
            ("events", "model"),
            ("events", "live_before"),
            ("events", "previous_before"),
            ("facts", "value"),
        ] {
            let statement = format!("UPDATE {table} SET {column} = ?2 WHERE {column} = ?1");
            let mut statement = self.transaction.prepare(&statement)?;
            for (before, after) in &by_hash {
                statement.execute([before, after])?;
            }
        }
        self.transaction.execute(
            "DELETE FROM names WHERE name = 'previous' AND hash = (SELECT hash FROM names WHERE name = 'live')",
            [],
        )?;
        for (_, sql) in &triggers {
            self.transaction.execute_batch(sql)?;
        }
        Ok(())
    }

    /// Gives samples their new vectors, and takes those out that have none.
    fn replace_vectors(
        &self,
        samples: &[(SampleId, Found)],
        new: &NewVectors<'_>,
    ) -> Result<(), rusqlite::Error> {
        for (sample, found) in samples {
            if let Found::Row(row) = found {
                let vector = blob(new.features.row(*row));
                self.transaction
                    .prepare_cached("UPDATE contents SET features = ? WHERE number = ?")?
                    .execute(params![vector, sample])?;
                continue;
            }
            for (table, column) in [
                ("event_samples", "sample"),
                ("notes", "sample"),
                ("contents", "number"),
                ("samples", "number"),
            ] {
                self.transaction
                    .prepare_cached(&format!("DELETE FROM {table} WHERE {column} = ?"))?
                    .execute([sample])?;
            }
        }
        let dimensions = new.features.columns().to_string();
        self.transaction.execute("UPDATE facts SET value = ? WHERE name = 'dimensions'", [dimensions])?;
        Ok(())
    }

    /// Has all groups made again: their distances are those of the old space. A group that was answered keeps its number, for its answer
    /// may be undone.
    fn regroup(&self) -> Result<(), rusqlite::Error> {
        self.transaction.execute_batch(
            "DELETE FROM groups WHERE NOT EXISTS (SELECT 1 FROM samples WHERE group_number = groups.number); \
             UPDATE groups SET exemplar = (SELECT min(number) FROM samples WHERE group_number = groups.number) \
                 WHERE NOT EXISTS (SELECT 1 FROM samples WHERE number = exemplar); \
             UPDATE groups SET (waiting, unknown) = (SELECT count(*), count(*) FILTER (WHERE known = 0) FROM samples \
                 WHERE group_number = groups.number AND state = 'waiting'); \
             UPDATE groups SET handed = NULL, place = NULL, skipped = NULL, holder = NULL, held_until = NULL, neighbors = NULL \
                 WHERE waiting > 0; \
             UPDATE facts SET value = '' WHERE name = 'grouped_under'",
        )
    }
}
