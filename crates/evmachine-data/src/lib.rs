//! Feature files in, prediction files out.
//!
//! [`open`] finds the format of a file and yields its rows in batches of bounded size, so that files
//! larger than memory can be read; [`read_all`] reads a file at once, [`Series`] several one after the other. What is wrong with a file is a
//! [`DataError`] whose message names the file, the row and the column, and says what to do.
//!
//! What must be read twice and comes compressed or through a pipe goes into a temporary file of at most 64 GiB, which vanishes when
//! it is closed, however the process ends.
//!
//! ```no_run
//! use std::path::Path;
//! use evmachine_data::{ColumnRef, ReadOptions, open};
//!
//! # fn main() -> Result<(), evmachine_data::DataError> {
//! let options = ReadOptions { label: Some(ColumnRef::Number(-1)), ..ReadOptions::default() };
//! for batch in open(Path::new("train.csv"), &options)? {
//!     let batch = batch?;
//!     println!("{} rows of {} features", batch.rows, batch.columns);
//! }
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "parquet")]
mod arrow;
mod batch;
mod brief;
#[cfg(feature = "parquet")]
mod cells;
#[cfg(feature = "parquet")]
mod columnar;
mod columns;
mod destination;
mod dialect;
mod error;
mod foreign;
mod format;
mod gather;
mod header;
mod json_cell;
mod jsonl;
mod labels;
mod libsvm;
mod memory;
mod notice;
mod npy;
mod npy_header;
mod npy_type;
mod npz;
mod number;
mod options;
mod output;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_footer;
#[cfg(feature = "parquet")]
mod parquet_pages;
#[cfg(feature = "parquet")]
mod parquet_writer;
mod problem;
mod reader;
mod records;
mod series;
mod source;
mod text;
mod writer;

pub use batch::Batch;
pub use error::DataError;
pub use format::Format;
pub use gather::Gathering;
pub use notice::Notice;
pub use options::{ColumnRef, Header, Missing, ReadOptions};
pub use output::{ColumnType, ColumnValues, OutputColumn, OutputFormat, Target};
pub use problem::{Place, RowProblem, Skipped};
pub use reader::{Dataset, Reader, Schema, open, read_all};
pub use series::Series;
pub use writer::Writer;
