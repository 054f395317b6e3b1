//! C and gamma of the support vector machines, over the paper's grid, and the one-class machines of W-SVM.

use std::ops::ControlFlow;
use std::path::Path;

use evmachine::{Features, Labels};
use evmachine_baselines::{Rbf, WeibullSvm, cross_class, svm_grid};
use evmachine_eval::Evaluation;
use serde::{Deserialize, Serialize};

use crate::error::ReproError;
use crate::log::Log;
use crate::oletter::{SVM, TRAINING_ROWS, draw};
use crate::section::{Section, Table};
use crate::watch::Watch;
use evmachine_eval::openness::delta;

/// How to run it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Settings {
    /// Rows to train on.
    pub rows: usize,
    /// Seed of the letters.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rows: 2_000, seed: 1 }
    }
}

/// A point of the grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Row {
    cost: f64,
    gamma: f64,
    accuracy: f64,
}

/// A pair of one-class parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OneClassRow {
    gamma: f64,
    nu: f64,
    f1: f64,
}

/// nu of one-class machines.
const NU: [f64; 4] = [0.01, 0.05, 0.1, 0.5];

/// Runs the grid on the first training rows of the first fold of OLETTER.
pub fn run(
    folder: &Path,
    features: &Features<'_>,
    labels: &Labels,
    settings: &Settings,
    watch: &Watch<'_>,
) -> Result<Section, ReproError> {
    let mut log: Log<Row> = Log::open(folder, "grid.csv", settings)?;
    let mut one_class: Log<OneClassRow> = Log::open(folder, "one-class.csv", settings)?;
    let letters = draw(labels, 1, settings.seed)?.remove(0);
    let known = |row: &usize| letters.known.iter().any(|letter| letter == labels.name(*row));
    let rows: Vec<usize> = (0..TRAINING_ROWS.min(labels.len())).filter(known).take(settings.rows).collect();
    let (features, labels) = (features.select(&rows), labels.select(&rows));
    if log.rows().is_empty() {
        let told = |done: usize, total: usize| -> ControlFlow<()> { watch.flow("C and gamma", done, total) };
        let points = svm_grid(&features, &labels, &told)?.ok_or(ReproError::Stopped)?;
        let row = |point: &evmachine_baselines::GridPoint| Row {
            cost: point.rbf.cost,
            gamma: point.rbf.gamma,
            accuracy: point.accuracy,
        };
        log.add(points.iter().map(row).collect())?;
    }
    let best = &log.rows()[0];
    let rbf = Rbf { cost: best.cost, gamma: best.gamma };
    let gammas = [1.0 / features.columns() as f64, rbf.gamma / 4.0, rbf.gamma];
    let pairs: Vec<(f64, f64)> = gammas.iter().flat_map(|&gamma| NU.map(|nu| (gamma, nu))).collect();
    for (number, &(gamma, nu)) in pairs.iter().enumerate() {
        if one_class.rows().iter().any(|row| row.gamma == gamma && row.nu == nu) {
            continue;
        }
        watch.tell("one-class machines", number, pairs.len())?;
        let fresh = || WeibullSvm::new(rbf, gamma, nu);
        let answers = cross_class::answers(&features, &labels, cross_class::FOLDS, settings.seed, fresh)?;
        // A third of the letters is unknown in each fold.
        let answers = answers.with_threshold(delta(10, 5));
        let f1 = Evaluation::new(&answers, labels.names().len()).f1_micro;
        one_class.add(vec![OneClassRow { gamma, nu, f1 }])?;
    }
    Ok(section(log.rows(), one_class.rows(), settings))
}

fn section(grid: &[Row], one_class: &[OneClassRow], settings: &Settings) -> Section {
    let power = |value: f64| format!("2^{}", value.log2());
    let mut sorted: Vec<&OneClassRow> = one_class.iter().collect();
    sorted.sort_by(|a, b| b.f1.total_cmp(&a.f1));
    let best = format!(
        "Best: C = {}, gamma = {} (accuracy {:.4}); one-class gamma = {}, nu = {} (F1 {:.4}). `evmachine-repro oletter` uses \
         C = {}, gamma = {}, one-class gamma = {}, nu = {}.",
        grid[0].cost,
        grid[0].gamma,
        grid[0].accuracy,
        sorted[0].gamma,
        sorted[0].nu,
        sorted[0].f1,
        SVM.cost,
        SVM.gamma,
        SVM.one_class_gamma,
        SVM.nu
    );
    Section {
        title: "C and gamma".to_owned(),
        command: format!("evmachine-repro svm-grid --rows {} --seed {}", settings.rows, settings.seed),
        text: vec![
            format!(
                "The paper's grid, C = 2^-5, 2^-3, ... 2^15 and gamma = 2^-15, 2^-13, ... 2^3, by 5-fold cross validation \
                 of one-vs-rest machines on the first {} training rows of the first fold, columns scaled to 0..1. The \
                 one-class machines of W-SVM: F1 by 3-fold cross-class validation on the same rows, at the paper's delta.",
                settings.rows
            ),
            best,
        ],
        tables: vec![
            Table {
                caption: "The ten best of the grid".to_owned(),
                header: ["C", "gamma", "accuracy"].map(str::to_owned).into(),
                rows: grid
                    .iter()
                    .take(10)
                    .map(|row| vec![power(row.cost), power(row.gamma), format!("{:.4}", row.accuracy)])
                    .collect(),
            },
            Table {
                caption: "One-class machines".to_owned(),
                header: ["gamma", "nu", "F1"].map(str::to_owned).into(),
                rows: sorted
                    .iter()
                    .map(|row| vec![row.gamma.to_string(), row.nu.to_string(), format!("{:.4}", row.f1)])
                    .collect(),
            },
        ],
        ..Section::default()
    }
}
