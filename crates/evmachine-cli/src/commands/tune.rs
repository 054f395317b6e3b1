//! `evmachine tune`

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use clap::{Args, ValueEnum};
use evmachine::{Metric, Params, Reduction, Rejection, TailSize, Weight};
use evmachine_console::console::{Console, print, table};
use evmachine_console::data::{DataArguments, feature_names};
use evmachine_console::failure::{Failure, Kind};
use evmachine_console::hint::Hint;
use evmachine_console::interrupt;
use evmachine_console::large::ScratchArguments;
use evmachine_eval::folds::FoldSizes;
use evmachine_eval::tune::Delta;
use evmachine_eval::{
    Lead, Objective, Space, Trial, TrialSearch, TuneOptions, TuneProgress, Tuned, tune_with,
};

use crate::failure::Ends;
use crate::files;
use crate::fill::FillArguments;
use crate::parameters::{ParameterArguments, Preset};
use crate::unknown::UnknownLabel;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SpaceName {
    /// Tail size and k, as in the paper.
    Paper,
    /// Metric (unless given) and standardising, whitening, smoothing, tail model, tail size, multiplier, pooling, k, contrast
    /// and the weights of probe, logits and forest; then the size of the model.
    Full,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ObjectiveName {
    /// Area under the OSCR curve: right and accepted, over all thresholds.
    Oscr,
    /// F1 over known classes at the best threshold.
    F1,
    /// Normalised accuracy at the best threshold.
    NormalizedAccuracy,
    /// Known rows accepted and right where --max-false-unknown of them are rejected.
    Accuracy,
}

/// Choose parameters by cross-class validation: classes left out in turn act as unknowns
///
/// Prints the trials, what it would choose and why, and writes a file for `evmachine train --params`. Tail sizes
/// are chosen as a share of the negatives, so what was found on a part of the data holds for all of it.
///
/// Example: evmachine tune letters.csv --label 0 --trials 100 -o params.toml
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The labelled data; several files, or a pattern such as 'part-*.csv', must have the same columns.
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,

    /// Rows that are known to be unknown, with the same columns: every fold meets them too.
    #[arg(long, value_name = "FILE")]
    unknown_data: Option<PathBuf>,

    /// The file to write.
    #[arg(short, long, value_name = "FILE", default_value = "params.toml")]
    output: PathBuf,

    /// What is searched.
    #[arg(long, value_enum, default_value = "full")]
    space: SpaceName,

    /// Number of trials of the Bayesian search (TPE).
    #[arg(long, value_name = "N", default_value_t = 60)]
    trials: usize,

    /// Try every combination instead.
    #[arg(long, conflicts_with = "trials")]
    grid: bool,

    /// What trials are judged by.
    #[arg(long, value_enum, default_value = "oscr")]
    objective: ObjectiveName,

    /// Set rejection so that at most this fraction of known rows is called unknown: 0.05 unless a rule is given, as `train` does; with
    /// --objective f1, where F1 is best.
    #[arg(long, value_name = "FRACTION")]
    max_false_unknown: Option<f64>,

    /// Set it so that at most this fraction of unknown rows is accepted, instead.
    #[arg(long, value_name = "FRACTION", conflicts_with = "max_false_unknown")]
    max_false_known: Option<f64>,

    /// Keep to the share in so many of all trainings, such as 0.95; 0 is on average over trainings [default: 0].
    #[arg(long, value_name = "CONFIDENCE")]
    confidence: Option<f64>,

    /// Set it to the paper's delta for so many classes that training has not seen, instead.
    #[arg(long, value_name = "N", conflicts_with_all = ["max_false_unknown", "max_false_known"])]
    unknown_classes: Option<usize>,

    /// Number of folds; one in so many classes is unknown in each [default: 3, and up to 5 with fewer than 12 classes].
    #[arg(long, value_name = "N")]
    folds: Option<usize>,

    /// Most rows to train on in a fold; a quarter as many are tested, known and unknown each.
    #[arg(long, value_name = "N", default_value_t = 8000)]
    max_rows: usize,

    /// Keep at most this share of the training points, whatever it costs. Without it and --keep-all, the smallest model is taken that
    /// surely costs less than 0.003 of the objective.
    #[arg(long, value_name = "RATIO", conflicts_with = "keep_all")]
    max_size: Option<f64>,

    /// Seed of folds and search.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// How many trials to print, best first.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    #[command(flatten)]
    fill: FillArguments,

    #[command(flatten)]
    unknown: UnknownLabel,

    #[command(flatten)]
    columns: DataArguments,

    #[command(flatten)]
    parameters: ParameterArguments,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    files::refuse_over(&arguments.output, arguments.data.iter().chain(&arguments.unknown_data))?;
    files::refuse_nowhere(&arguments.output)?;
    let mut options = arguments.options(console)?;
    let mut columns = arguments.columns.learned_with(&options.base);
    columns.fill = arguments.fill.rule;
    columns.directed |= options.space.metric.contains(&Metric::Cosine) && arguments.columns.skip_bad_rows;
    let store = ScratchArguments::default().store(console, &arguments.output);
    let data = columns.read_large(console, &arguments.data, None, Some(&store))?;
    columns.expected = feature_names(&data.schema);
    columns.filled.clone_from(&data.fill);
    if let Some(path) = &arguments.unknown_data {
        options.unknowns = Some(columns.read_unlabelled(console, from_ref(path), None)?.features);
    }
    arguments.unknown.check(&data.origin, &data.labels)?;
    crate::columns::tell_doubtful(console, &data.features, &data.schema);
    let bar = console.bar(Some(1), "tuning");
    let tuned = tune_with(&console.quiet_run(), &data.features, &data.labels, &options, &mut |at| {
        bar.set_length(at.total as u64);
        bar.set_position(at.done as u64);
        bar.set_message(standing(at));
        interrupt::flow()
    });
    bar.finish_and_clear();
    let tuned = tuned.map_err(|error| error.failure().about(data.origin.name()))?;
    print(summary(&tuned, arguments.top).trim_end());
    print(chosen(&tuned.params)?);
    write(&tuned.params, &arguments.output)?;
    drop(data);
    store.clear()?;
    advise(console, &tuned);
    let files: Vec<String> = arguments.data.iter().map(|path| path.display().to_string()).collect();
    let (data, output, flags) = (files.join(" "), arguments.output.display(), arguments.columns.flags());
    let flags = format!("{flags}{}", arguments.fill.flag());
    console.say(format!("parameters written to {output}; train with"));
    console.say(format!("  evmachine train {data}{flags} --params {output} -o MODEL.safetensors"));
    Ok(())
}

impl Arguments {
    fn options(&self, console: &Console) -> Result<TuneOptions, Failure> {
        for (flag, rate) in
            [("--max-false-unknown", self.max_false_unknown), ("--max-false-known", self.max_false_known)]
        {
            if rate.is_some_and(|rate| !(0.0..1.0).contains(&rate)) {
                return Err(Failure::new(Kind::Usage, format!("{flag} must be at least 0 and below 1")));
            }
        }
        if self.max_rows < 4 {
            let message =
                format!("--max-rows {}: at least 4 are needed, one of them to test on", self.max_rows);
            return Err(Failure::new(Kind::Usage, message));
        }
        let objective = match (self.objective, self.max_false_unknown) {
            (ObjectiveName::Oscr, _) => Objective::Oscr,
            (ObjectiveName::F1, _) => Objective::F1,
            (ObjectiveName::NormalizedAccuracy, _) => Objective::NormalizedAccuracy,
            (ObjectiveName::Accuracy, Some(rate)) => Objective::AccuracyAtFalseUnknowns(rate),
            (ObjectiveName::Accuracy, None) => {
                return Err(Failure::new(Kind::Usage, "--objective accuracy needs --max-false-unknown")
                    .hint(Hint::flags(
                        &["objective", "max-false-unknown"],
                        "for example --objective accuracy --max-false-unknown 0.05",
                    )));
            }
        };
        let delta = match (self.max_false_unknown, self.max_false_known, self.unknown_classes) {
            (Some(rate), ..) => Delta::MaxFalseUnknown(rate),
            (None, Some(rate), _) => Delta::MaxFalseKnown(rate),
            (None, None, Some(unknown_classes)) => Delta::Openness { unknown_classes },
            (None, None, None) => Delta::usual(objective),
        };
        let mut space = match self.space {
            SpaceName::Paper => Space::paper(),
            SpaceName::Full => Space::full(),
        };
        let mut base = self.parameters.build_from(console, Preset::Plain)?;
        base.confidence = self.confidence.unwrap_or(base.confidence);
        base.check()?;
        if self.space == SpaceName::Full && !self.parameters.names_metric() {
            space.metric = vec![Metric::Euclidean, Metric::Cosine];
        }
        Ok(TuneOptions {
            space,
            base,
            search: if self.grid { TrialSearch::Grid } else { TrialSearch::Bayesian { trials: self.trials } },
            objective,
            delta,
            folds: self.folds,
            max_size: self.max_size,
            unknowns: None,
            sizes: FoldSizes { train: self.max_rows, test: self.max_rows / 4 },
            shrink: !self.parameters.keep_all,
            seed: self.seed,
        })
    }
}

/// The table of trials, the sizes, and the comparison.
fn summary(tuned: &Tuned, top: usize) -> String {
    let mut text = String::new();
    let mut best: Vec<&Trial> = tuned.trials.iter().collect();
    best.sort_by(|a, b| b.mean.total_cmp(&a.mean));
    let header = [
        "objective",
        "+-",
        "whitening",
        "smoothing",
        "of",
        "tail model",
        "tail size",
        "multiplier",
        "pooling",
        "k",
        "contrast",
        "logits",
        "probe",
        "forest",
        "ratio",
    ];
    let lines = best.iter().take(top).map(|trial| line(trial));
    let _ = writeln!(text, "{} trials, best first\n{}\n", tuned.trials.len(), table(&header, lines));
    if !tuned.sizes.is_empty() {
        let sizes = std::iter::once(&tuned.best).chain(&tuned.sizes);
        let rows = sizes.map(|trial| {
            let chosen = if *trial == tuned.chosen { "chosen" } else { "" };
            let ratio = format!("{:.3}", trial.vector_ratio);
            let by = match (trial.params.max_extreme_vectors, trial.params.reduction) {
                (None, _) => "all kept",
                (Some(_), Reduction::WeightedMaxK) => "weighted-max-k",
                (Some(_), _) => "set-cover",
            };
            let (mean, error) = (format!("{:.4}", trial.mean), format!("{:.4}", trial.error));
            vec![ratio, by.to_owned(), mean, error, chosen.to_owned()]
        });
        let _ = writeln!(
            text,
            "the best at smaller sizes; the smallest that surely costs less than 0.003 is chosen, or the one asked for\n{}\n",
            table(&["vector ratio", "reduction", "objective", "+-", ""], rows)
        );
    }
    let mut rows = vec![
        compared("chosen", tuned.chosen.mean, tuned.chosen.error),
        compared("--preset paper", tuned.paper.mean, tuned.paper.error),
        compared("--preset robust", tuned.robust.mean, tuned.robust.error),
    ];
    rows.extend(tuned.rivals.iter().map(|rival| compared(&rival.rival.name(), rival.mean, rival.error)));
    let _ = writeln!(text, "on the same folds\n{}\n", table(&["", "objective", "+-"], rows));
    if let Some(lead) = &tuned.lead {
        let Lead { mean, error, counts_from, .. } = lead;
        let taken = if lead.counts() { "so it is taken" } else { "so the preset is kept" };
        let _ = writeln!(
            text,
            "the best trial leads the better preset by {mean:.4} +- {error:.4}; with these classes and folds, a lead counts \
             from {counts_from:.4} on, {taken}\n"
        );
    }
    let at = &tuned.at_delta;
    let percent = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{:.1} %", 100.0 * rate));
    let _ = writeln!(
        text,
        "rule: {}; on the folds {} of known rows were rejected, {} accepted and right, {} of unknown rows rejected, F1 {:.4}",
        rejection(tuned.params.rejection_threshold),
        percent(at.false_unknown),
        percent(at.known_accuracy),
        percent(at.unknown_accuracy),
        at.f1_micro
    );
    text
}

/// The parameters that were chosen, as what they change of the preset that is nearest to them.
fn chosen(params: &Params) -> Result<String, Failure> {
    let presets = [("robust", Params::robust()), ("paper", Params::paper())];
    let params = settings(params)?;
    let mut nearest: Option<(&str, Vec<String>)> = None;
    for (name, preset) in presets {
        let preset = settings(&preset)?;
        let changed = params.iter().filter(|(key, value)| preset.get(*key) != Some(value));
        let dropped = preset.keys().filter(|key| !params.contains_key(*key));
        let changes: Vec<String> = changed
            .map(|(key, value)| format!("{key} = {value}"))
            .chain(dropped.map(|key| format!("no {key}")))
            .collect();
        if nearest.as_ref().is_none_or(|(_, fewest)| changes.len() < fewest.len()) {
            nearest = Some((name, changes));
        }
    }
    let (name, changes) = nearest.unwrap_or_default();
    Ok(match changes.as_slice() {
        [] => format!("chosen: --preset {name} as it is, with that rule"),
        changes => format!("chosen: --preset {name} with {}, and that rule", changes.join(", ")),
    })
}

/// All parameters by name, but for the rule of rejection, how sure it is to hold, and the scores of strangers, which were measured.
fn settings(params: &Params) -> Result<toml::Table, Failure> {
    let mut settings =
        toml::Table::try_from(params).map_err(|error| Failure::new(Kind::Other, error.to_string()))?;
    for apart in ["rejection_threshold", "confidence", "strangers"] {
        settings.remove(apart);
    }
    Ok(settings)
}

/// The rule in a few words, with a digit after the point of a percentage.
fn rejection(rule: Rejection) -> String {
    let percent = 100.0 * rule.value();
    match rule {
        Rejection::Probability(delta) => format!("delta = {delta:.3}"),
        Rejection::Support(score) => format!("score below {score:.3}"),
        Rejection::FalseKnown(_) => format!("at most {percent:.1} % of unknown rows accepted"),
        _ => format!("at most {percent:.1} % of known rows rejected"),
    }
}

/// What is tried, what leads, and what the rivals have.
fn standing(at: &TuneProgress<'_>) -> String {
    let rival = at.rival.map_or(String::new(), |(name, mean)| format!("; best rival {mean:.4} ({name})"));
    format!("{}; best {:.4} ({}){rival}", at.tried, at.leader.1, at.leader.0)
}

fn compared(name: &str, mean: f64, error: f64) -> Vec<String> {
    vec![name.to_owned(), format!("{mean:.4}"), format!("{error:.4}")]
}

fn line(trial: &Trial) -> Vec<String> {
    let params = &trial.params;
    let tail = match params.tail_size {
        TailSize::Fraction(fraction) => format!("{}%", 100.0 * fraction),
        TailSize::Count(count) => count.to_string(),
        _ => "auto".to_owned(),
    };
    let neighbors =
        if params.smoothing > 0.0 { params.smoothing_neighbors.to_string() } else { "-".to_owned() };
    vec![
        format!("{:.4}", trial.mean),
        format!("{:.4}", trial.error),
        params.whitening.to_string(),
        params.smoothing.to_string(),
        neighbors,
        format!("{:?}", params.tail_model).to_lowercase(),
        tail,
        params.distance_multiplier.to_string(),
        params.pooling.to_string(),
        params.n_fused.to_string(),
        params.contrast.to_string(),
        weight(params.logit_weight),
        weight(params.probe_weight),
        weight(params.forest_weight),
        format!("{:.3}", trial.vector_ratio),
    ]
}

fn weight(weight: Weight) -> String {
    match weight {
        Weight::Fixed(weight) => weight.to_string(),
        _ => "auto".to_owned(),
    }
}

fn advise(console: &Console, tuned: &Tuned) {
    if let Some(rival) = tuned.winning_rival() {
        let (name, ahead) = (rival.rival.name(), rival.mean - tuned.chosen.mean);
        let sure =
            if ahead > rival.error + tuned.chosen.error { "" } else { ", within the error of the folds" };
        console.warn(format!(
            "{name} is ahead by {ahead:.4} on these folds{sure}; try more --trials, or use {name} with a threshold"
        ));
    }
}

fn write(params: &Params, path: &Path) -> Result<(), Failure> {
    let text = toml::to_string(params)
        .map_err(|error| Failure::new(Kind::Other, error.to_string()).about(path.display()))?;
    files::write(path, &text)
}
