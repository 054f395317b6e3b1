//! The database: how it is opened, made and brought up to date.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::StoreError;

/// The schema that this version writes.
pub const SCHEMA_VERSION: i64 = 1;
/// Says whose database it is: `EVMp` as a number.
const APPLICATION: i64 = 0x4556_4d70;
/// How long one waits for another process that writes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Steps from schema 1 on: the first leads to schema 2.
const MIGRATIONS: [&str; 0] = [];

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
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(database)?;
        transaction.commit().map_err(database)?;
    }
    Ok(connection)
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
