//! Rows of whole files in memory, as much as there is room for.

use crate::batch::Batch;
use crate::error::DataError;
use crate::memory;
use crate::options::ReadOptions;

/// Bytes that a row takes beside its features: its number.
const ROW_BYTES: u64 = 8;
/// Bytes that a text takes beside its own.
const TEXT_BYTES: u64 = 24;

/// Gathers batches, of one file or several, and refuses what would not fit into memory before it is allocated.
#[derive(Debug)]
pub struct Gathering {
    data: Batch,
    bytes: u64,
    limit: u64,
}

impl Gathering {
    /// Room for as much as the options allow.
    pub fn new(options: &ReadOptions) -> Self {
        Self { data: Batch::default(), bytes: 0, limit: memory::limit(options) }
    }

    /// Makes room for the rows that a file announces, of so many columns.
    pub fn expect(&mut self, file: &str, rows: u64, columns: usize) -> Result<(), DataError> {
        let needed = rows.saturating_mul(ROW_BYTES.saturating_add(4 * columns as u64));
        self.check(file, needed)?;
        // An announcement that is too large for a vector is not kept either.
        let values = usize::try_from(rows).unwrap_or(usize::MAX).saturating_mul(columns);
        self.data.features.try_reserve_exact(values).map_err(|_| self.too_large(file, needed))
    }

    /// Adds the rows of a batch, whose columns are those of the batches before.
    pub fn add(&mut self, file: &str, batch: Batch) -> Result<(), DataError> {
        let texts = batch.labels.iter().chain(&batch.ids).chain(&batch.kept).flatten();
        let text_bytes: u64 = texts.map(|text| TEXT_BYTES + text.len() as u64).sum();
        let needed = text_bytes + batch.rows as u64 * ROW_BYTES + 4 * batch.features.len() as u64;
        self.check(file, needed)?;
        let data = &mut self.data;
        if data.rows == 0 {
            (data.first_row, data.columns) = (batch.first_row, batch.columns);
            (data.labels, data.ids) =
                (batch.labels.as_ref().map(|_| Vec::new()), batch.ids.as_ref().map(|_| Vec::new()));
            data.kept = vec![Vec::new(); batch.kept.len()];
        }
        // Doubling may ask for more than there is where the rows themselves still fit.
        let values = batch.features.len();
        let reserved = data.features.try_reserve(values).or_else(|_| data.features.try_reserve_exact(values));
        if reserved.is_err() {
            return Err(self.too_large(file, needed));
        }
        data.rows += batch.rows;
        data.features.extend(batch.features);
        data.row_numbers.extend(batch.row_numbers);
        for (mine, others) in [(&mut data.labels, batch.labels), (&mut data.ids, batch.ids)] {
            if let (Some(mine), Some(others)) = (mine, others) {
                mine.extend(others);
            }
        }
        for (mine, others) in data.kept.iter_mut().zip(batch.kept) {
            mine.extend(others);
        }
        self.bytes += needed;
        Ok(())
    }

    /// The features up to now, which then are elsewhere; rows to come may have none.
    pub fn take_features(&mut self) -> Vec<f32> {
        self.bytes -= 4 * self.data.features.len() as u64;
        std::mem::take(&mut self.data.features)
    }

    /// All rows.
    pub fn finish(self) -> Batch {
        self.data
    }

    fn check(&self, file: &str, more: u64) -> Result<(), DataError> {
        if self.bytes.saturating_add(more) > self.limit { Err(self.too_large(file, more)) } else { Ok(()) }
    }

    fn too_large(&self, file: &str, more: u64) -> DataError {
        let needed = self.bytes.saturating_add(more);
        DataError::TooLarge { file: file.to_owned(), needed, limit: self.limit }
    }
}
