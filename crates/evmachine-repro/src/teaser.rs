//! The first figure: four classes in the plane, the contours of psi, and three queries that are rejected.

use std::error::Error;

use evmachine::{Decision, Evm, Features, Labels, Params, TailSize};
use evmachine_plot::{Plane, PointClass, plane};

use crate::error::ReproError;
use crate::section::{Claim, Figure, Section};

/// Points of four classes and three queries.
pub struct Scene<'a> {
    /// Points in the plane.
    pub points: &'a Features<'a>,
    /// Their classes.
    pub labels: &'a Labels,
    /// What is to be rejected.
    pub queries: &'a Features<'a>,
}

/// The tail size; a few dozen points have no more.
const TAIL: usize = 20;

/// Trains on the points and draws.
pub fn run(scene: &Scene<'_>) -> Result<Section, ReproError> {
    let params = Params { tail_size: TailSize::Count(TAIL), ..Params::paper() };
    let (evm, report) = Evm::fit(&params, scene.points, scene.labels)?;
    let decide =
        |queries: &Features<'_>| evm.decide(queries).map_err(|error| ReproError::System(error.into()));
    let rejected = decide(scene.queries)?.iter().filter(|decision| decision.class().is_none()).count();
    let pair = |row: &[f32]| [f64::from(row[0]), f64::from(row[1])];
    let mut classes: Vec<(&str, Vec<[f64; 2]>)> =
        scene.labels.names().iter().map(|name| (name.as_str(), Vec::new())).collect();
    for (row, &class) in scene.labels.ids().iter().enumerate() {
        classes[class as usize].1.push(pair(scene.points.row(row)));
    }
    let classes: Vec<PointClass<'_>> =
        classes.iter().map(|(name, points)| PointClass { name, points }).collect();
    let vectors: Vec<[f64; 2]> = evm.extreme_vectors().map(|vector| pair(vector.vector)).collect();
    let queries: Vec<[f64; 2]> = (0..scene.queries.rows()).map(|row| pair(scene.queries.row(row))).collect();
    let psi = |points: &[[f64; 2]]| -> Result<Vec<f64>, Box<dyn Error + Send + Sync>> {
        let values: Vec<f32> = points.iter().flatten().map(|&value| value as f32).collect();
        let decisions = evm.decide(&Features::new(values, 2)?)?;
        Ok(decisions.iter().map(Decision::probability).collect())
    };
    let title = "Four classes, three unknown queries";
    let picture = plane(&Plane {
        title,
        x_label: "x",
        y_label: "y",
        classes: &classes,
        extreme_vectors: &vectors,
        queries: &queries,
        psi: Some(&psi),
        ..Plane::default()
    })?;
    let caption =
        "Isocontours of the largest psi, red near 1 and blue near 0.005; rings are extreme vectors.";
    Ok(Section {
        title: "The first figure".to_owned(),
        command: "evmachine-repro teaser".to_owned(),
        text: vec![format!(
            "{} points of {} classes in the plane, tail size {TAIL}, cover threshold 0.5.",
            report.rows, report.classes
        )],
        claims: vec![Claim {
            paper: "the EVM can reject the three ? inputs that lie beyond the support of the training set, with few \
                    extreme vectors."
                .to_owned(),
            measured: format!(
                "{rejected} of {} queries are unknown, with {} extreme vectors for {} points.",
                scene.queries.rows(),
                report.extreme_vectors,
                report.rows
            ),
            agrees: rejected == scene.queries.rows(),
            why: "The paper's own points are not published; these are drawn to resemble them.".to_owned(),
        }],
        tables: Vec::new(),
        figures: vec![Figure { name: "plane".to_owned(), caption: caption.to_owned(), picture }],
    })
}
