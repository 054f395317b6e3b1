//! `evmachine edit not`: vectors that are not of a class.

use std::path::PathBuf;
use std::slice::from_ref;

use clap::Args;
use evmachine::{EditReport, Evm};
use evmachine_console::console::Console;
use evmachine_console::data::{DataArguments, Unlabelled};
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::hint::Hint;
use evmachine_console::text::counted;
use evmachine_data::ColumnRef;

use super::FileArguments;

#[derive(Debug, Args)]
pub(super) struct NotArguments {
    #[command(flatten)]
    pub(super) files: FileArguments,

    /// The class that the vectors are not of.
    class: String,

    /// The file with the vectors, in the columns that the model was trained on.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,

    /// Numbers of rows in that file, from 1; unless rows are named, all of them are meant.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    row: Vec<u64>,

    /// Ids of rows in that file.
    #[arg(long, value_name = "IDS", value_delimiter = ',', requires = "id_column")]
    id: Vec<String>,

    /// The column of that file with the ids, which the model keeps.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    id_column: Option<ColumnRef>,

    /// The column with the class in the data, which is no feature.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    label: Option<ColumnRef>,

    /// The feature columns of the data; unless given, those that the model was trained on.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', allow_hyphen_values = true)]
    features: Vec<ColumnRef>,

    /// Columns of the data to leave out; where the model has names of features, others are left alone anyway.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', allow_hyphen_values = true)]
    drop: Vec<ColumnRef>,

    /// Data to decide before and after, to see what the edit changes; with the same columns.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
}

impl NotArguments {
    /// The data that is decided before and after, and how to read it.
    pub(super) fn compared(&self) -> Option<(&PathBuf, DataArguments)> {
        self.compare.as_ref().map(|path| (path, self.columns()))
    }

    fn columns(&self) -> DataArguments {
        DataArguments {
            label: self.label.clone(),
            id: self.id_column.clone(),
            features: self.features.clone(),
            drop: self.drop.clone(),
            ..DataArguments::default()
        }
    }

    pub(super) fn edited(&self, console: &Console, evm: &Evm) -> Result<(Evm, EditReport), Failure> {
        let data = self.columns().read_unlabelled(console, from_ref(&self.data), Some(evm))?;
        let rows = self.meant(&data)?;
        let (mut edited, first) = (evm.clone(), evm.points_seen());
        let report =
            edited.deny(&data.features.select(&rows), &self.class).map_err(|error| data.failure(error))?;
        data.origin.select(&rows).record(&mut edited, first)?;
        Ok((edited, report))
    }

    /// The rows of the data that are meant.
    fn meant(&self, data: &Unlabelled) -> Result<Vec<usize>, Failure> {
        let numbers = &data.origin.numbers;
        if self.row.is_empty() && self.id.is_empty() {
            return Ok((0..numbers.len()).collect());
        }
        let missing = |what: String| {
            let has = counted(numbers.len() as u64, "row");
            Failure::new(
                Kind::Data,
                format!("{}: there is no row {what} among its {has}", self.data.display()),
            )
            .hint(Hint::flags(&["row", "id"], "--row counts rows from 1, --id names them by --id-column"))
        };
        let mut rows = Vec::new();
        for number in &self.row {
            let row = numbers.iter().position(|other| other == number);
            rows.push(row.ok_or_else(|| missing(number.to_string()))?);
        }
        for id in &self.id {
            let ids = data.origin.ids.iter().flatten();
            let found: Vec<usize> =
                ids.enumerate().filter(|(_, other)| *other == id).map(|(row, _)| row).collect();
            if found.is_empty() {
                return Err(missing(format!("with the id {id:?}")));
            }
            rows.extend(found);
        }
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
    }
}
