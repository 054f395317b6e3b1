//! `evmachine-repro openworld`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use evmachine::Metric;
use evmachine_console::console::Console;
use evmachine_console::data::DataArguments;
use evmachine_console::failure::{Failure, Kind};
use evmachine_data::ColumnRef;
use evmachine_repro::Section;
use evmachine_repro::openworld::{self, Data, Selection, Settings};
use evmachine_repro::synthetic::Synthetic;

use crate::{OutputArguments, at_least_one, failure, tell};

/// Which systems take part.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Systems {
    /// All of them.
    All,
    /// The paper's EVM with libmr's fit, and NNO: what fits the paper's own size.
    Paper,
}

/// Classes learned in steps, with unknown ones in the test: EVM, NNO, KDE, 1-NN (Sec. V-B, Fig. 3, Table I)
///
/// On labelled features of your own, or with --synthetic on drawn ones.
///
/// Example: evmachine-repro openworld --synthetic --initial 50 --increment 50
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Labelled features to learn from.
    #[arg(required_unless_present = "synthetic", conflicts_with = "synthetic")]
    data: Option<PathBuf>,

    /// Labelled features to test on; unless given, one row in five of each class of the data.
    #[arg(long, value_name = "FILE", requires = "data")]
    test: Option<PathBuf>,

    /// The column with the class in the test file, where it differs.
    #[arg(long, value_name = "COLUMN", requires = "test", allow_hyphen_values = true)]
    test_label: Option<ColumnRef>,

    /// The feature columns, or the array, of the test file, where they differ.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "test")]
    test_features: Vec<ColumnRef>,

    /// Labels of the test file in a file of their own.
    #[arg(long, value_name = "FILE", requires = "test")]
    test_labels_file: Option<PathBuf>,

    /// What the data is called; names the folder of the results, too.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Classes learned first; at least 6.
    #[arg(long, value_name = "N", default_value_t = 50)]
    initial: usize,

    /// Classes learned in each step.
    #[arg(long, value_name = "N", default_value_t = 50)]
    increment: usize,

    /// Classes known in the end, as far as there are so many. The others are never learned.
    #[arg(long, value_name = "N", default_value_t = 200)]
    most: usize,

    /// Test with 0, N, 2 N, ... unknown classes.
    #[arg(long, value_name = "N", default_value_t = 50)]
    unknown_step: usize,

    /// Most unknown classes in a test.
    #[arg(long, value_name = "N", default_value_t = 200)]
    most_unknown: usize,

    /// The distance of the EVM and of nearest neighbours: euclidean, cosine, manhattan.
    #[arg(long, value_name = "NAME", default_value = "cosine")]
    metric: String,

    /// Rank of NNO's projection.
    #[arg(long, value_name = "N", default_value_t = 64)]
    rank: usize,

    /// Trials of the search for the tuned EVM's parameters; the paper has 50 for its own.
    #[arg(long, value_name = "N", default_value_t = 50)]
    trials: usize,

    /// Which systems take part.
    #[arg(long, value_enum, default_value = "all")]
    systems: Systems,

    /// Seed of the order of classes and of all that is drawn.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    drawn: SyntheticArguments,

    #[command(flatten)]
    columns: DataArguments,

    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Drawn features")]
struct SyntheticArguments {
    /// Draw features like those of a deep network instead of reading a file.
    #[arg(long)]
    synthetic: bool,

    /// Number of classes.
    #[arg(long, value_name = "N", default_value_t = Synthetic::default().classes)]
    classes: usize,

    /// Training points of a class.
    #[arg(long, value_name = "N", default_value_t = Synthetic::default().points)]
    points: usize,

    /// Test points of a class.
    #[arg(long, value_name = "N", default_value_t = Synthetic::default().tests)]
    tests: usize,

    /// Dimensions of the features.
    #[arg(long, value_name = "N", default_value_t = Synthetic::default().dimensions)]
    dimensions: usize,
}

impl Arguments {
    /// A run on drawn features of common size.
    pub(crate) fn synthetic(seed: u64, output: OutputArguments) -> Self {
        let drawn = Synthetic::default();
        Self {
            data: None,
            test: None,
            test_label: None,
            test_features: Vec::new(),
            test_labels_file: None,
            name: None,
            initial: 50,
            increment: 50,
            most: 200,
            unknown_step: 50,
            most_unknown: 200,
            metric: "cosine".to_owned(),
            rank: 64,
            trials: 50,
            systems: Systems::All,
            seed,
            drawn: SyntheticArguments {
                synthetic: true,
                classes: drawn.classes,
                points: drawn.points,
                tests: drawn.tests,
                dimensions: drawn.dimensions,
            },
            columns: DataArguments::default(),
            output,
        }
    }

    /// The flags that name the data, files without their folders.
    fn source(&self, name: &str) -> String {
        let Some(data) = &self.data else {
            let SyntheticArguments { classes, points, tests, dimensions, .. } = self.drawn;
            return format!(
                "--synthetic --classes {classes} --points {points} --tests {tests} --dimensions {dimensions}"
            );
        };
        let file = |path: &PathBuf| {
            path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        };
        let mut words = vec![file(data)];
        let mut flag = |flag: &str, value: Option<String>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                words.extend([flag.to_owned(), value]);
            }
        };
        // Names as they are typed, not as messages quote them.
        let typed = |column: &ColumnRef| column.to_string().trim_matches('`').to_owned();
        let list = |columns: &[ColumnRef]| Some(columns.iter().map(typed).collect::<Vec<_>>().join(","));
        flag("--features", list(&self.columns.features));
        flag("--label", self.columns.label.as_ref().map(typed));
        flag("--labels-file", self.columns.labels_file.as_ref().map(file));
        flag("--test", self.test.as_ref().map(file));
        flag("--test-features", list(&self.test_features));
        flag("--test-label", self.test_label.as_ref().map(typed));
        flag("--test-labels-file", self.test_labels_file.as_ref().map(file));
        flag("--name", Some(name.to_owned()));
        words.join(" ")
    }

    fn read(&self, console: &Console) -> Result<(String, Data<'static>, Option<Synthetic>), Failure> {
        let Some(path) = &self.data else {
            let SyntheticArguments { classes, points, tests, dimensions, .. } = self.drawn;
            at_least_one(&[
                ("--classes", classes),
                ("--points", points),
                ("--tests", tests),
                ("--dimensions", dimensions),
            ])?;
            let drawn =
                Synthetic { classes, points, tests, dimensions, seed: self.seed, ..Synthetic::default() };
            return Ok(("synthetic".to_owned(), drawn.draw().map_err(|error| failure(&error))?, Some(drawn)));
        };
        let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let train = self.columns.read_labelled(console, std::slice::from_ref(path), None)?;
        let data = match &self.test {
            None => Data::divided(&train.features, &train.labels),
            Some(test) => {
                let mut columns = self.columns.clone();
                columns.label = self.test_label.clone().or(columns.label);
                columns.labels_file = self.test_labels_file.clone().or(columns.labels_file);
                if !self.test_features.is_empty() {
                    columns.features.clone_from(&self.test_features);
                }
                let test = columns.read_labelled(console, std::slice::from_ref(test), None)?;
                Data { train: (train.features, train.labels), test: (test.features, test.labels) }
            }
        };
        Ok((stem, data, None))
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<Section, Failure> {
    at_least_one(&[
        ("--increment", arguments.increment),
        ("--unknown-step", arguments.unknown_step),
        ("--trials", arguments.trials),
    ])?;
    if Metric::from_name(&arguments.metric).is_none() {
        let message = format!("--metric {}: is none of euclidean, cosine, manhattan", arguments.metric);
        return Err(Failure::new(Kind::Usage, message));
    }
    let (stem, data, synthetic) = arguments.read(console)?;
    let name = arguments.name.clone().unwrap_or(stem);
    let folder = arguments.output.folder(&format!("openworld-{name}"));
    let settings = Settings {
        source: arguments.source(&name),
        name,
        initial: arguments.initial,
        increment: arguments.increment,
        most: arguments.most.min(data.train.1.names().len()),
        unknown_step: arguments.unknown_step,
        most_unknown: arguments.most_unknown,
        metric: arguments.metric.clone(),
        rank: arguments.rank,
        trials: arguments.trials,
        seed: arguments.seed,
        synthetic,
        systems: match arguments.systems {
            Systems::All => Selection::All,
            Systems::Paper => Selection::Paper,
        },
    };
    tell(console, &folder, |watch| openworld::run(&folder, &data, &settings, watch))
}
