//! Feature tables in Arrow IPC files and streams.

use std::fs::File;
use std::io::BufReader;

use arrow_ipc::reader::{FileReader, StreamReader};

use crate::columnar::{Layout, RecordBatches, arrow_error};
use crate::error::DataError;
use crate::format::Format;
use crate::options::ReadOptions;
use crate::reader::Opened;
use crate::source::Source;

/// Opens an Arrow file or stream. Each of its record batches is decoded as a whole.
pub(crate) fn open(source: Source, options: &ReadOptions) -> Result<Opened, DataError> {
    let file = source.file.clone();
    if source.prefix().starts_with(b"ARROW1") {
        open_file(&file, &source, options)
    } else {
        open_stream(&file, source, options)
    }
}

/// The file format has an index at its end.
fn open_file(file: &str, source: &Source, options: &ReadOptions) -> Result<Opened, DataError> {
    let Some(path) = source.path.as_ref().filter(|_| !source.compressed) else {
        return Err(DataError::NotStreamable { file: file.to_owned(), format: Format::Arrow });
    };
    let read = |projection: Option<Vec<usize>>| {
        let opened = File::open(path).map_err(|error| DataError::opening(file, error))?;
        FileReader::try_new(BufReader::new(opened), projection).map_err(|error| arrow_error(file, error))
    };
    let layout = Layout::new(file, &read(None)?.schema(), options)?;
    let batches = read(Some(layout.needed.clone()))?;
    layout.open(file, Format::Arrow, Box::new(batches), None)
}

fn open_stream(file: &str, source: Source, options: &ReadOptions) -> Result<Opened, DataError> {
    let bytes = BufReader::with_capacity(1 << 17, source.into_bytes());
    let reader = StreamReader::try_new(bytes, None).map_err(|error| arrow_error(file, error))?;
    let layout = Layout::new(file, &reader.schema(), options)?;
    let needed = layout.needed.clone();
    let batches: RecordBatches = Box::new(reader.map(move |batch| batch?.project(&needed)));
    layout.open(file, Format::Arrow, batches, None)
}
