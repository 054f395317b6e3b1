//! The database: how it is opened, made and brought up to date.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::StoreError;
use crate::picture;

/// The schema that this version writes.
pub const SCHEMA_VERSION: i64 = 6;
/// Says whose database it is: `EVMp` as a number.
const APPLICATION: i64 = 0x4556_4d70;
/// How long one waits for another process that writes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Steps from schema 1 on: the first leads to schema 2.
const MIGRATIONS: [&str; 5] = [
    "ALTER TABLE groups ADD COLUMN place INTEGER; ALTER TABLE groups ADD COLUMN skipped INTEGER;",
    // How far a score lies above the threshold is not known of samples until they are decided anew.
    "ALTER TABLE samples RENAME COLUMN support TO score; ALTER TABLE samples ADD COLUMN support REAL;",
    "ALTER TABLE groups ADD COLUMN holder TEXT; ALTER TABLE groups ADD COLUMN held_until INTEGER; \
     ALTER TABLE contents ADD COLUMN picture_hash TEXT; \
     CREATE TABLE arrangements (event INTEGER PRIMARY KEY REFERENCES events (number), content TEXT NOT NULL) STRICT;",
    // Events may be second opinions from here on.
    "CREATE TABLE notes (number INTEGER PRIMARY KEY, sample INTEGER NOT NULL REFERENCES samples (number), time INTEGER NOT NULL, \
     person TEXT, text TEXT NOT NULL) STRICT; CREATE INDEX notes_by_sample ON notes (sample); \
     CREATE TABLE minutes (time INTEGER PRIMARY KEY, decided INTEGER NOT NULL, unknown INTEGER NOT NULL) STRICT;",
    "ALTER TABLE samples ADD COLUMN proposed INTEGER NOT NULL DEFAULT 0; ALTER TABLE samples ADD COLUMN quality REAL; \
     ALTER TABLE samples ADD COLUMN occasion TEXT; ALTER TABLE samples ADD COLUMN time REAL;",
];
/// The schema from which on pictures have hashes.
const HASHED: i64 = 4;

pub(crate) fn create(path: &Path, dimensions: usize) -> Result<Connection, rusqlite::Error> {
    let mut connection = Connection::open(path)?;
    prepare(&connection)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    transaction.execute_batch(include_str!("schema.sql"))?;
    transaction
        .execute("INSERT INTO facts (name, value) VALUES ('dimensions', ?)", [dimensions.to_string()])?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.commit()?;
    Ok(connection)
}

pub(crate) fn open(path: &Path) -> Result<Connection, StoreError> {
    let database = |error| StoreError::database(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(database)?;
    connection.busy_timeout(PATIENCE).map_err(database)?;
    // Where the file cannot be opened for writing, it is opened for reading without a word.
    if connection.is_readonly(rusqlite::MAIN_DB).map_err(database)? {
        return Err(StoreError::ReadOnly { path: path.to_owned() });
    }
    let pragma = |connection: &Connection, name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(database)
    };
    if pragma(&connection, "application_id")? != APPLICATION {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    let refuse_newer = |found: i64| {
        if found > SCHEMA_VERSION {
            let (path, supported) = (path.to_owned(), SCHEMA_VERSION);
            return Err(StoreError::NewerSchema { path, found, supported });
        }
        Ok(())
    };
    let found = pragma(&connection, "user_version")?;
    refuse_newer(found)?;
    prepare(&connection).map_err(database)?;
    if found < SCHEMA_VERSION {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(database)?;
        // Another process may have done it meanwhile.
        let found = pragma(&transaction, "user_version")?;
        refuse_newer(found)?;
        for step in MIGRATIONS.iter().skip(usize::try_from(found - 1).unwrap_or(0)) {
            transaction.execute_batch(step).map_err(database)?;
        }
        if found < HASHED {
            hash_pictures(&transaction).map_err(database)?;
        }
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(database)?;
        transaction.commit().map_err(database)?;
    }
    Ok(connection)
}

/// Gives pictures the hashes that they would have got when they came; reads each of them once.
fn hash_pictures(connection: &Connection) -> Result<(), rusqlite::Error> {
    let mut query = connection.prepare("SELECT number, picture FROM contents WHERE picture IS NOT NULL")?;
    let mut update = connection.prepare("UPDATE contents SET picture_hash = ? WHERE number = ?")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let hash = picture::hash(row.get_ref(1)?.as_blob()?);
        update.execute((hash, row.get::<_, i64>(0)?))?;
    }
    Ok(())
}

/// A commit has been brought to the disk when it returns, and readers do not wait for writers.
fn prepare(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]
mod tests {
    use super::*;

    fn columns(connection: &Connection, table: &str) -> Vec<String> {
        let mut query =
            connection.prepare(&format!("SELECT name FROM pragma_table_info('{table}')")).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_pool_of_schema_1_is_brought_up_to_date() {
        let place = tempfile::tempdir().unwrap();
        let (old, new) = (place.path().join("old.sqlite"), place.path().join("new.sqlite"));
        let connection = Connection::open(&old).unwrap();
        connection.execute_batch(include_str!("../tests/schema-1.sql")).unwrap();
        connection.pragma_update(None, "application_id", APPLICATION).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        let group = "INSERT INTO groups (number, exemplar, radius, waiting, unknown, handed) VALUES (1, 1, 0.5, 2, 1, 9)";
        connection.execute(group, []).unwrap();
        let model = "INSERT INTO models (hash, made) VALUES ('m', 0)";
        connection.execute(model, []).unwrap();
        let sample = "INSERT INTO samples (number, added, class, ln_probability, support, known, model, group_number, distance) \
                      VALUES (1, 0, 'a', -1.5, -0.25, 0, 'm', 1, 0.5)";
        connection.execute(sample, []).unwrap();
        let content = "INSERT INTO contents (number, features, media_type, picture) VALUES (1, x'00', 'image/gif', 'GIF89a')";
        connection.execute(&content.replace("'GIF89a'", "x'474946383961'"), []).unwrap();
        drop(connection);
        let (old, new) = (open(&old).unwrap(), create(&new, 2).unwrap());
        let version: i64 = old.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, SCHEMA_VERSION);
        for table in [
            "facts",
            "models",
            "names",
            "groups",
            "samples",
            "contents",
            "events",
            "undone",
            "arrangements",
            "notes",
            "minutes",
        ] {
            assert_eq!(columns(&old, table), columns(&new, table), "{table}");
        }
        let kept: (f64, Option<i64>) = old
            .query_row("SELECT radius, place FROM groups", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(kept, (0.5, None));
        let sample: (f64, Option<f64>) = old
            .query_row("SELECT score, support FROM samples", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(sample, (-0.25, None), "how far it lay above the threshold was not kept then");
        let hash: String = old.query_row("SELECT picture_hash FROM contents", [], |row| row.get(0)).unwrap();
        assert_eq!(hash, picture::hash(b"GIF89a"));
    }
}
