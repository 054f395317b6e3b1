//! Shapes and scales (supplement, Fig. 5), and what becomes of OLETTER with a shape that is given, not fitted.

use std::path::Path;

use evmachine::{Evm, Features, Labels, Params, TailModel};
use evmachine_plot::{Histograms, Panel, histograms};
use serde::Serialize;

use crate::error::ReproError;
use crate::letter;
use crate::log::Log;
use crate::oletter::{self, Entry, Plan, Row, Rule, TRAINING_ROWS};
use crate::section::{Claim, Figure, Section, Table, Verdict};
use crate::statistics::mean_and_deviation;
use crate::watch::Watch;

/// How to run it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Settings {
    /// Folds of OLETTER.
    pub folds: usize,
    /// Seed of the letters.
    pub seed: u64,
    /// Only every so many rows, for a quick look.
    pub every: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { folds: 20, seed: 1, every: 1 }
    }
}

const FITTED: &str = "fitted";
const GIVEN: [(&str, f64); 2] = [("kappa = 1", 1.0), ("kappa = 2", 2.0)];

/// The EVM with the paper's parameters and a shape of its own, of 1 or of 2.
fn entries() -> Vec<Entry> {
    let fitted = (FITTED, None);
    let shapes = std::iter::once(fitted).chain(GIVEN.map(|(name, shape)| (name, Some(shape))));
    shapes
        .map(|(name, fixed_shape)| {
            Entry::evm(name, Params { fixed_shape, ..oletter::paper(TailModel::Weibull) })
        })
        .collect()
}

/// Runs what is not yet in `folder`, and tells what came out. `features` and `labels`: UCI Letter, in its order.
pub fn run(
    folder: &Path,
    features: &Features<'_>,
    labels: &Labels,
    settings: &Settings,
    watch: &Watch<'_>,
) -> Result<Section, ReproError> {
    let features = &letter::unit(features)?;
    let mut log: Log<Row> = Log::open(folder, "runs.csv", settings)?;
    let folds = oletter::draw(labels, settings.folds, settings.seed)?;
    let plan = Plan { features, labels, folds: &folds, draw: 1, seed: settings.seed, every: settings.every };
    plan.run(&mut log, &entries(), watch)?;
    let train: Vec<usize> = (0..TRAINING_ROWS.min(labels.len())).step_by(settings.every.max(1)).collect();
    let train = (features.select(&train), labels.select(&train));
    let fitted = |model: TailModel| scales_and_shapes(&oletter::paper(model), &train.0, &train.1);
    let (weibull, libmr) = (fitted(TailModel::Weibull)?, fitted(TailModel::Libmr)?);
    let figures = vec![
        figure("weibull", "Eq. 1: a Weibull fit to the margins of all letters", &weibull)?,
        figure("libmr", "libmr's fit to the margins of all letters", &libmr)?,
    ];
    Ok(section(log.rows(), settings, &weibull, &libmr, figures))
}

/// Scales and shapes of the Psi-models of all points, before any reduction.
pub(crate) fn scales_and_shapes(
    params: &Params,
    features: &Features<'_>,
    labels: &Labels,
) -> Result<(Vec<f64>, Vec<f64>), ReproError> {
    let (evm, _) = Evm::fit(&Params { cover_threshold: 1.0, ..params.clone() }, features, labels)?;
    Ok(evm.extreme_vectors().map(|vector| (vector.psi.scale, vector.psi.shape)).unzip())
}

/// Two histograms.
pub(crate) fn figure(
    name: &str,
    title: &str,
    (scales, shapes): &(Vec<f64>, Vec<f64>),
) -> Result<Figure, ReproError> {
    let panels = [Panel { label: "scale", values: scales }, Panel { label: "shape", values: shapes }];
    let picture = histograms(&Histograms { title, panels: &panels })?;
    Ok(Figure { name: format!("histograms-{name}"), caption: format!("{title}: scale and shape."), picture })
}

fn section(
    rows: &[Row],
    settings: &Settings,
    weibull: &(Vec<f64>, Vec<f64>),
    libmr: &(Vec<f64>, Vec<f64>),
    figures: Vec<Figure>,
) -> Section {
    let f1 = |system: &str, rule: Rule, unknown: usize| {
        let own = |row: &&Row| row.system == system && row.rule == rule && row.unknown == unknown;
        mean_and_deviation(&rows.iter().filter(own).map(|row| row.f1).collect::<Vec<f64>>())
    };
    let cell = |system: &str, rule: Rule, unknown: usize| {
        let (mean, deviation) = f1(system, rule, unknown);
        format!("{mean:.3} ± {deviation:.3}")
    };
    let ratio = |system: &str| {
        let own = rows.iter().filter(|row| row.system == system && row.unknown == 0);
        let ratios: Vec<f64> = own.map(|row| row.vectors as f64 / row.points as f64).collect();
        format!("{:.3}", mean_and_deviation(&ratios).0)
    };
    let names: Vec<String> = entries().into_iter().map(|entry| entry.name).collect();
    let lines = Rule::ALL.into_iter().flat_map(|rule| names.iter().map(move |name| (rule, name)));
    let table = Table {
        caption: "OLETTER with fitted and with given shapes: F1, mean ± standard deviation over folds"
            .to_owned(),
        header: ["", "0 unknown", "5 unknown", "11 unknown", "vector ratio"].map(str::to_owned).into(),
        rows: lines
            .map(|(rule, name)| {
                let rejection = match rule {
                    Rule::Formula => "the paper's delta",
                    Rule::Validated => "delta validated",
                };
                let mut cells = vec![format!("{name}, {rejection}")];
                cells.extend([0, 5, oletter::UNKNOWN].map(|unknown| cell(name, rule, unknown)));
                cells.push(ratio(name));
                cells
            })
            .collect(),
    };
    let at = |name: &str, rule: Rule| f1(name, rule, oletter::UNKNOWN).0;
    let lead = |rule: Rule| {
        at(FITTED, rule) - GIVEN.map(|(name, _)| at(name, rule)).into_iter().fold(f64::MIN, f64::max)
    };
    let (formula, validated) = (lead(Rule::Formula), lead(Rule::Validated));
    let (scales, shapes) = (mean_and_deviation(&libmr.0), mean_and_deviation(&libmr.1));
    let raw = (mean_and_deviation(&weibull.0), mean_and_deviation(&weibull.1));
    Section {
        title: "Shapes and scales".to_owned(),
        command: format!("evmachine-repro parameters --folds {} --seed {}", settings.folds, settings.seed),
        text: vec![
            "Psi-models of all points of all 26 letters, divided by 15, tail size 75, before any reduction; then OLETTER \
             with kappa fitted (Eq. 1), 1 and 2, at the paper's delta and at one set by cross-class validation on training \
             letters. `evmachine-repro openworld` has shapes and scales of deep features."
                .to_owned(),
        ],
        claims: vec![
            Claim {
                paper: "scale parameters are very close to one, shapes spread widely.".to_owned(),
                measured: format!(
                    "libmr's fit has scales of {:.2} ± {:.2} and shapes of {:.0} ± {:.0}; Eq. 1 itself, in units of the \
                     features, scales of {:.2} ± {:.2} and shapes of {:.0} ± {:.0}.",
                    scales.0, scales.1, shapes.0, shapes.1, raw.0.0, raw.0.1, raw.1.0, raw.1.1
                ),
                verdict: Verdict::of((scales.0 - 1.0).abs() < 0.1),
                why: "The scales near one are libmr's doing: it fits 1 + m_max - m, and for margins that are small \
                      against 1 that is close to 1 whatever the data. Eq. 1 has scales in the unit of the features."
                    .to_owned(),
            },
            Claim {
                paper: "kappa = 1 and kappa = 2 result in very poor open set recognition on OLETTER.".to_owned(),
                measured: format!(
                    "with 11 unknown letters, at the paper's delta, {:.3} (kappa = 1) and {:.3} (kappa = 2) against {:.3} \
                     fitted; with a validated delta {:.3} and {:.3} against {:.3}.",
                    at(GIVEN[0].0, Rule::Formula),
                    at(GIVEN[1].0, Rule::Formula),
                    at(FITTED, Rule::Formula),
                    at(GIVEN[0].0, Rule::Validated),
                    at(GIVEN[1].0, Rule::Validated),
                    at(FITTED, Rule::Validated)
                ),
                verdict: Verdict::of(formula > 0.02),
                why: if validated < 0.0 {
                    "For kappa = 1 the loss is large, for kappa = 2 small, and both are delta's: small shapes fall off slowly, so that a delta of 0.07 rejects too little. With a \
                     delta that suits them, given shapes are as good as fitted ones or better, at the price of more extreme \
                     vectors: a single shape for all points is what pooling tends to, and takes the noise out of the fits."
                        .to_owned()
                } else {
                    "A delta that suits them recovers only a part.".to_owned()
                },
            },
        ],
        tables: vec![table],
        figures,
    }
}
