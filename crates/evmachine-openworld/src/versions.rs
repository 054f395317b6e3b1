//! Model versions: files that never change, and the names that point at them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evmachine::Evm;
use rusqlite::{Connection, Row, params};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use crate::error::StoreError;
use crate::events::{EventId, EventKind, NewEvent};
use crate::pool::{Pool, Write, now, sync_folder};
use crate::samples::SampleId;

pub(crate) const FOLDER: &str = "models";

/// Versions that led to the live one, itself included, as a table `lineage (hash)`.
pub(crate) const LINEAGE: &str = "WITH RECURSIVE lineage (hash) AS (\
    SELECT hash FROM names WHERE name = 'live' \
    UNION SELECT parent FROM models JOIN lineage USING (hash) WHERE parent IS NOT NULL)";

/// A model version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Version {
    /// XXH3 of its file, in 32 hexadecimal digits.
    pub hash: String,
    /// The version that it was made of by an update.
    pub parent: Option<String>,
    /// When, in seconds since 1970.
    pub made: i64,
}

/// Which versions the names stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) live: String,
    pub(crate) previous: Option<String>,
}

pub(crate) fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

pub(crate) fn path(folder: &Path, hash: &str) -> PathBuf {
    folder.join(FOLDER).join(format!("{hash}.safetensors"))
}

/// Writes a model to the file of its hash; it is on the disk when this returns.
pub(crate) fn write(folder: &Path, model: &Evm) -> Result<String, StoreError> {
    let models = folder.join(FOLDER);
    let bytes = model.to_bytes().map_err(|error| StoreError::Model { path: models.clone(), error })?;
    let hash = hash(&bytes);
    let path = path(folder, &hash);
    // The same bytes may be there already; writing them again is harmless, and whole again what was damaged.
    evmachine_files::write(&path, &bytes).map_err(StoreError::io(&path))?;
    sync_folder(&models)?;
    Ok(hash)
}

/// The version that a new pool begins with.
pub(crate) fn first(database: &Connection, hash: &str) -> Result<(), rusqlite::Error> {
    database.execute("INSERT INTO models (hash, made) VALUES (?, ?)", params![hash, now()])?;
    database.execute("INSERT INTO names (name, hash) VALUES ('live', ?)", [hash])?;
    database.execute("INSERT INTO facts (name, value) VALUES ('grouped_under', ?)", [hash])?;
    Ok(())
}

impl Pool {
    /// The live model. Loaded once for as long as it is live.
    pub fn live(&mut self) -> Result<Arc<Evm>, StoreError> {
        let hash = self.names()?.live;
        if let Some((loaded, model)) = &self.model
            && *loaded == hash
        {
            return Ok(model.clone());
        }
        let model = Arc::new(self.load(&hash)?);
        self.model = Some((hash, model.clone()));
        Ok(model)
    }

    /// The hash of the live version.
    pub fn live_hash(&self) -> Result<String, StoreError> {
        Ok(self.names()?.live)
    }

    /// The hash of the version that was live before.
    pub fn previous_hash(&self) -> Result<Option<String>, StoreError> {
        Ok(self.names()?.previous)
    }

    /// A version by `live`, `previous`, its hash or the beginning of it.
    pub fn version(&self, name: &str) -> Result<Version, StoreError> {
        let names = self.names()?;
        let wanted = match name {
            "live" => names.live,
            "previous" => names.previous.ok_or(StoreError::NoPrevious)?,
            other => other.to_owned(),
        };
        let mut found = self.versions()?;
        found.retain(|version| !wanted.is_empty() && version.hash.starts_with(&wanted));
        match found.len() {
            0 => Err(StoreError::NoVersion { name: name.to_owned() }),
            1 => Ok(found.remove(0)),
            _ => Err(StoreError::AmbiguousVersion { name: name.to_owned() }),
        }
    }

    /// Reads the model of a version, and makes sure that it is the one that was written.
    pub fn load(&self, hash: &str) -> Result<Evm, StoreError> {
        let path = path(self.folder(), hash);
        let bytes = fs::read(&path).map_err(StoreError::io(&path))?;
        if self::hash(&bytes) != hash {
            return Err(StoreError::Changed { path });
        }
        Evm::from_bytes(&bytes).map_err(|error| StoreError::Model { path, error })
    }

    /// All versions, in the order in which they were made.
    pub fn versions(&self) -> Result<Vec<Version>, StoreError> {
        let read = |row: &Row<'_>| Ok(Version { hash: row.get(0)?, parent: row.get(1)?, made: row.get(2)? });
        self.list("SELECT hash, parent, made FROM models ORDER BY number", [], read)
    }

    /// Makes a version live, by name as in [`version`](Self::version), in one step; the one that was is then the previous.
    pub fn promote(&mut self, name: &str, person: Option<&str>) -> Result<EventId, StoreError> {
        let hash = self.version(name)?.hash;
        if hash == self.names()?.live {
            return Err(StoreError::AlreadyLive { hash });
        }
        self.write(|write| write.make_live(EventKind::Promoted, &hash, person, None, &[]))
    }

    /// Makes the previous version live again, in one step.
    pub fn rollback(&mut self, person: Option<&str>) -> Result<EventId, StoreError> {
        self.promote("previous", person)
    }

    pub(crate) fn names(&self) -> Result<Names, StoreError> {
        let names = self.list("SELECT name, hash FROM names", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        names_of(names).ok_or_else(|| StoreError::Inconsistent {
            path: self.folder().to_owned(),
            detail: "no version is live".to_owned(),
        })
    }
}

fn names_of(rows: Vec<(String, String)>) -> Option<Names> {
    let (mut live, mut previous) = (None, None);
    for (name, hash) in rows {
        match name.as_str() {
            "live" => live = Some(hash),
            _ => previous = Some(hash),
        }
    }
    Some(Names { live: live?, previous })
}

impl Write<'_> {
    pub(crate) fn names(&self) -> Result<Names, StoreError> {
        let names = self.list("SELECT name, hash FROM names", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        names_of(names).ok_or_else(|| StoreError::Inconsistent {
            path: self.folder.to_owned(),
            detail: "no version is live".to_owned(),
        })
    }

    pub(crate) fn live_hash(&self) -> Result<String, StoreError> {
        Ok(self.names()?.live)
    }

    pub(crate) fn set_names(&self, live: &str, previous: Option<&str>) -> Result<(), StoreError> {
        self.execute("DELETE FROM names", [])?;
        self.execute("INSERT INTO names (name, hash) VALUES ('live', ?)", [live])?;
        if let Some(previous) = previous {
            self.execute("INSERT INTO names (name, hash) VALUES ('previous', ?)", [previous])?;
        }
        Ok(())
    }

    /// Makes a version live and appends the event, with the samples that it learned.
    pub(crate) fn make_live(
        &mut self,
        kind: EventKind,
        hash: &str,
        person: Option<&str>,
        label: Option<&str>,
        samples: &[SampleId],
    ) -> Result<EventId, StoreError> {
        let before = self.names()?;
        self.set_names(hash, Some(&before.live))?;
        self.append(&NewEvent { label, model: Some((hash, &before)), ..NewEvent::new(kind, person) }, samples)
    }
}
