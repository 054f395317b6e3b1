//! OLETTER (Sec. V-A, Fig. 2): 15 of 26 letters are known, 0 to 11 unknown ones join the test.

mod draw;
mod rows;
mod summary;
mod systems;

use std::path::{Path, PathBuf};
use std::time::Instant;

use evmachine::{Features, Labels, Params, TailSize};
use evmachine_baselines::cross_class;
use evmachine_eval::{Answers, openness};
use serde::Serialize;

use crate::error::ReproError;
use crate::letter;
use crate::log::Log;
use crate::section::Section;
use crate::svm_grid;
use crate::tuned;
use crate::watch::Watch;

pub use draw::{Draw, UNKNOWN, draw};
pub(crate) use rows::rounded;
pub use rows::{Row, VectorRow};
pub(crate) use systems::{Entry, paper};
pub use systems::{Rule, Selection, SvmChoice};

/// Rows before this one train, the others test: the division that LIBSVM's copy of Letter has.
pub const TRAINING_ROWS: usize = 15_000;

/// Folds of cross-class validation.
const VALIDATION_FOLDS: usize = 5;

/// Fewest rows that C and gamma are searched on in a quick look.
const LEAST_GRID_ROWS: usize = 120;

/// How to run it.
#[derive(Debug, Clone, Serialize)]
pub struct Settings {
    /// Draws of letters, each with folds of its own.
    pub draws: usize,
    /// Folds of a draw.
    pub folds: usize,
    /// The seed of the first draw.
    pub seed: u64,
    /// Which systems.
    pub systems: Selection,
    /// Only every so many rows, for a quick look.
    pub every: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { draws: 1, folds: 20, seed: 1, systems: Selection::All, every: 1 }
    }
}

/// The rows of one fold.
struct Fold {
    train: (Features<'static>, Labels),
    test: (Features<'static>, Labels),
    /// By test row, the number of unknown letters from which on it takes part.
    from: Vec<usize>,
}

/// Runs what is not yet in `folder`, and tells what came out. `features` and `labels`: UCI Letter, in its order.
pub fn run(
    folder: &Path,
    features: &Features<'_>,
    labels: &Labels,
    settings: &Settings,
    watch: &Watch<'_>,
) -> Result<Section, ReproError> {
    let (raw, features) = (features, &letter::unit(features)?);
    let mut log: Log<Row> = Log::open(folder, "runs.csv", settings)?;
    let mut vectors: Log<VectorRow> = Log::open(folder, "vectors.csv", settings)?;
    let draws: Vec<Vec<Draw>> = (0..settings.draws as u64)
        .map(|number| draw(labels, settings.folds, settings.seed + number))
        .collect::<Result<_, _>>()?;
    draw::write(&draws, &folder.join("letters.csv"))?;
    let (mut first, mut choices) = (None, Vec::new());
    for (number, folds) in (1..).zip(&draws) {
        let params = tuned_params(folder, features, labels, settings, &folds[0], number, watch)?;
        let svm = match settings.systems {
            Selection::All => Some(svm_choice(folder, raw, labels, settings, number, watch)?),
            Selection::Evm => None,
        };
        choices.extend(svm);
        let entries = systems::entries(&params, svm);
        let plan = Plan { features, labels, folds, draw: number, seed: settings.seed, every: settings.every };
        plan.run(&mut log, &entries, watch)?;
        first.get_or_insert(entries);
    }
    if let Some(entries) = &first {
        all_letters(&mut vectors, features, labels, settings, entries, watch)?;
    }
    let tuned_files: Vec<PathBuf> = (1..=settings.draws).map(|n| folder.join(tuned_name(n))).collect();
    summary::section(log.rows(), vectors.rows(), settings, &tuned_files, &choices)
}

/// One draw of letters and the data.
pub(crate) struct Plan<'a> {
    pub(crate) features: &'a Features<'a>,
    pub(crate) labels: &'a Labels,
    pub(crate) folds: &'a [Draw],
    pub(crate) draw: usize,
    pub(crate) seed: u64,
    pub(crate) every: usize,
}

impl Plan<'_> {
    /// Measures the entries on every fold that is not yet in the log.
    pub(crate) fn run(
        &self,
        log: &mut Log<Row>,
        entries: &[Entry],
        watch: &Watch<'_>,
    ) -> Result<(), ReproError> {
        for (fold, letters) in (1..).zip(self.folds) {
            let missing = |entry: &&Entry| {
                let done = |row: &Row| row.draw == self.draw && row.fold == fold && row.system == entry.name;
                !log.rows().iter().any(done)
            };
            let missing: Vec<&Entry> = entries.iter().filter(missing).collect();
            if missing.is_empty() {
                continue;
            }
            let data = divide(self.features, self.labels, letters, self.every);
            for entry in missing {
                watch.tell(&format!("draw {}: {}", self.draw, entry.name), fold - 1, self.folds.len())?;
                log.add(measure(entry, &data, letters, self.draw, fold, self.seed + fold as u64)?)?;
            }
        }
        Ok(())
    }
}

fn tuned_name(draw: usize) -> String {
    format!("tuned-{draw}.json")
}

/// Parameters chosen on the training rows of the draw's first fold, which costs too much for every fold.
fn tuned_params(
    folder: &Path,
    features: &Features<'_>,
    labels: &Labels,
    settings: &Settings,
    letters: &Draw,
    number: usize,
    watch: &Watch<'_>,
) -> Result<Params, ReproError> {
    let data = divide(features, labels, letters, settings.every);
    let options = systems::tune_options(settings.seed, settings.every);
    let (features, labels) = &data.train;
    let params = tuned::params(&folder.join(tuned_name(number)), features, labels, &options, watch)?;
    let classes = labels.names().len() as f64;
    let negatives = labels.len() as f64 * (classes - 1.0) / classes;
    Ok(counted(params, negatives))
}

/// C, gamma and the like, chosen as the EVM's parameters are: on the draw's first fold. A quick look has as many times fewer
/// rows.
fn svm_choice(
    folder: &Path,
    features: &Features<'_>,
    labels: &Labels,
    settings: &Settings,
    number: usize,
    watch: &Watch<'_>,
) -> Result<SvmChoice, ReproError> {
    let searched = svm_grid::Settings {
        rows: grid_rows(settings),
        seed: settings.seed,
        ..svm_grid::Settings::default()
    };
    svm_grid::choose(&folder.join(svm_grid::FOLDER), features, labels, &searched, number, watch)
}

fn grid_rows(settings: &Settings) -> usize {
    (svm_grid::Settings::default().rows / settings.every.max(1)).max(LEAST_GRID_ROWS)
}

/// The tail size as a count. A share would give shorter tails in validation, where there are fewer rows, and with them
/// other supports and a threshold that does not hold for the whole.
fn counted(params: Params, negatives: f64) -> Params {
    let tail_size = match params.tail_size {
        TailSize::Fraction(share) => TailSize::Count((share * negatives).round().max(1.0) as usize),
        other => other,
    };
    Params { tail_size, ..params }
}

fn divide(features: &Features<'_>, labels: &Labels, letters: &Draw, every: usize) -> Fold {
    let (mut train, mut test, mut from) = (Vec::new(), Vec::new(), Vec::new());
    for row in (0..labels.len()).step_by(every.max(1)) {
        let name = labels.name(row);
        let known = letters.known.iter().any(|letter| letter == name);
        if row < TRAINING_ROWS {
            if known {
                train.push(row);
            }
        } else if let Some(position) = letters.unknown.iter().position(|letter| letter == name) {
            test.push(row);
            from.push(position + 1);
        } else if known {
            test.push(row);
            from.push(0);
        }
    }
    let select = |rows: &[usize]| (features.select(rows), labels.select(rows));
    Fold { train: select(&train), test: select(&test), from }
}

/// One system on one fold, by each rule that it can be told, for each number of unknown letters.
fn measure(
    entry: &Entry,
    data: &Fold,
    letters: &Draw,
    draw: usize,
    fold: usize,
    seed: u64,
) -> Result<Vec<Row>, ReproError> {
    let (train, test) = (&data.train, &data.test);
    let clock = Instant::now();
    let mut system = entry.build();
    system.fit(&train.0, &train.1)?;
    let fresh = || entry.build();
    let validation = if entry.is_validated() {
        Some(cross_class::answers(&train.0, &train.1, VALIDATION_FOLDS, seed, fresh)?)
    } else {
        None
    };
    let fit_seconds = clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    let scores = system.scores(&test.0)?;
    let score_seconds = clock.elapsed().as_secs_f64();
    let answers = scores.answers(system.classes(), &test.1, f64::NEG_INFINITY);
    let known = letters.known.len();
    let costs = |row: Row| row.with_costs(system.vectors(), train.1.len(), fit_seconds, score_seconds);
    let places = Rule::ALL
        .into_iter()
        .flat_map(|rule| (0..=letters.unknown.len()).map(move |unknown| (rule, unknown)));
    Ok(places
        .filter_map(|(rule, unknown)| {
            let threshold = match rule {
                Rule::Formula => system.threshold_at(openness::delta(known, unknown))?,
                Rule::Validated => {
                    cross_class::threshold_for_share(validation.as_ref()?, unknown as f64 / known as f64)
                }
            };
            let answers = part(&answers, &data.from, unknown).with_threshold(threshold);
            Some(costs(Row::new(draw, fold, &entry.name, (rule, threshold), (known, unknown), &answers)))
        })
        .collect())
}

/// The answers of the rows that take part.
fn part(answers: &Answers, from: &[usize], unknown: usize) -> Answers {
    let mut part = Answers::default();
    for row in (0..answers.len()).filter(|&row| from[row] <= unknown) {
        part.push(answers.truth[row], answers.best[row], answers.score[row], answers.accepted[row]);
    }
    part
}

/// The vector ratios, for which the paper trains on all 26 letters; `entries` are those of the first draw.
fn all_letters(
    log: &mut Log<VectorRow>,
    features: &Features<'_>,
    labels: &Labels,
    settings: &Settings,
    entries: &[Entry],
    watch: &Watch<'_>,
) -> Result<(), ReproError> {
    let rows: Vec<usize> = (0..TRAINING_ROWS.min(labels.len())).step_by(settings.every.max(1)).collect();
    let (features, labels) = (features.select(&rows), labels.select(&rows));
    for (number, entry) in entries.iter().enumerate() {
        if log.rows().iter().any(|row| row.system == entry.name) {
            continue;
        }
        watch.tell(&format!("{}, all letters", entry.name), number, entries.len())?;
        let clock = Instant::now();
        let mut system = entry.build();
        system.fit(&features, &labels)?;
        let seconds = clock.elapsed().as_secs_f64();
        log.add(vec![VectorRow::new(&entry.name, system.vectors(), labels.len(), seconds)])?;
    }
    Ok(())
}
