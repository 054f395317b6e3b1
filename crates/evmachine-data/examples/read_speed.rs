//! Prints how fast a feature file is read: `read_speed FILE [LABEL]`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use evmachine_data::{ColumnRef, DataError, ReadOptions, open};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next().map(PathBuf::from) else {
        eprintln!("usage: read_speed FILE [LABEL]");
        return ExitCode::FAILURE;
    };
    let label = arguments.next().map(|label| match label.parse::<ColumnRef>() {
        Ok(column) => column,
        Err(never) => match never {},
    });
    match measure(&path, &ReadOptions { label, ..ReadOptions::default() }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(path: &std::path::Path, options: &ReadOptions) -> Result<(), DataError> {
    let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let begin = Instant::now();
    let reader = open(path, options)?;
    let format = reader.schema().format;
    let (mut rows, mut columns, mut sum) = (0, 0, 0.0);
    for batch in reader {
        let batch = batch?;
        rows += batch.rows;
        columns = batch.columns;
        sum += batch.features.first().copied().map_or(0.0, f64::from);
    }
    let seconds = begin.elapsed().as_secs_f64();
    let megabytes = bytes as f64 / 1e6;
    println!(
        "{format}: {rows} rows of {columns} in {seconds:.3} s: {megabytes:.0} MB, {:.0} MB/s (check {sum})",
        megabytes / seconds
    );
    Ok(())
}
