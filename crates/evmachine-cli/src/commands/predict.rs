//! `evmachine predict`

use std::path::PathBuf;

use clap::Args;
use evmachine::{ClassScore, Decision, Evm, Explanation, FeatureError, Features, PredictError};
use evmachine_data::{
    Batch, ColumnType, ColumnValues, DataError, OutputColumn, OutputFormat, Target, Writer,
};

use crate::console::Console;
use crate::data::{DataArguments, Located, report_skipped};
use crate::failure::{Failure, Kind};
use crate::files;
use crate::rejection::RejectionArguments;
use crate::unknown::UnknownLabel;
use crate::{interrupt, model};

/// Name the class of each row, or call it unknown
///
/// Streams, so that files larger than memory work. Writes a row for each input row, in the same order: its number
/// or identifier, the label, the score that is compared with the threshold as a probability (psi), and the best class, that of
/// highest support, whether accepted or not; for a calibrated model also P(known) and P(best class | known).
///
/// Example: evmachine predict letters.safetensors new.csv -o predictions.csv
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The model.
    model: PathBuf,

    /// The rows to predict; - for standard input.
    data: PathBuf,

    /// Where to write: .csv, .jsonl or .parquet; standard output unless given.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: Target,

    /// The format to write, where the name does not say: csv, jsonl or parquet.
    #[arg(long, value_name = "FORMAT")]
    output_format: Option<OutputFormat>,

    /// Add the probability of every class, in columns named `p:CLASS`.
    #[arg(long)]
    proba: bool,

    /// Add the reasons: the classes that came closest, with the training rows that spoke for them (counted from 1
    /// over all files learned from), their distance and psi, and how far the row would have to move to change sides.
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    rejection: RejectionArguments,

    /// The share of known rows to be expected, which P(known) in the column `p_known` takes for granted.
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    prior: f64,

    #[command(flatten)]
    unknown: UnknownLabel,

    #[command(flatten)]
    columns: DataArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    if let Target::Path(output) = &arguments.output {
        files::refuse_over(output, [arguments.model.as_path(), arguments.data.as_path()])?;
        files::refuse_nowhere(output)?;
    }
    let evm = model::load_to_decide(&arguments.model, &arguments.rejection)?;
    arguments.unknown.check_model(&evm)?;
    if !(arguments.prior > 0.0 && arguments.prior < 1.0) {
        return Err(Failure::new(
            Kind::Usage,
            format!("--prior {}: must be between 0 and 1", arguments.prior),
        ));
    }
    let mut reader = arguments.columns.open_for(console, &arguments.data, &evm)?;
    let columns = reader.schema().feature_names.len();
    if columns != evm.dimensions() {
        let error = FeatureError::Dimensions { expected: evm.dimensions(), found: columns };
        return Err(Failure::from(error).about(arguments.data.display()));
    }
    let named_ids = reader.schema().id_name.clone();
    let mut writer =
        Writer::create(&arguments.output, arguments.format()?, &arguments.header(&evm, named_ids))
            .map_err(not_written)?;
    let bar = console.bar(None, "predicting");
    let (mut rows, mut unknown) = (0u64, 0u64);
    for batch in reader.by_ref() {
        interrupt::check()?;
        let batch = batch?;
        let (values, rejected) = arguments.answer(&evm, batch)?;
        let count = values.first().map_or(0, ColumnValues::len) as u64;
        if let Err(error) = writer.write(values) {
            // Whoever read our output had enough; that is no failure.
            return if error.is_broken_pipe() { Ok(()) } else { Err(not_written(error)) };
        }
        rows += count;
        unknown += rejected;
        bar.inc(count);
    }
    bar.finish_and_clear();
    if let Err(error) = writer.finish() {
        return if error.is_broken_pipe() { Ok(()) } else { Err(not_written(error)) };
    }
    report_skipped(console, reader.skipped());
    console.say(format!("{rows} rows, {unknown} of them unknown"));
    Ok(())
}

/// That the predictions could not be written is no fault of the data.
fn not_written(error: DataError) -> Failure {
    Failure { kind: Kind::Other, ..error.into() }
}

/// Rows that are explained between two looks at whether to go on.
const EXPLAINED: usize = 256;

/// What is said of a row.
struct Answer {
    decision: Decision,
    /// Of every class, where they are asked for.
    probabilities: Vec<f64>,
    /// P(known), and P(best class | known), of a calibrated model.
    calibrated: Option<(f64, f64)>,
}

impl Arguments {
    fn format(&self) -> Result<OutputFormat, Failure> {
        match (self.output_format, &self.output) {
            (Some(format), _) => Ok(format),
            (None, Target::Path(path)) => Ok(OutputFormat::from_path(path)?),
            (None, Target::Stdout) => Ok(OutputFormat::Csv),
        }
    }

    fn header(&self, evm: &Evm, id_name: Option<String>) -> Vec<OutputColumn> {
        let id = match id_name {
            Some(name) => OutputColumn::new(name, ColumnType::Text),
            None => OutputColumn::new("row", ColumnType::Integer),
        };
        let mut columns = vec![
            id,
            OutputColumn::new("label", ColumnType::Text),
            OutputColumn::new("probability", ColumnType::Float),
            OutputColumn::new("best", ColumnType::Text),
        ];
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
    fn ask(&self, evm: &Evm, features: &Features<'_>) -> Result<Vec<Answer>, PredictError> {
        if !self.proba && evm.calibration().is_none() {
            let decisions = evm.decide_with(&interrupt::run(), features)?;
            let answer = |decision| Answer { decision, probabilities: Vec::new(), calibrated: None };
            return Ok(decisions.into_iter().map(answer).collect());
        }
        evm.for_each_query(&interrupt::run(), features, |_, scores| {
            let probabilities: Vec<f64> =
                if self.proba { scores.iter().map(ClassScore::probability).collect() } else { Vec::new() };
            let decision = evm.decision(scores);
            let known = evm.probability_known(decision.score(), self.prior);
            let class = evm.class_probabilities(scores).map(|classes| classes[decision.best()]);
            Answer { decision, probabilities, calibrated: known.zip(class) }
        })
    }

    /// The output columns for a batch, and how many of its rows are unknown.
    fn answer(&self, evm: &Evm, batch: Batch) -> Result<(Vec<ColumnValues>, u64), Failure> {
        let rows = batch.row_numbers.clone();
        let features = Features::new(batch.features, batch.columns)
            .map_err(|error| Located::from(error).in_file(&self.data, &rows))?;
        let answers =
            self.ask(evm, &features).map_err(|error| Located::from(error).in_file(&self.data, &rows))?;
        let decisions = || answers.iter().map(|answer| &answer.decision);
        let label = |decision: &Decision| match decision.class() {
            Some(class) => evm.class_name(class).to_owned(),
            None => self.unknown.unknown_label.clone(),
        };
        let number = |&row: &u64| i64::try_from(row).expect("no file has 2^63 rows");
        let ids = match batch.ids {
            Some(ids) => ColumnValues::Text(ids),
            None => ColumnValues::Integer(rows.iter().map(number).collect()),
        };
        let mut columns = vec![
            ids,
            ColumnValues::Text(decisions().map(label).collect()),
            ColumnValues::Float(decisions().map(Decision::probability).collect()),
            ColumnValues::Text(
                decisions().map(|decision| evm.class_name(decision.best()).to_owned()).collect(),
            ),
        ];
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
            columns.push(ColumnValues::Text(explained(evm, &features)?));
        }
        let unknown = decisions().filter(|decision| decision.class().is_none()).count() as u64;
        Ok((columns, unknown))
    }
}

/// The reasons, row by row.
fn explained(evm: &Evm, features: &Features<'_>) -> Result<Vec<String>, Failure> {
    let mut said = Vec::with_capacity(features.rows());
    let rows: Vec<usize> = (0..features.rows()).collect();
    for rows in rows.chunks(EXPLAINED) {
        interrupt::check()?;
        let explanations = evm.explain(&features.select(rows), 3)?;
        said.extend(explanations.iter().map(|explanation| explanation_json(evm, explanation).to_string()));
    }
    Ok(said)
}

fn explanation_json(evm: &Evm, explanation: &Explanation) -> serde_json::Value {
    let classes: Vec<serde_json::Value> = explanation
        .classes
        .iter()
        .map(|class| {
            let speakers: Vec<serde_json::Value> = class
                .speakers
                .iter()
                .map(|speaker| {
                    serde_json::json!({
                        "training_row": speaker.source + 1,
                        "distance": speaker.distance,
                        "psi": speaker.psi,
                        "radius": speaker.radius,
                    })
                })
                .collect();
            let mut said = serde_json::json!({
                "class": evm.class_name(class.class),
                "probability": class.probability,
                "extreme_vectors": speakers,
            });
            if let Some(testimony) = class.testimony {
                said["witnesses"] = serde_json::json!(testimony);
            }
            said
        })
        .collect();
    serde_json::json!({ "classes": classes, "distance_to_boundary": explanation.distance_to_boundary })
}
