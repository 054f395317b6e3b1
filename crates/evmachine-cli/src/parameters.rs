//! The flags that set the library's parameters, made from its list of them.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use evmachine::{Budget, Evm, Kind as ValueKind, Metric, Parameter, Params};
use evmachine_console::console::Console;
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::megabytes::Megabytes;

use crate::search::SearchArguments;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// What is recommended: smoothing, pooling, wider margins, and a linear probe and a forest if they help.
    Robust,
    /// Eq. 1 as published, cover threshold 0.5, k = 1, with a threshold that keeps to a share of known rows rejected.
    Plain,
    /// The same to the letter: psi below delta = 0.05 is unknown, and every row is learned.
    Paper,
}

impl Preset {
    fn in_library(self) -> evmachine::Preset {
        match self {
            Preset::Robust => evmachine::Preset::Robust,
            Preset::Plain => evmachine::Preset::Plain,
            Preset::Paper => evmachine::Preset::Paper,
        }
    }
}

/// How to train. Flags override `--params`, which overrides `--preset`.
#[derive(Debug, Clone, Args, Default, PartialEq)]
#[command(next_help_heading = "Parameters")]
pub(crate) struct ParameterArguments {
    /// Where to start from [default: robust; plain for tune].
    #[arg(long, value_enum)]
    preset: Option<Preset>,

    /// Parameters from a file, as `evmachine tune` writes it.
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,

    /// Keep every training row as an extreme vector, so that each row can be edited later.
    #[arg(long, conflicts_with_all = ["budget", "cover_threshold", "cover_loss", "cover_risk"])]
    pub(crate) keep_all: bool,

    #[command(flatten)]
    flags: ParameterFlags,
}

/// One flag for each parameter; budgets and the search have several, the rule of rejection has its own group.
#[derive(Debug, Clone, Default, PartialEq)]
struct ParameterFlags {
    /// Name and words, in the order of the list.
    given: Vec<(&'static str, String)>,
    budget: BudgetArguments,
    search: SearchArguments,
}

/// The parameter's flag; none if others stand for it.
pub(crate) fn flag(parameter: &'static Parameter) -> Option<Arg> {
    let name = parameter.name;
    let long = name.replace('_', "-");
    let arg = Arg::new(name).long(long).help(help(parameter));
    let arg = match parameter.symbol {
        Some(symbol) if symbol.len() == 1 => arg.short(symbol.chars().next()?),
        _ => arg,
    };
    Some(match parameter.kind {
        ValueKind::Budget | ValueKind::Search | ValueKind::Rejection => return None,
        ValueKind::Switch => arg.action(ArgAction::SetTrue),
        ValueKind::Choice(names) => {
            let names: Vec<String> = names.iter().map(|name| name.replace('_', "-")).collect();
            arg.value_name(name.to_uppercase()).value_parser(clap::builder::PossibleValuesParser::new(names))
        }
        ValueKind::Bytes => arg
            .value_name("MB")
            .value_parser(|text: &str| text.parse::<Megabytes>().map(|limit| limit.bytes.to_string())),
        _ => {
            let words = |text: &str| -> Result<String, String> {
                Params::plain().set(name, text).map_err(|error| error.rule.into_owned())?;
                Ok(text.to_owned())
            };
            let value_name = parameter.unit.to_uppercase();
            arg.value_name(value_name).allow_negative_numbers(true).value_parser(words)
        }
    })
}

/// What the parameter does, with the paper's symbol, and its value in the presets.
fn help(parameter: &Parameter) -> String {
    let shown = |params: &Params| match parameter.value(params) {
        serde_json::Value::String(name) => name.replace('_', "-"),
        serde_json::Value::Object(entries) => entries.values().map(ToString::to_string).collect(),
        serde_json::Value::Number(number) => number.as_f64().unwrap_or_default().to_string(),
        serde_json::Value::Array(numbers) => {
            numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        }
        serde_json::Value::Bool(_) | serde_json::Value::Null => String::new(),
    };
    let symbol = parameter.symbol.map_or(String::new(), |symbol| format!(" ({symbol})"));
    let [robust, cosine, plain] =
        [Params::robust(), Params::robust_for(Metric::Cosine), Params::plain()].map(|params| shown(&params));
    let defaults = if parameter.kind == ValueKind::Bytes {
        format!(" [default: {}]", Params::default().tail_memory_limit >> 20)
    } else if robust.is_empty() {
        String::new()
    } else {
        let differs = cosine != robust && parameter.name != "metric";
        let of_cosine = if differs { format!(", cosine: {cosine}") } else { String::new() };
        let of_plain = if plain == robust { String::new() } else { format!(", plain: {plain}") };
        format!(" [default: {robust}{of_cosine}{of_plain}]")
    };
    format!("{}{symbol}{defaults}", parameter.about)
}

impl Args for ParameterFlags {
    fn augment_args(mut command: Command) -> Command {
        for parameter in Params::LIST {
            command = match parameter.kind {
                ValueKind::Budget => BudgetArguments::augment_args(command),
                ValueKind::Search => SearchArguments::augment_args(command),
                // It stands with the rule of rejection.
                _ if parameter.name == "confidence" => command,
                _ => match flag(parameter) {
                    Some(arg) if parameter.name.starts_with("cover_") => {
                        command.arg(arg.conflicts_with("budget"))
                    }
                    Some(arg) => command.arg(arg),
                    None => command,
                },
            };
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ParameterFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = Params::LIST.iter().filter_map(|parameter| {
            let words = match parameter.kind {
                ValueKind::Switch => {
                    matches.try_get_one::<bool>(parameter.name).ok()??.then(|| "true".to_owned())
                }
                _ => matches.try_get_one::<String>(parameter.name).ok()?.cloned(),
            };
            words.map(|words| (parameter.name, words))
        });
        Ok(Self {
            given: given.collect(),
            budget: BudgetArguments::from_arg_matches(matches)?,
            search: SearchArguments::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// At most one limit on the number of extreme vectors.
#[derive(Debug, Clone, Copy, Args, Default, PartialEq)]
#[group(id = "budget", multiple = false)]
pub(crate) struct BudgetArguments {
    /// Keep at most so many extreme vectors of each class.
    #[arg(long, value_name = "N")]
    pub(crate) max_per_class: Option<usize>,

    /// Keep at most so many extreme vectors in all, and one of each class at least.
    #[arg(long, value_name = "N")]
    pub(crate) max_total: Option<usize>,

    /// Keep this fraction of all training points, and one of each class at least.
    #[arg(long, value_name = "RATIO")]
    pub(crate) vector_ratio: Option<f64>,
}

impl BudgetArguments {
    pub(crate) fn budget(&self) -> Option<Budget> {
        let per_class = self.max_per_class.map(Budget::PerClass);
        per_class.or(self.max_total.map(Budget::Total)).or(self.vector_ratio.map(Budget::Ratio))
    }
}

/// Says where a budget was not kept to, because every class keeps an extreme vector.
pub(crate) fn warn_of_budget(console: &Console, evm: &Evm) {
    let classes = evm.classes().len();
    let rows: u64 = evm.classes().map(|class| class.points_seen).sum();
    let allowed = match evm.params().max_extreme_vectors {
        Some(Budget::Total(count)) => count as f64,
        Some(Budget::Ratio(ratio)) => ratio * rows as f64,
        _ => return,
    };
    if allowed < classes as f64 {
        console.warn(format!(
            "{allowed} extreme vectors are fewer than the {classes} classes, each of which keeps one at least; \
             {} are in the model",
            evm.extreme_vector_count()
        ));
    }
}

impl ParameterArguments {
    fn words(&self, name: &str) -> Option<&str> {
        self.flags.given.iter().find(|(given, _)| *given == name).map(|(_, words)| words.as_str())
    }

    /// Whether the metric is given, by its flag or with others in a file.
    pub(crate) fn names_metric(&self) -> bool {
        self.words("metric").is_some() || self.params.is_some()
    }

    /// The parameters, checked.
    pub(crate) fn build(&self, console: &Console) -> Result<Params, Failure> {
        self.build_from(console, Preset::Robust)
    }

    /// As [`build`](Self::build), from another preset unless one is given.
    pub(crate) fn build_from(&self, console: &Console, preset: Preset) -> Result<Params, Failure> {
        let preset = self.preset.unwrap_or(preset);
        let mut params = match &self.params {
            Some(path) => read(path, preset, self.words("metric"))?,
            None => preset
                .in_library()
                .params(self.words("metric").and_then(Metric::from_name).unwrap_or(Metric::Euclidean)),
        };
        for (name, words) in &self.flags.given {
            params.set(name, words)?;
        }
        params.search = self.flags.search.over(params.search)?;
        // How many extreme vectors there are is said once: by a flag, though a file or preset says it in another way.
        if let Some(budget) = self.flags.budget.budget() {
            params.max_extreme_vectors = Some(budget);
            if params.cover_risk != 0.0 {
                console.warn(format!("the budget takes the place of cover_risk = {}", params.cover_risk));
                params.cover_risk = 0.0;
            }
        }
        if self.keep_all {
            params = params.keeping_all();
        }
        if self.words("cover_threshold").is_some()
            && let Some(budget) = params.max_extreme_vectors.take()
        {
            console.warn(format!("--cover-threshold takes the place of max_extreme_vectors = {budget:?}"));
        }
        params.check()?;
        Ok(params)
    }
}

/// The parameters of a file; those that it does not name are the preset's for its metric, or for the one that is given.
fn read(path: &Path, preset: Preset, metric: Option<&str>) -> Result<Params, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(Kind::Usage, error.to_string()).about(path.display()))?;
    let wrong = |error: String| {
        Failure::new(Kind::Usage, error)
            .about(path.display())
            .hint("`evmachine tune DATA -o params.toml` writes such a file")
    };
    let mut values: serde_json::Map<String, serde_json::Value> =
        toml::from_str(&text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
    if let Some(metric) = metric {
        values.insert("metric".to_owned(), metric.into());
    }
    preset.in_library().with(values).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::rejection::RejectionArguments;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        parameters: ParameterArguments,

        #[command(flatten)]
        rejection: RejectionArguments,
    }

    /// Flags that take every parameter away from its default, here or below: not all go together.
    const FLAGS: &[&str] = &[
        "--metric=cosine",
        "--tail-size=2%",
        "--fixed-shape=1.5",
        "--distance-multiplier=0.6",
        "--standardize",
        "--whitening=0.25",
        "--smoothing=0.5",
        "--smoothing-neighbors=7",
        "--pooling=0.125",
        "--cover-threshold=0.75",
        "--cover-risk=0.5",
        "--n-fused=3",
        "--contrast=0.25",
        "--background=0.5",
        "--logit-weight=auto",
        "--probe-weight=1.5",
        "--forest-weight=0.5",
        "--strangers=0.5,4",
        "--refit=all",
        "--tail-memory=max",
        "--tail-memory-limit=64",
        "--search=approximate",
        "--recall=0.9",
    ];

    const OTHER_FLAGS: &[&str] = &[
        "--tail-model=gumbel",
        "--max-total=9",
        "--reduction=weighted-max-k",
        "--reduce-when=over-budget",
        "--max-false-unknown=0.1",
        "--per-class",
        "--confidence=0.9",
    ];

    fn built(flags: &[&str]) -> Params {
        let line = Line::parse_from(["evmachine"].iter().chain(flags));
        let console = Console::new(true, false, None);
        let built = line.parameters.build(&console).and_then(|mut params| {
            line.rejection.set(&mut params);
            params.check()?;
            Ok(params)
        });
        built.unwrap_or_else(|failure| panic!("{failure:?}"))
    }

    #[test]
    fn flags_make_parameters_that_a_file_brings_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut left: Vec<&str> = Params::LIST.iter().map(|parameter| parameter.name).collect();
        for (name, flags) in [("parameters.toml", FLAGS), ("parameters-2.toml", OTHER_FLAGS)] {
            let path = folder.path().join(name);
            let params = built(flags);
            let text = toml::to_string(&params).expect("parameters can be written");
            std::fs::write(&path, &text).expect("a file");
            assert_eq!(built(&["--params", path.to_str().expect("a path")]), params);
            // Python's tests read the same files.
            let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
            if std::env::var_os("EVMACHINE_WRITE").is_some() {
                std::fs::write(&golden, &text).expect("a file");
            }
            assert_eq!(std::fs::read_to_string(golden).expect("the file"), text);
            let plain = Params::plain();
            left.retain(|name| {
                Parameter::named(name).is_some_and(|it| it.value(&params) == it.value(&plain))
            });
        }
        assert_eq!(left, [""; 0], "every parameter follows its flag");
    }

    #[test]
    fn budgets_and_choices_follow_their_flags() {
        let flags = ["--max-total=9", "--reduction=weighted-max-k", "--reduce-when=over-budget"];
        let params = built(&flags);
        assert_eq!(params.max_extreme_vectors, Some(Budget::Total(9)));
        assert_eq!(params.reduction, evmachine::Reduction::WeightedMaxK);
        assert_eq!(params.reduce_when, evmachine::ReduceWhen::OverBudget);
        assert_eq!(built(&["--tail-model=gumbel"]).tail_model, evmachine::TailModel::Gumbel);
        assert_eq!(built(&[]), Params::default());
        assert_eq!(built(&["--keep-all"]), Params::robust().keeping_all());
        let one = built(&["--cover-threshold=1"]);
        assert_eq!((one.cover_threshold, one.cover_loss), (1.0, 0.0), "what is said is done");
        assert_eq!(built(&["--preset=paper"]), Params::paper());
        assert_eq!(built(&["--preset=robust", "--metric=cosine"]), Params::robust_for(Metric::Cosine));
        assert!(Line::try_parse_from(["evmachine", "--max-total=9", "--cover-risk=1"]).is_err());
    }

    #[test]
    fn a_flag_takes_the_place_of_what_a_file_says_in_another_way() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, params: &Params| {
            let path = folder.path().join(name);
            std::fs::write(&path, toml::to_string(params).expect("parameters")).expect("a file");
            format!("--params={}", path.display())
        };
        let risky = file("risky.toml", &Params { cover_risk: 0.5, ..Params::plain() });
        let params = built(&[&risky, "--max-total=9"]);
        assert_eq!((params.cover_risk, params.max_extreme_vectors), (0.0, Some(Budget::Total(9))));
        let few =
            file("few.toml", &Params { max_extreme_vectors: Some(Budget::Total(9)), ..Params::plain() });
        let params = built(&[&few, "--cover-threshold=0.75"]);
        assert_eq!((params.cover_threshold, params.max_extreme_vectors), (0.75, None));
    }
}
