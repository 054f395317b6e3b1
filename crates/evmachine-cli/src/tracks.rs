//! One answer for each track of a file.

use std::path::PathBuf;

use clap::Args;
use evmachine::{Evm, TrackAnswer, TrackError, TrackRule};
use evmachine_console::console::Console;
use evmachine_console::data::DataArguments;
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::origin::{Located, Origin};
use evmachine_console::text::counted;
use evmachine_data::{ColumnRef, ColumnType, ColumnValues, OutputColumn, Writer};

use crate::unknown::UnknownLabel;

/// Flags for rows that belong together.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tracks")]
pub(crate) struct TrackArguments {
    /// Give one answer for all rows with the same value in this column, such as frames of one face: a row for each track, with
    /// `rows`, `sure_at` (the row of the track at which it was sure) and `disagree` (the rows of the track that by themselves are
    /// answered otherwise; both from 1). All rows are held in memory.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, conflicts_with_all = ["id", "fdr", "proba", "explain"])]
    track: Option<ColumnRef>,

    /// Set the rule on the tracks of labelled files that the model has not learned, with the same columns and --label: at most the
    /// model's share of known tracks is rejected. Without them a rule is used that keeps the same share however the rows of a track depend
    /// on each other, and accepts more strangers.
    #[arg(long, value_name = "FILE", requires = "track")]
    track_calibration: Vec<PathBuf>,
}

impl TrackArguments {
    /// The column, if tracks are asked for.
    pub(crate) fn column(&self) -> Option<&ColumnRef> {
        self.track.as_ref()
    }

    fn rule(&self, console: &Console, evm: &Evm, columns: &DataArguments) -> Result<TrackRule, Failure> {
        if self.track_calibration.is_empty() {
            return Ok(TrackRule::of(evm));
        }
        let known = columns.read_labelled(console, &self.track_calibration, Some(evm))?;
        let names = names(&known.origin)?;
        TrackRule::calibrated_with(&console.quiet_run(), evm, &known.features, &known.labels, names)
            .map_err(|error| failed(&known.origin, error))
    }

    /// The answers to the tracks of some files.
    pub(crate) fn answer(
        &self,
        console: &Console,
        evm: &Evm,
        data: &[PathBuf],
        columns: &DataArguments,
    ) -> Result<Vec<TrackAnswer>, Failure> {
        let columns = DataArguments { id: self.track.clone(), ..columns.clone() };
        let rule = self.rule(console, evm, &columns)?;
        let rows = columns.read_unlabelled(console, data, Some(evm))?;
        let progress = console.progress();
        let decided = evm
            .decide_tracks_with(&console.run(&progress), &rule, &rows.features, names(&rows.origin)?)
            .map_err(|error| failed(&rows.origin, error))?;
        drop(progress);
        console.say(format!("unknown: {rule}"));
        Ok(decided.iter().map(|(track, decision)| evm.track_answer(track, decision)).collect())
    }
}

/// Writes answers, and says how many are unknown.
pub(crate) fn write(
    console: &Console,
    mut writer: Writer,
    answers: &[TrackAnswer],
    unknown: &UnknownLabel,
    calibrated: bool,
) -> Result<(), evmachine_data::DataError> {
    let text = |each: fn(&TrackAnswer) -> String| ColumnValues::Text(answers.iter().map(each).collect());
    let label = |answer: &TrackAnswer| answer.class.clone().unwrap_or_else(|| unknown.unknown_label.clone());
    let mut columns = vec![
        text(|answer| answer.track.clone()),
        ColumnValues::Text(answers.iter().map(label).collect()),
        ColumnValues::Float(answers.iter().map(|answer| answer.support).collect()),
    ];
    if calibrated {
        columns.push(ColumnValues::Float(answers.iter().filter_map(|answer| answer.p_value).collect()));
    }
    columns.extend([
        text(|answer| answer.best.clone()),
        ColumnValues::Integer(
            answers.iter().map(|answer| i64::try_from(answer.rows).unwrap_or(i64::MAX)).collect(),
        ),
        text(|answer| serde_json::json!(answer.sure_at).to_string()),
        text(|answer| serde_json::json!(answer.disagree).to_string()),
    ]);
    writer.write(columns)?;
    writer.finish()?;
    let rows: usize = answers.iter().map(|answer| answer.rows).sum();
    let strange = answers.iter().filter(|answer| !answer.known).count();
    console.say(format!(
        "{} of {}, {strange} of them unknown",
        counted(answers.len() as u64, "track"),
        counted(rows as u64, "row")
    ));
    Ok(())
}

/// The columns of [`write`].
pub(crate) fn header(column: &str, calibrated: bool) -> Vec<OutputColumn> {
    let p_value = calibrated.then(|| OutputColumn::new("p_value", ColumnType::Float));
    [
        OutputColumn::new(column, ColumnType::Text),
        OutputColumn::new("label", ColumnType::Text),
        OutputColumn::new("support", ColumnType::Float),
    ]
    .into_iter()
    .chain(p_value)
    .chain([
        OutputColumn::new("best", ColumnType::Text),
        OutputColumn::new("rows", ColumnType::Integer),
        OutputColumn::new("sure_at", ColumnType::Json),
        OutputColumn::new("disagree", ColumnType::Json),
    ])
    .collect()
}

/// The track of each row.
fn names(origin: &Origin) -> Result<&[String], Failure> {
    let names = origin.ids.as_deref().unwrap_or_default();
    match names.iter().position(String::is_empty) {
        Some(row) => {
            let message = format!("{} has no track; give it one, or leave the row out", origin.place(row));
            Err(Failure::new(Kind::Data, message))
        }
        None => Ok(names),
    }
}

fn failed(origin: &Origin, error: TrackError) -> Failure {
    match error {
        TrackError::Run(error) => origin.failure(Located::from(error)),
        TrackError::NoRate { .. } | TrackError::TooFew { .. } => {
            Failure::new(Kind::Usage, error.to_string()).about("--track-calibration")
        }
        other => Failure::new(Kind::Data, other.to_string()).about(origin.name()),
    }
}
