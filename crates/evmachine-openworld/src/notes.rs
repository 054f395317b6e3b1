//! What people write beside a sample.

use rusqlite::{Row, params};
use serde::Serialize;

use crate::error::StoreError;
use crate::pool::{Pool, now};
use crate::samples::SampleId;

/// Characters of the longest note.
pub const LONGEST_NOTE: usize = 2000;

/// Words that somebody left beside a sample. They stay, and change nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Note {
    /// Its number.
    pub number: i64,
    /// When, in seconds since 1970.
    pub time: i64,
    /// Who, where that was said.
    pub person: Option<String>,
    /// The words.
    pub text: String,
}

impl Pool {
    /// Leaves a note beside a sample: of up to [`LONGEST_NOTE`] characters, line breaks being the only control characters.
    pub fn add_note(
        &mut self,
        sample: SampleId,
        text: &str,
        person: Option<&str>,
    ) -> Result<Note, StoreError> {
        let text = text.trim();
        let is_readable = !text.chars().any(|letter| letter.is_control() && letter != '\n');
        if text.is_empty() || text.chars().nth(LONGEST_NOTE).is_some() || !is_readable {
            return Err(StoreError::NoteText { limit: LONGEST_NOTE });
        }
        self.write(|write| {
            let found = write.find("SELECT 1 FROM samples WHERE number = ?", [sample], |_| Ok(()))?;
            found.ok_or(StoreError::NoSample { sample })?;
            let time = now();
            let statement = "INSERT INTO notes (sample, time, person, text) VALUES (?, ?, ?, ?)";
            write.execute(statement, params![sample, time, person, text])?;
            let number = write.transaction.last_insert_rowid();
            Ok(Note { number, time, person: person.map(str::to_owned), text: text.to_owned() })
        })
    }

    /// The notes beside a sample, the first one first.
    pub fn notes(&self, sample: SampleId) -> Result<Vec<Note>, StoreError> {
        let read = |row: &Row<'_>| {
            Ok(Note { number: row.get(0)?, time: row.get(1)?, person: row.get(2)?, text: row.get(3)? })
        };
        self.list(
            "SELECT number, time, person, text FROM notes WHERE sample = ? ORDER BY number",
            [sample],
            read,
        )
    }
}
