//! `evmachine predict`

use std::path::{Path, PathBuf};
use std::slice::from_ref;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use evmachine::{ClassScore, Decision, Evm, FeatureError, Features, Prior, Run, RunError, finite};
use evmachine_console::console::Console;
use evmachine_console::data::{DataArguments, doubt_encoder, report_skipped};
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::interrupt;
use evmachine_console::origin::Origin;
use evmachine_console::text::counted;
use evmachine_data::{
    Batch, ColumnType, ColumnValues, DataError, OutputColumn, OutputFormat, Place, RowProblem, Skipped,
    Target, Writer,
};

use crate::files;
use crate::model;
use crate::rejection::ThresholdArguments;
use crate::search::SearchArguments;
use crate::tracks::{self, TrackArguments};
use crate::unknown::UnknownLabel;

/// Name the class of each row, or call it unknown
///
/// Streams, so that files larger than memory work. Writes a row for each input row, in the same order: its number or identifier,
/// the `class` or "unknown", whether it is `known`, and `support`, the number to act on: how far the best class lies above the
/// threshold, so that 0 and above is known; psi, the paper's probability; and the best class, whether accepted or not. For a
/// calibrated model also `p_value`, the share of known rows that score no higher, P(known) and P(best class | known).
///
/// Example: evmachine predict letters.safetensors new.csv -o predictions.csv
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model.
    model: PathBuf,

    /// The rows to predict; - for standard input. The columns that the model was trained on are taken by their names, others
    /// are left alone. For several files, or a pattern such as 'part-*.csv', a column says which file a row is of.
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,

    /// Where to write: .csv, .jsonl or .parquet; standard output unless given.
    #[arg(short, long, value_name = "FILE", default_value = "-", value_parser = OsStringValueParser::new().map(Target::from))]
    output: Target,

    /// The format to write, where the name does not say: csv, jsonl or parquet [default: csv on standard output].
    #[arg(long, value_name = "FORMAT")]
    output_format: Option<OutputFormat>,

    /// Add psi of every class, in columns named `p:CLASS`.
    #[arg(long)]
    proba: bool,

    /// Add the reasons: the classes that came closest, with the training rows that spoke for them (counted from 1
    /// over all files learned from), their distance and psi, and how far the row would have to move to change sides.
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    threshold: ThresholdArguments,

    /// Call rows of the whole batch unknown by their p-values instead of the threshold, so that of those at most this share is known,
    /// on average over batches (Benjamini and Hochberg); all others get their best class. Predictions are held in memory until all rows
    /// were read.
    #[arg(
        long,
        value_name = "RATE",
        help_heading = "Rejection",
        conflicts_with_all = ["rejection_threshold", "max_false_unknown", "max_false_known", "confidence", "support"]
    )]
    fdr: Option<f64>,

    #[command(flatten)]
    search: SearchArguments,

    /// The share of known rows to be expected, which P(known) in the column `p_known` takes for granted.
    #[arg(long, value_name = "SHARE", default_value_t, allow_negative_numbers = true)]
    prior: Prior,

    #[command(flatten)]
    unknown: UnknownLabel,

    #[command(flatten)]
    columns: DataArguments,

    #[command(flatten)]
    tracks: TrackArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    if let Target::Path(output) = &arguments.output {
        files::refuse_over(output, from_ref(&arguments.model).iter().chain(&arguments.data))?;
        files::refuse_nowhere(output)?;
    }
    let mut evm = model::load_to_decide(console, &arguments.model, &arguments.threshold)?;
    arguments.search.apply(&mut evm)?;
    arguments.unknown.check_model(&evm)?;
    if let Some(rate) = arguments.fdr {
        evm.discover(&[], rate)?;
    }
    if arguments.tracks.column().is_some() {
        return arguments.answer_tracks(console, &evm);
    }
    let mut series = arguments.columns.open(console, &arguments.data, Some(&evm))?;
    let columns = series.schema().feature_names.len();
    if columns != evm.dimensions() {
        let error = FeatureError::Dimensions { expected: evm.dimensions(), found: columns };
        return Err(Failure::from(error).about(series.paths()[0].display()));
    }
    let several = series.paths().len() > 1;
    let header = arguments.header(&evm, several, series.schema().id_name.clone());
    let mut writer = Writer::create(&arguments.output, arguments.format()?, &header).map_err(not_written)?;
    let bar = console.bar(None, "predicting");
    let (mut rows, mut unknown) = (0u64, 0u64);
    let (mut left_out, mut held) = (Skipped::default(), Vec::new());
    while let Some(next) = series.next() {
        interrupt::check()?;
        let (file, batch) = next?;
        let path = series.paths()[file].clone();
        if rows == 0 {
            let features = Features::new(&batch.features[..], batch.columns)?;
            doubt_encoder(console, Some(&evm), &features, &Origin::of_batch(&path, &batch.row_numbers));
        }
        let answered = arguments.answer(
            &console.quiet_run(),
            &evm,
            Asked { path: &path, several, batch },
            &mut left_out,
        )?;
        let count = answered.decisions.len() as u64;
        rows += count;
        bar.inc(count);
        if arguments.fdr.is_some() {
            held.push(answered);
            continue;
        }
        unknown += answered.decisions.iter().filter(|decision| decision.class().is_none()).count() as u64;
        if let Err(error) = writer.write(answered.columns) {
            // Whoever read our output had enough; that is no failure.
            return if error.is_broken_pipe() { Ok(()) } else { Err(not_written(error)) };
        }
    }
    bar.finish_and_clear();
    if let Some(rate) = arguments.fdr {
        unknown = arguments.discover(console, &evm, rate, &mut held)?;
        for answered in held {
            if let Err(error) = writer.write(answered.columns) {
                return if error.is_broken_pipe() { Ok(()) } else { Err(not_written(error)) };
            }
        }
    }
    if let Err(error) = writer.finish() {
        return if error.is_broken_pipe() { Ok(()) } else { Err(not_written(error)) };
    }
    report_skipped(console, &series);
    if let Some(recall) = evm.decision_recall()? {
        console.detail(recall.to_string());
    }
    if left_out.rows > 0 {
        let were = if left_out.rows == 1 { "was" } else { "were" };
        console.warn(format!("{} more {were} left out", counted(left_out.rows, "row")));
        left_out.reasons.iter().for_each(|(place, problem)| console.say(format!("  {place}: {problem}")));
    }
    console.say(format!("{}, {unknown} of them unknown", counted(rows, "row")));
    Ok(())
}

/// That the predictions could not be written is no fault of the data.
fn not_written(error: DataError) -> Failure {
    Failure { kind: Kind::Other, ..error.into() }
}

/// Rows that are explained between two looks at whether to go on.
const EXPLAINED: usize = 256;

/// Rows of a file on their way to the model.
struct Asked<'a> {
    path: &'a Path,
    /// Whether it is one of several files.
    several: bool,
    batch: Batch,
}

/// A batch that the model was asked about.
struct Answered {
    decisions: Vec<Decision>,
    /// As they are written.
    columns: Vec<ColumnValues>,
    /// Which of them is the class; the next says whether it is known.
    class: usize,
}

/// What a row's output is made of.
struct RowScores {
    decision: Decision,
    /// Of every class, where they are asked for.
    probabilities: Vec<f64>,
    /// P(known), and P(best class | known), of a calibrated model.
    calibrated: Option<(f64, f64)>,
}

impl Arguments {
    fn answer_tracks(&self, console: &Console, evm: &Evm) -> Result<(), Failure> {
        let answers = self.tracks.answer(console, evm, &self.data, &self.columns)?;
        let calibrated = evm.calibration().is_some();
        let header = tracks::header("track", calibrated);
        let writer = Writer::create(&self.output, self.format()?, &header).map_err(not_written)?;
        match tracks::write(console, writer, &answers, &self.unknown, calibrated) {
            Err(error) if !error.is_broken_pipe() => Err(not_written(error)),
            _ => Ok(()),
        }
    }

    fn format(&self) -> Result<OutputFormat, Failure> {
        match (self.output_format, &self.output) {
            (Some(format), _) => Ok(format),
            (None, Target::Path(path)) => Ok(OutputFormat::from_path(path)?),
            (None, Target::Stdout) => Ok(OutputFormat::Csv),
        }
    }

    fn header(&self, evm: &Evm, several: bool, id_name: Option<String>) -> Vec<OutputColumn> {
        let id = match id_name {
            Some(name) => OutputColumn::new(name, ColumnType::Text),
            None => OutputColumn::new("row", ColumnType::Integer),
        };
        let file = several.then(|| OutputColumn::new("file", ColumnType::Text));
        let mut columns: Vec<OutputColumn> = file.into_iter().chain([id]).collect();
        columns.extend([
            OutputColumn::new("class", ColumnType::Text),
            OutputColumn::new("known", ColumnType::Boolean),
            OutputColumn::new("support", ColumnType::Float),
        ]);
        if evm.calibration().is_some() {
            columns.push(OutputColumn::new("p_value", ColumnType::Float));
        }
        columns.extend([
            OutputColumn::new("psi", ColumnType::Float),
            OutputColumn::new("best", ColumnType::Text),
        ]);
        if evm.calibration().is_some() {
            columns.push(OutputColumn::new("p_known", ColumnType::Float));
            columns.push(OutputColumn::new("p_class", ColumnType::Float));
        }
        if self.proba {
            columns.extend(
                evm.classes().map(|class| OutputColumn::new(format!("p:{}", class.name), ColumnType::Float)),
            );
        }
        if self.explain {
            columns.push(OutputColumn::new("explanation", ColumnType::Json));
        }
        columns
    }

    /// Asks the model about a batch. Where nothing but the best class is written, the others are not measured to the end.
    fn ask(&self, run: &Run<'_>, evm: &Evm, features: &Features<'_>) -> Result<Vec<RowScores>, RunError> {
        if !self.proba && evm.calibration().is_none() {
            let decisions = evm.decide_with(run, features)?;
            let answer = |decision| RowScores { decision, probabilities: Vec::new(), calibrated: None };
            return Ok(decisions.into_iter().map(answer).collect());
        }
        evm.map_queries_with(run, features, |_, scores| {
            let probabilities: Vec<f64> =
                if self.proba { scores.iter().map(ClassScore::psi).collect() } else { Vec::new() };
            let decision = evm.decision(scores);
            let known = evm.probability_known(decision.score(), self.prior);
            let class = evm.class_probabilities(scores).map(|classes| classes[decision.best()]);
            RowScores { decision, probabilities, calibrated: known.zip(class) }
        })
    }

    /// As [`Self::ask`], without the rows that the model cannot be asked about, where bad rows are to be left out.
    fn ask_usable(
        &self,
        run: &Run<'_>,
        evm: &Evm,
        asked: &mut Asked<'_>,
        left_out: &mut Skipped,
    ) -> Result<Vec<RowScores>, Failure> {
        loop {
            let batch = &asked.batch;
            let features = Features::new(&batch.features[..], batch.columns)?;
            let error = match self.ask(run, evm, &features) {
                Ok(answers) => return Ok(answers),
                Err(error) => error,
            };
            let (row, problem) = match error {
                RunError::Features(FeatureError::ZeroVector { row }) => (row, RowProblem::ZeroVector),
                RunError::Features(FeatureError::TooLargeWhitened { row, limit }) => {
                    (row, RowProblem::WhitenedAboveLimit { limit })
                }
                other => return Err(Failure::from(other).about(asked.path.display())),
            };
            let place = Place { row: batch.row_numbers[row], line: None };
            if !self.columns.skip_bad_rows {
                let file = asked.path.display().to_string();
                return Err(DataError::BadRow { file, place, problem }.into());
            }
            left_out.record(place, problem);
            asked.batch.remove(row);
        }
    }

    /// Calls rows of all batches unknown by the rate of false discoveries, and returns how many.
    fn discover(
        &self,
        console: &Console,
        evm: &Evm,
        rate: f64,
        held: &mut [Answered],
    ) -> Result<u64, Failure> {
        let p_values: Vec<f64> =
            held.iter().flat_map(|batch| &batch.decisions).filter_map(Decision::p_value).collect();
        let discoveries = evm.discover(&p_values, rate)?;
        let mut unknown = discoveries.unknown.iter();
        for Answered { decisions, columns, class } in held {
            let said = decisions.iter().zip(unknown.by_ref()).map(|(decision, &is_unknown)| {
                let name = evm.class_name(decision.best());
                (if is_unknown { self.unknown.unknown_label.clone() } else { name.to_owned() }, !is_unknown)
            });
            let (classes, known) = said.unzip();
            columns[*class] = ColumnValues::Text(classes);
            columns[*class + 1] = ColumnValues::Boolean(known);
        }
        let found = discoveries.unknown.iter().filter(|unknown| **unknown).count();
        console.say(format!(
            "{} of {} found unknown, at most {} % of them known on average",
            found,
            counted(p_values.len() as u64, "row"),
            (rate * 1e6).round() / 1e4
        ));
        console.warn_if(discoveries.doubt());
        Ok(found as u64)
    }

    /// The output columns for a batch.
    fn answer(
        &self,
        run: &Run<'_>,
        evm: &Evm,
        mut asked: Asked<'_>,
        left_out: &mut Skipped,
    ) -> Result<Answered, Failure> {
        let answers = self.ask_usable(run, evm, &mut asked, left_out)?;
        let Asked { path, several, batch } = asked;
        let features = Features::new(batch.features, batch.columns)?;
        let decisions = || answers.iter().map(|answer| &answer.decision);
        let class = |decision: &Decision| {
            evm.name_of(decision).map_or_else(|| self.unknown.unknown_label.clone(), str::to_owned)
        };
        let number = |&row: &u64| i64::try_from(row).expect("no file has 2^63 rows");
        let ids = match batch.ids {
            Some(ids) => ColumnValues::Text(ids),
            None => ColumnValues::Integer(batch.row_numbers.iter().map(number).collect()),
        };
        let file = several.then(|| ColumnValues::Text(vec![path.display().to_string(); batch.rows]));
        let mut columns: Vec<ColumnValues> = file.into_iter().chain([ids]).collect();
        let place_of_class = columns.len();
        columns.extend([
            ColumnValues::Text(decisions().map(class).collect()),
            ColumnValues::Boolean(decisions().map(|decision| decision.class().is_some()).collect()),
            ColumnValues::Float(decisions().map(|decision| finite(decision.support())).collect()),
        ]);
        if evm.calibration().is_some() {
            columns.push(ColumnValues::Float(decisions().filter_map(Decision::p_value).collect()));
        }
        columns.extend([
            ColumnValues::Float(decisions().map(Decision::psi).collect()),
            ColumnValues::Text(
                decisions().map(|decision| evm.class_name(decision.best()).to_owned()).collect(),
            ),
        ]);
        if evm.calibration().is_some() {
            let (known, class) =
                answers.iter().map(|answer| answer.calibrated.expect("the model is calibrated")).unzip();
            columns.push(ColumnValues::Float(known));
            columns.push(ColumnValues::Float(class));
        }
        if self.proba {
            for class in 0..evm.classes().len() {
                columns.push(ColumnValues::Float(
                    answers.iter().map(|answer| answer.probabilities[class]).collect(),
                ));
            }
        }
        if self.explain {
            columns.push(ColumnValues::Text(explained(run, evm, &features, self.prior)?));
        }
        let decisions = decisions().copied().collect();
        Ok(Answered { decisions, columns, class: place_of_class })
    }
}

/// The reasons, row by row.
fn explained(
    run: &Run<'_>,
    evm: &Evm,
    features: &Features<'_>,
    prior: Prior,
) -> Result<Vec<String>, Failure> {
    let mut said = Vec::with_capacity(features.rows());
    let rows: Vec<usize> = (0..features.rows()).collect();
    for rows in rows.chunks(EXPLAINED) {
        interrupt::check()?;
        for reasons in evm.reasons_with(run, &features.select(rows), 3, prior)? {
            let text = serde_json::to_string(&reasons);
            said.push(text.map_err(|error| Failure::new(Kind::Other, error.to_string()))?);
        }
    }
    Ok(said)
}
