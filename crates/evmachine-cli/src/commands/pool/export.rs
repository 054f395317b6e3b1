//! `evmachine pool export`

use std::path::PathBuf;

use clap::Args;
use evmachine_console::console::Console;
use evmachine_console::failure::Failure;
use evmachine_console::interrupt;
use evmachine_data::{ColumnType, ColumnValues, OutputColumn, OutputFormat, Target, Writer};
use evmachine_openworld::{Pool, Sample, State, StoreError};

use super::{counted, short};
use crate::failure::{Ends, OrFail};
use crate::{files, model};

/// Write all samples with their answers and features to a file, or a version of the model
///
/// Example: evmachine pool export pool -o pool.csv
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The pool.
    pool: PathBuf,

    /// Where to write: .csv, .jsonl or .parquet; standard output unless given.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: Target,

    /// The format to write, where the name does not say: csv, jsonl or parquet [default: csv on standard output].
    #[arg(long, value_name = "FORMAT")]
    output_format: Option<OutputFormat>,

    /// Only samples that have a label, as a file to train on: their ids, labels and features.
    #[arg(long)]
    labelled: bool,

    /// Write the model to this file, and no samples.
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["output", "output_format", "labelled"])]
    model: Option<PathBuf>,

    /// Which version of the model: live, previous, its hash or the beginning of it.
    #[arg(
        id = "wanted",
        long = "model-version",
        value_name = "VERSION",
        default_value = "live",
        requires = "model"
    )]
    wanted: String,
}

/// Samples that are written at once.
const ROWS: usize = 4096;

/// What ends the walk over the samples.
enum End {
    Store(StoreError),
    Failure(Failure),
    /// Whoever read our output had enough.
    Enough,
}

impl From<StoreError> for End {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    let mut pool = Pool::open(&arguments.pool).or_fail()?;
    if let Some(path) = &arguments.model {
        files::refuse_nowhere(path)?;
        let version = pool.version(&arguments.wanted).or_fail()?;
        model::save(&pool.load(&version.hash).or_fail()?, path)?;
        console.say(format!("version {} written to {}", short(&version.hash), path.display()));
        return Ok(());
    }
    if let Target::Path(path) = &arguments.output {
        files::refuse_nowhere(path)?;
    }
    let format = match (arguments.output_format, &arguments.output) {
        (Some(format), _) => format,
        (None, Target::Path(path)) => OutputFormat::from_path(path)?,
        (None, Target::Stdout) => OutputFormat::Csv,
    };
    let live = pool.live().or_fail()?;
    let names: Vec<String> = match live.feature_names() {
        [] => (0..pool.dimensions()).map(|column| format!("f{column}")).collect(),
        names => names.to_vec(),
    };
    let mut writer = Some(Writer::create(&arguments.output, format, &header(&names, arguments.labelled))?);
    let (mut rows, mut count) = (Vec::new(), 0u64);
    let mut flush = |rows: &mut Vec<Sample>| -> Result<(), End> {
        let Some(writer) = &mut writer else { return Ok(()) };
        match writer.write(columns(rows, names.len(), arguments.labelled)) {
            Err(error) if error.is_broken_pipe() => return Err(End::Enough),
            Err(error) => return Err(End::Failure(error.into())),
            Ok(()) => {}
        }
        rows.clear();
        interrupt::check().map_err(End::Failure)
    };
    let walked = pool.for_each_sample::<End>(|sample| {
        if !arguments.labelled || matches!(sample.state, State::Labelled { .. }) {
            count += 1;
            rows.push(sample);
        }
        if rows.len() >= ROWS { flush(&mut rows) } else { Ok(()) }
    });
    match walked.and_then(|()| flush(&mut rows)) {
        Err(End::Enough) => return Ok(()),
        Err(End::Failure(failure)) => return Err(failure),
        Err(End::Store(error)) => return Err(error.failure()),
        Ok(()) => {}
    }
    if let Some(writer) = writer.take()
        && let Err(error) = writer.finish()
        && !error.is_broken_pipe()
    {
        return Err(error.into());
    }
    console.say(format!("{} written", counted(count, "sample")));
    if let (true, Target::Path(path)) = (arguments.labelled, &arguments.output) {
        let path = path.display();
        console
            .say(format!("train with\n  evmachine train {path} --label label --id id -o MODEL.safetensors"));
    }
    Ok(())
}

/// Columns that a file to train on has beside the features.
const TRAINED_ON: [&str; 2] = ["id", "label"];

fn header(names: &[String], labelled: bool) -> Vec<OutputColumn> {
    let own = OWN.iter().filter(|(name, _)| !labelled || TRAINED_ON.contains(name));
    // A feature may have the name of one of ours.
    let free = |name: &String| {
        let is_taken = OWN.iter().any(|(taken, _)| taken == name);
        if is_taken { format!("feature {name}") } else { name.clone() }
    };
    own.map(|(name, kind)| OutputColumn::new(*name, *kind))
        .chain(names.iter().map(|name| OutputColumn::new(free(name), ColumnType::Float)))
        .collect()
}

const OWN: [(&str, ColumnType); 11] = [
    ("sample", ColumnType::Integer),
    ("id", ColumnType::Text),
    ("state", ColumnType::Text),
    ("label", ColumnType::Text),
    ("best", ColumnType::Text),
    ("support", ColumnType::Float),
    ("psi", ColumnType::Float),
    ("model", ColumnType::Text),
    ("group", ColumnType::Integer),
    ("text", ColumnType::Text),
    ("link", ColumnType::Text),
];

fn columns(samples: &[Sample], dimensions: usize, labelled: bool) -> Vec<ColumnValues> {
    let text = |value: fn(&Sample) -> String| ColumnValues::Text(samples.iter().map(value).collect());
    let integer = |value: fn(&Sample) -> i64| ColumnValues::Integer(samples.iter().map(value).collect());
    let own = [
        integer(|sample| sample.number),
        text(|sample| sample.id.clone().unwrap_or_default()),
        text(|sample| match sample.state {
            State::Waiting => "waiting".to_owned(),
            State::Labelled { .. } => "labelled".to_owned(),
            State::Ignored => "ignored".to_owned(),
            State::Discarded => "discarded".to_owned(),
        }),
        text(|sample| match &sample.state {
            State::Labelled { label } => label.clone(),
            _ => String::new(),
        }),
        text(|sample| sample.best.clone()),
        ColumnValues::Float(samples.iter().map(|sample| sample.support.unwrap_or(f64::NAN)).collect()),
        ColumnValues::Float(samples.iter().map(|sample| sample.psi).collect()),
        text(|sample| sample.model.clone()),
        integer(|sample| sample.group),
        text(|sample| sample.text.clone().unwrap_or_default()),
        text(|sample| sample.link.clone().unwrap_or_default()),
    ];
    let features = (0..dimensions).map(|column| {
        ColumnValues::Float(samples.iter().map(|sample| f64::from(sample.features[column])).collect())
    });
    let own = own.into_iter().zip(OWN).filter(|(_, (name, _))| !labelled || TRAINED_ON.contains(name));
    own.map(|(values, _)| values).chain(features).collect()
}
