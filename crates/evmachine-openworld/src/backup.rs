//! A copy of a pool, made while it is used.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::{Connection, Row};

use crate::error::StoreError;
use crate::pool::{Pool, refuse_occupied, sync_folder};
use crate::versions;

/// Pages that are copied before others may write again.
const PAGES: i32 = 1000;
/// What the database of a copy is called until it is whole.
const DRAFT: &str = "pool.sqlite.partial";

/// Makes a pool of a draft whose versions are there.
pub(crate) fn finish(folder: &Path, copy: Connection) -> Result<(), StoreError> {
    let (draft, path) = (folder.join(DRAFT), folder.join("pool.sqlite"));
    copy.close().map_err(|(_, error)| StoreError::database(folder, error))?;
    sync_folder(&folder.join(versions::FOLDER))?;
    fs::File::open(&draft).and_then(|file| file.sync_all()).map_err(StoreError::io(&draft))?;
    fs::rename(&draft, &path).map_err(StoreError::io(&path))?;
    sync_folder(folder)
}

impl Pool {
    /// Copies the pool, as it is at one moment, to a folder that is not there yet or is empty. The copy is a pool; one that was
    /// not finished is none.
    pub fn backup(&self, folder: &Path) -> Result<(), StoreError> {
        let failed = |error| StoreError::database(folder, error);
        let copy = self.draft(folder)?;
        // Versions that the copy names are on the disk already, and never change.
        let read = |row: &Row<'_>| row.get::<_, String>(0);
        let hashes: Result<Vec<String>, _> = copy
            .prepare("SELECT hash FROM models")
            .and_then(|mut query| query.query_map([], read)?.collect());
        for hash in hashes.map_err(failed)? {
            let from = versions::path(self.folder(), &hash);
            let bytes = fs::read(&from).map_err(StoreError::io(&from))?;
            if versions::hash(&bytes) != hash {
                return Err(StoreError::Changed { path: from });
            }
            let to = versions::path(folder, &hash);
            evmachine_files::write(&to, &bytes).map_err(StoreError::io(&to))?;
        }
        finish(folder, copy)
    }

    /// Begins a copy in a folder that is not there yet or is empty: the database alone, under a name by which it is no pool.
    pub(crate) fn draft(&self, folder: &Path) -> Result<Connection, StoreError> {
        refuse_occupied(folder)?;
        let models = folder.join(versions::FOLDER);
        fs::create_dir_all(&models).map_err(StoreError::io(&models))?;
        let failed = |error| StoreError::database(folder, error);
        let mut copy = Connection::open(folder.join(DRAFT)).map_err(failed)?;
        let backup = Backup::new(self.database(), &mut copy).map_err(failed)?;
        backup.run_to_completion(PAGES, Duration::from_millis(1), None).map_err(failed)?;
        drop(backup);
        Ok(copy)
    }

    /// Makes a pool of a backup, in a folder that is not there yet or is empty.
    pub fn restore(backup: &Path, folder: &Path) -> Result<Self, StoreError> {
        Self::open(backup)?.backup(folder)?;
        Self::open(folder)
    }
}
