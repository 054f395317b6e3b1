//! How many rows were decided in each minute, and how many of them were unknown: what shows whether something new comes in, kept for a
//! week.

use rusqlite::{Row, params};

use crate::error::StoreError;
use crate::pool::{Pool, now};

/// Seconds for which minutes are kept.
const KEPT: i64 = 7 * 24 * 3600;

/// Decisions of a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Minute {
    /// Its start, in seconds since 1970.
    pub time: i64,
    /// Rows that were decided.
    pub rows: u64,
    /// Those of them that were unknown.
    pub unknown: u64,
}

impl Pool {
    /// Adds decisions to those that are kept of the same minutes, and drops what is older than a week.
    pub fn add_minutes(&mut self, minutes: &[Minute]) -> Result<(), StoreError> {
        if minutes.is_empty() {
            return Ok(());
        }
        self.write(|write| {
            for minute in minutes {
                let (rows, unknown) = (minute.rows.cast_signed(), minute.unknown.cast_signed());
                write.execute(
                    "INSERT INTO minutes (time, decided, unknown) VALUES (?, ?, ?) ON CONFLICT DO UPDATE \
                     SET decided = decided + excluded.decided, unknown = unknown + excluded.unknown",
                    params![minute.time, rows, unknown],
                )?;
            }
            write.execute("DELETE FROM minutes WHERE time < ?", [now() - KEPT])?;
            Ok(())
        })
    }

    /// What is kept, the oldest minute first.
    pub fn minutes(&self) -> Result<Vec<Minute>, StoreError> {
        let read = |row: &Row<'_>| {
            let (rows, unknown) = (row.get::<_, i64>(1)? as u64, row.get::<_, i64>(2)? as u64);
            Ok(Minute { time: row.get(0)?, rows, unknown })
        };
        self.list("SELECT time, decided, unknown FROM minutes ORDER BY time", [], read)
    }
}
