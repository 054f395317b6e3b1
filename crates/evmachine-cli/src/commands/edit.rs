//! `evmachine edit`

mod not;

use std::path::PathBuf;
use std::slice::from_ref;

use clap::{Args, Subcommand};
use evmachine::{Edit, EditReport, Evm, refuse_slip};
use evmachine_console::console::{Console, print};
use evmachine_console::data::DataArguments;
use evmachine_console::failure::Failure;
use evmachine_console::text::counted;
use evmachine_data::ColumnRef;

use self::not::NotArguments;
use crate::failure::OrFail;
use crate::model;
use crate::rows::RowArguments;
use crate::unknown;

/// Correct a model: rename, merge and split classes; relabel, unlearn, ignore, set aside and restore rows; say what a vector is not
///
/// With every row kept (`train --keep-all`), a tail size given as a number, and neither whitening nor smoothing (`--preset plain`), every
/// row has the Psi-model that training on the corrected data would have given it. The threshold is set anew where one row in a hundred changed, or a class came or went.
///
/// Example: evmachine edit merge letters.safetensors Q O -o letters.safetensors
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    correction: Correction,
}

#[derive(Debug, Subcommand)]
enum Correction {
    /// Give a class another name
    ///
    /// Example: evmachine edit rename letters.safetensors 0 O -o letters.safetensors
    Rename {
        #[command(flatten)]
        files: FileArguments,
        /// The class.
        class: String,
        /// Its new name.
        to: String,
        #[command(flatten)]
        compare: CompareArguments,
    },
    /// Make two classes one
    ///
    /// Example: evmachine edit merge letters.safetensors Q O -o letters.safetensors
    Merge {
        #[command(flatten)]
        files: FileArguments,
        /// The class that ends.
        class: String,
        /// The class that takes its rows.
        into: String,
        #[command(flatten)]
        compare: CompareArguments,
    },
    /// Make some rows of a class a class of their own
    ///
    /// Example: evmachine edit split letters.safetensors O Q --ids-from tails.txt -o letters.safetensors
    Split {
        #[command(flatten)]
        files: FileArguments,
        /// The class.
        class: String,
        /// Name of the new class.
        into: String,
        #[command(flatten)]
        rows: RowArguments,
        #[command(flatten)]
        compare: CompareArguments,
    },
    /// Give rows another label, of a class that is there or of a new one; ignored samples may be among them
    ///
    /// Example: evmachine edit relabel letters.safetensors Q --row 17 -o letters.safetensors
    Relabel {
        #[command(flatten)]
        files: FileArguments,
        /// Their class from now on.
        class: String,
        /// Found the class, although its name is close to that of another.
        #[arg(long)]
        new_class: bool,
        #[command(flatten)]
        rows: RowArguments,
        #[command(flatten)]
        compare: CompareArguments,
    },
    /// Take rows out as if they had never been there
    ///
    /// Example: evmachine edit unlearn letters.safetensors --id a17 --id a18 -o letters.safetensors
    Unlearn(OfRows),
    /// Make rows of classes ignored samples
    ///
    /// Example: evmachine edit ignore letters.safetensors --id a17 -o letters.safetensors
    Ignore(OfRows),
    /// Take rows out, and keep them beside the model so that they can be restored
    ///
    /// Example: evmachine edit set-aside letters.safetensors --row 17 -o letters.safetensors
    SetAside(OfRows),
    /// Bring rows back that were set aside
    ///
    /// Example: evmachine edit restore letters.safetensors --row 17 -o letters.safetensors
    Restore(OfRows),
    /// Say of vectors that they are not of a class, whatever else they are
    ///
    /// They shape the margins of that class alone, and what is nearest to one of them is never answered with it, but as the other
    /// classes say. `edit unlearn` of their rows takes it back, exactly.
    ///
    /// Example: evmachine edit not faces.safetensors Ada --data today.csv --row 17 -o faces.safetensors
    Not(NotArguments),
}

#[derive(Debug, Args)]
struct OfRows {
    #[command(flatten)]
    files: FileArguments,
    #[command(flatten)]
    rows: RowArguments,
    #[command(flatten)]
    compare: CompareArguments,
}

#[derive(Debug, Args)]
struct FileArguments {
    /// The model.
    model: PathBuf,

    /// The model file to write; may be the one read.
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,
}

#[derive(Debug, Args)]
struct CompareArguments {
    /// Data to decide before and after, to see what the edit changes.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,

    /// The column with the class in the data to compare, which is no feature.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, requires = "compare")]
    label: Option<ColumnRef>,

    /// The feature columns of the data to compare; unless given, those that the model was trained on.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        allow_hyphen_values = true,
        requires = "compare"
    )]
    features: Vec<ColumnRef>,

    /// Columns of the data to compare to leave out; where the model has names of features, others are left alone anyway.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        allow_hyphen_values = true,
        requires = "compare"
    )]
    drop: Vec<ColumnRef>,
}

impl CompareArguments {
    fn compared(&self) -> Option<(&PathBuf, DataArguments)> {
        let columns = || DataArguments {
            label: self.label.clone(),
            features: self.features.clone(),
            drop: self.drop.clone(),
            ..DataArguments::default()
        };
        self.compare.as_ref().map(|path| (path, columns()))
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    let (files, compared) = arguments.correction.parts();
    let (evm, _held) = model::load_to_change(console, &files.model, &files.output)?;
    let (edited, report) = arguments.correction.edited(console, &evm)?;
    if let Some((path, columns)) = compared {
        compare(console, (&evm, &edited), path, &columns)?;
    }
    model::save(&edited, &files.output)?;
    say(console, &edited, &report);
    say_threshold(console, &arguments.correction, &edited, &report);
    console.say(format!("model written to {}", files.output.display()));
    Ok(())
}

/// Says which rows of a file two models decide differently.
fn compare(
    console: &Console,
    (before, after): (&Evm, &Evm),
    path: &PathBuf,
    columns: &DataArguments,
) -> Result<(), Failure> {
    let queries = columns.read_unlabelled(console, from_ref(path), Some(before))?;
    let progress = console.progress();
    let differences = before
        .differences_with(&console.run(&progress), after, &queries.features)
        .map_err(|error| queries.failure(error))?;
    drop(progress);
    let named = |class: &Option<String>| class.clone().unwrap_or_else(|| "unknown".to_owned());
    for difference in &differences {
        let (before, after) = (named(&difference.before), named(&difference.after));
        print(format!("row {}: {before} -> {after}", queries.origin.numbers[difference.row]));
    }
    console.say(format!("{} of {} rows are decided differently", differences.len(), queries.features.rows()));
    Ok(())
}

fn say(console: &Console, edited: &Evm, report: &EditReport) {
    let list = |what: &str, names: &[String]| {
        if !names.is_empty() {
            console.say(format!("{what}: {}", names.join(", ")));
        }
    };
    list("new classes", &report.new_classes);
    list("ended classes", &report.ended_classes);
    console.say(format!(
        "{} changed, {} fitted again; {} of {}",
        counted(report.rows as u64, "row"),
        counted(report.refitted as u64, "other"),
        counted(report.extreme_vectors as u64, "extreme vector"),
        counted(edited.classes().len() as u64, "class")
    ));
}

/// What became of the threshold.
fn say_threshold(console: &Console, correction: &Correction, edited: &Evm, report: &EditReport) {
    let Some(info) = edited.calibration().filter(|_| report.rows > 0) else { return };
    console.say(match correction {
        _ if report.recalibrated => {
            format!("the threshold was set anew, by {}", counted(info.rows as u64, "row"))
        }
        Correction::Not(_) => {
            "the threshold stays where it is until the model next learns or is calibrated".to_owned()
        }
        _ => "so few rows leave the threshold where it is".to_owned(),
    });
}

impl Correction {
    /// The files, and what is decided before and after.
    fn parts(&self) -> (&FileArguments, Option<(&PathBuf, DataArguments)>) {
        let (files, compare) = match self {
            Self::Not(not) => return (&not.files, not.compared()),
            Self::Rename { files, compare, .. }
            | Self::Merge { files, compare, .. }
            | Self::Split { files, compare, .. }
            | Self::Relabel { files, compare, .. } => (files, compare),
            Self::Unlearn(of) | Self::Ignore(of) | Self::SetAside(of) | Self::Restore(of) => {
                (&of.files, &of.compare)
            }
        };
        (files, compare.compared())
    }

    /// The name that some rows get.
    fn named(&self) -> Option<&str> {
        match self {
            Self::Rename { to: name, .. }
            | Self::Split { into: name, .. }
            | Self::Relabel { class: name, .. } => Some(name),
            _ => None,
        }
    }

    fn edited(&self, console: &Console, evm: &Evm) -> Result<(Evm, EditReport), Failure> {
        // A class of that name that is there already was wanted.
        if let Some(name) = self.named().filter(|name| evm.class_index(name).is_none()) {
            unknown::refuse(name)?;
        }
        if let Self::Relabel { class, new_class: false, .. } = self {
            refuse_slip(class, evm.classes().map(|class| class.name)).or_fail()?;
        }
        let edit = match self {
            Self::Not(not) => return not.edited(console, evm),
            Self::Rename { class, to, .. } => Edit::Rename { class: class.clone(), to: to.clone() },
            Self::Merge { class, into, .. } => Edit::Merge { class: class.clone(), into: into.clone() },
            Self::Split { class, into, rows, .. } => {
                Edit::Split { class: class.clone(), rows: rows.sources(evm)?, into: into.clone() }
            }
            Self::Relabel { class, rows, .. } => {
                Edit::Relabel { rows: rows.sources(evm)?, class: class.clone() }
            }
            Self::Unlearn(of) => Edit::Unlearn { rows: of.rows.sources(evm)? },
            Self::Ignore(of) => Edit::Ignore { rows: of.rows.sources(evm)? },
            Self::SetAside(of) => Edit::SetAside { rows: of.rows.sources(evm)? },
            Self::Restore(of) => Edit::Restore { rows: of.rows.sources(evm)? },
        };
        let progress = console.progress();
        Ok(evm.edited_with(&console.run(&progress), &edit)?)
    }
}
