//! C and gamma of the support vector machines, over the paper's grid, the one-class machines of W-SVM, and C of the linear
//! machines of 1-vs-Set.

use std::ops::ControlFlow;
use std::path::Path;

use evmachine::{Features, Labels};
use evmachine_baselines::{OneVsSet, Rbf, System, WeibullSvm, cross_class, svm_grid};
use evmachine_eval::openness::delta;
use evmachine_eval::{Answers, Evaluation};
use serde::{Deserialize, Serialize};

use crate::error::ReproError;
use crate::log::Log;
use crate::oletter::{SvmChoice, TRAINING_ROWS, draw};
use crate::section::{Section, Table};
use crate::watch::Watch;

/// How to run it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Settings {
    /// Rows to train on.
    pub rows: usize,
    /// Draws of letters, of each of which the first fold is searched. A folder can be asked for more of them later.
    #[serde(skip)]
    pub draws: usize,
    /// Seed of the letters.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rows: 2_000, draws: 1, seed: 1 }
    }
}

/// The folder inside that of OLETTER where its searches are kept.
pub const FOLDER: &str = "svm-grid";

/// A point of the grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct TrialRow {
    draw: usize,
    cost: f64,
    gamma: f64,
    accuracy: f64,
}

/// A pair of one-class parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OneClassRow {
    draw: usize,
    gamma: f64,
    nu: f64,
    f1: f64,
    vectors: usize,
}

/// A cost of the linear machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LinearRow {
    draw: usize,
    cost: f64,
    f1: f64,
}

/// nu of one-class machines.
const NU: [f64; 4] = [0.01, 0.05, 0.1, 0.5];
/// Costs of linear machines; higher ones take their solver very long.
const LINEAR: [f64; 6] = [0.125, 0.5, 2.0, 8.0, 32.0, 128.0];

/// What is written as the search goes on.
struct Logs {
    grid: Log<TrialRow>,
    one_class: Log<OneClassRow>,
    linear: Log<LinearRow>,
}

/// Searches on the first training rows of the first fold of each draw of OLETTER.
pub fn run(
    folder: &Path,
    features: &Features<'_>,
    labels: &Labels,
    settings: &Settings,
    watch: &Watch<'_>,
) -> Result<Section, ReproError> {
    let mut logs = Logs::open(folder, settings)?;
    for number in 1..=settings.draws {
        logs.choose(features, labels, settings, number, watch)?;
    }
    Ok(section(&logs, settings))
}

/// What is chosen for one draw, from 1; searched for where it is not yet in the folder.
pub(crate) fn choose(
    folder: &Path,
    features: &Features<'_>,
    labels: &Labels,
    settings: &Settings,
    number: usize,
    watch: &Watch<'_>,
) -> Result<SvmChoice, ReproError> {
    Logs::open(folder, settings)?.choose(features, labels, settings, number, watch)
}

impl Logs {
    fn open(folder: &Path, settings: &Settings) -> Result<Self, ReproError> {
        Ok(Self {
            grid: Log::open(folder, "grid.csv", settings)?,
            one_class: Log::open(folder, "one-class.csv", settings)?,
            linear: Log::open(folder, "linear.csv", settings)?,
        })
    }

    fn choose(
        &mut self,
        features: &Features<'_>,
        labels: &Labels,
        settings: &Settings,
        number: usize,
        watch: &Watch<'_>,
    ) -> Result<SvmChoice, ReproError> {
        let letters = draw(labels, 1, settings.seed + number as u64 - 1)?.remove(0);
        let known = |row: &usize| letters.known.iter().any(|letter| letter == labels.name(*row));
        let rows: Vec<usize> =
            (0..TRAINING_ROWS.min(labels.len())).filter(known).take(settings.rows).collect();
        self.search(number, &features.select(&rows), &labels.select(&rows), settings.seed, watch)?;
        choice(self, number).ok_or(ReproError::Stopped)
    }

    fn search(
        &mut self,
        draw: usize,
        features: &Features<'_>,
        labels: &Labels,
        seed: u64,
        watch: &Watch<'_>,
    ) -> Result<(), ReproError> {
        if !self.grid.rows().iter().any(|row| row.draw == draw) {
            let told = |done: usize, total: usize| -> ControlFlow<()> {
                watch.flow(&format!("draw {draw}: C and gamma"), done, total)
            };
            let points = svm_grid(features, labels, &told)?.ok_or(ReproError::Stopped)?;
            let row = |point: &evmachine_baselines::GridPoint| TrialRow {
                draw,
                cost: point.rbf.cost,
                gamma: point.rbf.gamma,
                accuracy: point.accuracy,
            };
            self.grid.add(points.iter().map(row).collect())?;
        }
        // Best first, as the grid gives them.
        let Some(best) = self.grid.rows().iter().find(|row| row.draw == draw) else { return Ok(()) };
        let rbf = Rbf { cost: best.cost, gamma: best.gamma };
        let gammas = [1.0 / features.columns() as f64, rbf.gamma / 4.0, rbf.gamma];
        let pairs: Vec<(f64, f64)> = gammas.iter().flat_map(|&gamma| NU.map(|nu| (gamma, nu))).collect();
        for (number, &(gamma, nu)) in pairs.iter().enumerate() {
            let done = |row: &OneClassRow| row.draw == draw && row.gamma == gamma && row.nu == nu;
            if self.one_class.rows().iter().any(done) {
                continue;
            }
            watch.tell(&format!("draw {draw}: one-class machines"), number, pairs.len())?;
            let mut whole = WeibullSvm::new(rbf, gamma, nu);
            let answers = validated(features, labels, seed, || whole.clone())?;
            // A third of the letters is unknown in each fold.
            let threshold = whole.threshold_at(delta(10, 5)).unwrap_or(f64::NEG_INFINITY);
            let f1 = f1(&answers.with_threshold(threshold), labels);
            whole.fit(features, labels)?;
            self.one_class.add(vec![OneClassRow { draw, gamma, nu, f1, vectors: whole.vectors() }])?;
        }
        for (number, cost) in LINEAR.into_iter().enumerate() {
            if self.linear.rows().iter().any(|row| row.draw == draw && row.cost == cost) {
                continue;
            }
            watch.tell(&format!("draw {draw}: linear machines"), number, LINEAR.len())?;
            let answers = validated(features, labels, seed, || OneVsSet::new(cost))?;
            let threshold = answers.threshold_for_best_f1(1.0);
            self.linear.add(vec![LinearRow {
                draw,
                cost,
                f1: f1(&answers.with_threshold(threshold), labels),
            }])?;
        }
        Ok(())
    }
}

fn validated<S: System>(
    features: &Features<'_>,
    labels: &Labels,
    seed: u64,
    fresh: impl Fn() -> S,
) -> Result<Answers, ReproError> {
    Ok(cross_class::answers(features, labels, cross_class::FOLDS, seed, fresh)?)
}

fn f1(answers: &Answers, labels: &Labels) -> f64 {
    Evaluation::new(answers, labels.names().len()).f1_micro
}

/// What the logs say for a draw. Of one-class machines that are equally good, those with fewest support vectors; of linear
/// ones, those of smallest cost.
fn choice(logs: &Logs, draw: usize) -> Option<SvmChoice> {
    let best = logs.grid.rows().iter().find(|row| row.draw == draw)?;
    let one_class = logs.one_class.rows().iter().filter(|row| row.draw == draw);
    let one_class = one_class.min_by(|a, b| b.f1.total_cmp(&a.f1).then(a.vectors.cmp(&b.vectors)))?;
    let linear = logs.linear.rows().iter().filter(|row| row.draw == draw);
    let linear = linear.min_by(|a, b| b.f1.total_cmp(&a.f1).then(a.cost.total_cmp(&b.cost)))?;
    Some(SvmChoice {
        cost: best.cost,
        gamma: best.gamma,
        one_class_gamma: one_class.gamma,
        nu: one_class.nu,
        linear_cost: linear.cost,
    })
}

fn section(logs: &Logs, settings: &Settings) -> Section {
    let power = |value: f64| format!("2^{}", value.log2());
    let mut text = vec![format!(
        "The paper's grid, C = 2^-5, 2^-3, ... 2^15 and gamma = 2^-15, 2^-13, ... 2^3, by 5-fold cross validation of \
         one-vs-rest machines on the first {} training rows of the first fold of each draw, columns scaled to 0..1. The \
         one-class machines of W-SVM: F1 by 3-fold cross-class validation on the same rows, at the paper's delta; of equals, \
         those with fewest support vectors. C of 1-vs-Set: F1 likewise, at the threshold of best F1. `evmachine-repro oletter` begins each draw \
         with this search.",
        settings.rows
    )];
    let mut tables = Vec::new();
    for draw in 1..=settings.draws {
        if let Some(found) = choice(logs, draw) {
            text.push(format!(
                "Draw {draw}: C = {}, gamma = {}; one-class gamma = {}, nu = {}; linear C = {}.",
                found.cost, found.gamma, found.one_class_gamma, found.nu, found.linear_cost
            ));
        }
        let own = logs.grid.rows().iter().filter(|row| row.draw == draw).take(10);
        tables.push(Table {
            caption: format!("Draw {draw}: the ten best of the grid"),
            header: ["C", "gamma", "accuracy"].map(str::to_owned).into(),
            rows: own
                .map(|row| vec![power(row.cost), power(row.gamma), format!("{:.4}", row.accuracy)])
                .collect(),
        });
        let mut own: Vec<&OneClassRow> =
            logs.one_class.rows().iter().filter(|row| row.draw == draw).collect();
        own.sort_by(|a, b| b.f1.total_cmp(&a.f1).then(a.vectors.cmp(&b.vectors)));
        tables.push(Table {
            caption: format!("Draw {draw}: one-class machines"),
            header: ["gamma", "nu", "F1", "support vectors"].map(str::to_owned).into(),
            rows: own
                .iter()
                .map(|row| {
                    let f1 = format!("{:.4}", row.f1);
                    vec![row.gamma.to_string(), row.nu.to_string(), f1, row.vectors.to_string()]
                })
                .collect(),
        });
        let own = logs.linear.rows().iter().filter(|row| row.draw == draw);
        tables.push(Table {
            caption: format!("Draw {draw}: linear machines of 1-vs-Set"),
            header: ["C", "F1"].map(str::to_owned).into(),
            rows: own.map(|row| vec![power(row.cost), format!("{:.4}", row.f1)]).collect(),
        });
    }
    Section {
        title: "C and gamma".to_owned(),
        command: format!(
            "evmachine-repro svm-grid --rows {} --draws {} --seed {}",
            settings.rows, settings.draws, settings.seed
        ),
        text,
        tables,
        ..Section::default()
    }
}
