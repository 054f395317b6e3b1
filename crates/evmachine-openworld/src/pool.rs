//! The pool itself: its folder, its database, and what is kept in memory between calls.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use evmachine::{Evm, Grouping};
use rusqlite::{Connection, OptionalExtension, Params, Row, Transaction, TransactionBehavior};
use serde::Serialize;

use crate::error::StoreError;
use crate::regroup::Refreshing;
use crate::schema;
use crate::versions::{self, Version};

const DATABASE: &str = "pool.sqlite";

/// Unknowns, answers and model versions in a folder.
pub struct Pool {
    folder: PathBuf,
    database: Connection,
    dimensions: usize,
    /// The file that was opened, wherever its name leads later.
    file: FileIdentity,
    /// The live model, by its hash.
    pub(crate) model: Option<(String, Arc<Evm>)>,
    pub(crate) groups: Option<OpenGroups>,
    pub(crate) refreshing: Option<Refreshing>,
}

/// The groups that samples can still join, as of a state of the database.
pub(crate) struct OpenGroups {
    pub(crate) grouping: Grouping,
    /// Changes when another connection writes.
    pub(crate) data_version: i64,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Pool").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// How a pool stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Status {
    /// Dimensions of the vectors.
    pub dimensions: usize,
    /// Samples that wait for an answer, and those of them that their decision calls unknown.
    pub waiting: u64,
    /// See there.
    pub waiting_unknown: u64,
    /// Samples by label.
    pub labelled: BTreeMap<String, u64>,
    /// Labelled samples that the live version has not learned.
    pub to_learn: u64,
    /// Ignored ones that the live version does not have as strangers yet.
    pub to_ignore: u64,
    /// Samples that are to stay strangers.
    pub ignored: u64,
    /// Samples of no use.
    pub discarded: u64,
    /// Groups that wait for an answer.
    pub groups: u64,
    /// Those of them that were handed out.
    pub handed_out: u64,
    /// Events of all kinds.
    pub events: u64,
    /// The version in use.
    pub live: String,
    /// The one before.
    pub previous: Option<String>,
    /// All versions, in the order in which they were made.
    pub versions: Vec<Version>,
}

impl Pool {
    /// Makes a pool in a folder that is not there yet, or empty, with a first model version.
    pub fn create(folder: &Path, model: &Evm) -> Result<Self, StoreError> {
        refuse_occupied(folder)?;
        let models = folder.join(versions::FOLDER);
        fs::create_dir_all(&models).map_err(StoreError::io(&models))?;
        // Under another name until it is whole: a folder without pool.sqlite is no pool.
        let (draft, path) = (folder.join("pool.sqlite.partial"), folder.join(DATABASE));
        let hash = versions::write(folder, model)?;
        let database = |error| StoreError::database(folder, error);
        let connection = schema::create(&draft, model.dimensions()).map_err(database)?;
        versions::first(&connection, &hash).map_err(database)?;
        connection.close().map_err(|(_, error)| database(error))?;
        fs::rename(&draft, &path).map_err(StoreError::io(&path))?;
        sync_folder(folder)?;
        if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
            sync_folder(above)?;
        }
        Self::open(folder)
    }

    /// Opens the pool of a folder.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(DATABASE);
        if !path.is_file() {
            return Err(StoreError::NotAPool { path: folder.to_owned() });
        }
        let file = FileIdentity::of(&path).map_err(StoreError::io(&path))?;
        let database = schema::open(&path)?;
        let read = |row: &Row<'_>| row.get::<_, String>(0);
        let text = database
            .query_row("SELECT value FROM facts WHERE name = 'dimensions'", [], read)
            .map_err(|error| StoreError::database(folder, error))?;
        let dimensions = text.parse().map_err(|_| StoreError::Inconsistent {
            path: folder.to_owned(),
            detail: format!("{text:?} dimensions"),
        })?;
        Ok(Self {
            folder: folder.to_owned(),
            database,
            dimensions,
            file,
            model: None,
            groups: None,
            refreshing: None,
        })
    }

    /// Where it lies.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Dimensions of the vectors.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Refuses to go on where the folder was removed, or another pool put in its place: what is written to a file without a name is lost.
    pub fn is_there(&self) -> Result<(), StoreError> {
        self.file.refuse_other(&self.folder)
    }

    /// How it stands.
    pub fn status(&self) -> Result<Status, StoreError> {
        let count = |query: &str| -> Result<u64, StoreError> {
            let found = self.database.query_row(query, [], |row| row.get::<_, i64>(0));
            found.map(|count| count as u64).map_err(|error| self.failed(error))
        };
        let of_state = |state: &str| count(&format!("SELECT count(*) FROM samples WHERE state = '{state}'"));
        let names = self.names()?;
        let to_learn = self.to_learn()?;
        let to_ignore = to_learn.iter().filter(|answered| answered.label.is_none()).count() as u64;
        Ok(Status {
            dimensions: self.dimensions,
            waiting: of_state("waiting")?,
            waiting_unknown: count("SELECT ifnull(sum(unknown), 0) FROM groups WHERE waiting > 0")?,
            labelled: self.labels()?,
            to_learn: to_learn.len() as u64 - to_ignore,
            to_ignore,
            ignored: of_state("ignored")?,
            discarded: of_state("discarded")?,
            groups: count("SELECT count(*) FROM groups WHERE waiting > 0")?,
            handed_out: count("SELECT count(*) FROM groups WHERE waiting > 0 AND handed IS NOT NULL")?,
            events: count("SELECT count(*) FROM events")?,
            live: names.live,
            previous: names.previous,
            versions: self.versions()?,
        })
    }

    /// Samples that wait for an answer, and those of them that are unknown.
    pub fn waiting(&self) -> Result<(u64, u64), StoreError> {
        let query = "SELECT ifnull(sum(waiting), 0), ifnull(sum(unknown), 0) FROM groups WHERE waiting > 0";
        let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64));
        self.database.query_row(query, [], read).map_err(|error| self.failed(error))
    }

    /// Samples by label.
    pub fn labels(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        let query = "SELECT label, count(*) FROM samples WHERE state = 'labelled' GROUP BY label";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64));
        self.list(query, [], read).map(|pairs| pairs.into_iter().collect())
    }

    pub(crate) fn database(&self) -> &Connection {
        &self.database
    }

    pub(crate) fn failed(&self, error: rusqlite::Error) -> StoreError {
        StoreError::database(&self.folder, error)
    }

    pub(crate) fn list<T, P: Params>(
        &self,
        query: &str,
        parameters: P,
        read: impl FnMut(&Row<'_>) -> Result<T, rusqlite::Error>,
    ) -> Result<Vec<T>, StoreError> {
        list(&self.database, query, parameters, read).map_err(|error| self.failed(error))
    }

    /// Does something that is on the disk when it returns, or on an error did not happen. Others who write wait meanwhile.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&mut Write<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (folder, file) = (&self.folder, self.file);
        file.refuse_other(folder)?;
        let failed = |error| StoreError::database(folder, error);
        let transaction =
            self.database.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let data_version = transaction
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .map_err(|error| StoreError::database(folder, error))?;
        // What is in memory is put back only if the disk has it too.
        let groups = self.groups.take().filter(|groups| groups.data_version == data_version);
        let mut write = Write { folder, transaction, groups, data_version };
        let result = work(&mut write)?;
        let Write { transaction, groups, .. } = write;
        transaction.commit().map_err(|error| StoreError::database(folder, error))?;
        self.groups = groups;
        file.refuse_other(folder)?;
        Ok(result)
    }
}

/// Which file it is, whatever it is called: device and number where the system has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity(u64, u64);

impl FileIdentity {
    /// Whether the database of a folder is still this one.
    fn refuse_other(self, folder: &Path) -> Result<(), StoreError> {
        match Self::of(&folder.join(DATABASE)) {
            Ok(found) if found == self => Ok(()),
            _ => Err(StoreError::Gone { path: folder.to_owned() }),
        }
    }

    fn of(path: &Path) -> Result<Self, std::io::Error> {
        let found = fs::metadata(path)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            Ok(Self(found.dev(), found.ino()))
        }
        #[cfg(not(unix))]
        {
            // A file that is open cannot be removed there.
            let _ = found;
            Ok(Self(0, 0))
        }
    }
}

/// A transaction that writes.
pub(crate) struct Write<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) transaction: Transaction<'a>,
    pub(crate) groups: Option<OpenGroups>,
    pub(crate) data_version: i64,
}

impl Write<'_> {
    pub(crate) fn failed(&self, error: rusqlite::Error) -> StoreError {
        StoreError::database(self.folder, error)
    }

    pub(crate) fn execute(&self, statement: &str, parameters: impl Params) -> Result<usize, StoreError> {
        let mut statement = self.transaction.prepare_cached(statement).map_err(|error| self.failed(error))?;
        statement.execute(parameters).map_err(|error| self.failed(error))
    }

    pub(crate) fn find<T>(
        &self,
        query: &str,
        parameters: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, rusqlite::Error>,
    ) -> Result<Option<T>, StoreError> {
        let mut query = self.transaction.prepare_cached(query).map_err(|error| self.failed(error))?;
        query.query_row(parameters, read).optional().map_err(|error| self.failed(error))
    }

    /// The one number that a query gives.
    pub(crate) fn value(&self, query: &str) -> Result<i64, StoreError> {
        self.transaction.query_row(query, [], |row| row.get(0)).map_err(|error| self.failed(error))
    }

    pub(crate) fn list<T>(
        &self,
        query: &str,
        parameters: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, rusqlite::Error>,
    ) -> Result<Vec<T>, StoreError> {
        list(&self.transaction, query, parameters, read).map_err(|error| self.failed(error))
    }
}

pub(crate) fn list<T>(
    database: &Connection,
    query: &str,
    parameters: impl Params,
    read: impl FnMut(&Row<'_>) -> Result<T, rusqlite::Error>,
) -> Result<Vec<T>, rusqlite::Error> {
    let mut query = database.prepare_cached(query)?;
    query.query_map(parameters, read)?.collect()
}

pub(crate) fn refuse_occupied(folder: &Path) -> Result<(), StoreError> {
    match fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            Some(_) => Err(StoreError::Exists { path: folder.to_owned() }),
            None => Ok(()),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            Err(StoreError::Exists { path: folder.to_owned() })
        }
        Err(error) => Err(StoreError::io(folder)(error)),
    }
}

/// Brings the names in a folder to the disk.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    #[cfg(unix)]
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(StoreError::io(folder))?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs().cast_signed())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]
mod tests {
    use evmachine::{Features, Labels, Params, Run};

    use super::*;
    use crate::Which;

    /// A database that may not grow is as a disk that is full.
    #[test]
    fn a_full_disk_is_an_error_and_loses_nothing() {
        let place = tempfile::tempdir().unwrap();
        let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1).unwrap();
        let labels = Labels::new(["low", "low", "low", "high", "high", "high"]).unwrap();
        let (evm, _) = Evm::fit(&Params::paper(), &features, &labels).unwrap();
        let mut pool = Pool::create(&place.path().join("pool"), &evm).unwrap();
        let run = Run::new();
        let few = Features::new(vec![20.0, 20.1, 30.0], 1).unwrap();
        pool.add(&run, &few, &[], Which::All).unwrap();
        let before = pool.status().unwrap();
        let pages: i64 = pool.database.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        let limit = format!("PRAGMA max_page_count = {}", pages + 2);
        pool.database.query_row(&limit, [], |_| Ok(())).unwrap();
        let many = Features::new((0..2000).map(|i| 20.0 + i as f32).collect::<Vec<_>>(), 1).unwrap();
        let error = pool.add(&run, &many, &[], Which::All).unwrap_err();
        assert!(error.to_string().ends_with("database or disk is full"), "{error}");
        assert_eq!(pool.status().unwrap(), before);
        pool.database.query_row("PRAGMA max_page_count = 1000000", [], |_| Ok(())).unwrap();
        pool.add(&run, &many, &[], Which::All).unwrap();
        assert!(pool.check().unwrap().is_empty());
    }
}
