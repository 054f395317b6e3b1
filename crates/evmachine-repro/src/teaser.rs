//! The first figure: four classes in the plane, the contours of psi, and three queries that are rejected.

use std::error::Error;

use evmachine::{Decision, Evm, Features, Labels, Params, TailSize};
use evmachine_plot::{Plane, PointClass, plane};

use crate::error::ReproError;
use crate::section::{Claim, Figure, Section, Verdict};

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
        Ok(decisions.iter().map(Decision::psi).collect())
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
        claims: vec![fall_off(&params, scene)?, Claim {
            paper: "the EVM can reject the three ? inputs that lie beyond the support of the training set, with few \
                    extreme vectors."
                .to_owned(),
            measured: format!(
                "{rejected} of {} queries are unknown, with {} extreme vectors for {} points.",
                scene.queries.rows(),
                report.extreme_vectors,
                report.rows
            ),
            verdict: Verdict::of(rejected == scene.queries.rows()),
            why: "The paper's own points are not published; these are drawn to resemble them.".to_owned(),
        }],
        tables: Vec::new(),
        figures: vec![Figure { name: "plane".to_owned(), caption: caption.to_owned(), picture }],
    })
}

/// The shape of the Psi-model of a point, every point being kept, as if `without` were not there.
fn shape_of(
    params: &Params,
    scene: &Scene<'_>,
    point: usize,
    without: Option<usize>,
) -> Result<f64, ReproError> {
    let rows: Vec<usize> = (0..scene.labels.len()).filter(|row| Some(*row) != without).collect();
    let place = rows.iter().position(|row| *row == point).map(|row| row as u64);
    let params = Params { cover_threshold: 1.0, ..params.clone() };
    let (evm, _) = Evm::fit(&params, &scene.points.select(&rows), &scene.labels.select(&rows))?;
    let found = evm.extreme_vectors().find(|vector| Some(vector.source) == place);
    Ok(found.map_or(f64::NAN, |vector| vector.psi.shape))
}

/// What the outlier of another class does to the point that it lies closest to.
fn fall_off(params: &Params, scene: &Scene<'_>) -> Result<Claim, ReproError> {
    let squared = |a: usize, b: usize| -> f64 {
        let pairs = scene.points.row(a).iter().zip(scene.points.row(b));
        pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum()
    };
    let ids = scene.labels.ids();
    let pairs = (0..ids.len()).flat_map(|a| (0..ids.len()).map(move |b| (a, b)));
    let closest = pairs
        .filter(|&(a, b)| ids[a] != ids[b])
        .min_by(|&(a, b), &(c, d)| squared(a, b).total_cmp(&squared(c, d)));
    let (point, outlier) = closest.unwrap_or_default();
    let with = shape_of(params, scene, point, None)?;
    let without = shape_of(params, scene, point, Some(outlier))?;
    Ok(Claim {
        paper: "Psi-models support a soft margin: that of an extreme vector next to an outlier of another class has a more \
                gradual fall-off."
            .to_owned(),
        measured: format!(
            "the two points of different classes that lie closest are of {} and {}; the Psi-model of the first has a shape of \
             {with:.2} with the other there, {without:.2} without it. The smaller the shape, the more gradual the fall-off.",
            scene.labels.name(point),
            scene.labels.name(outlier)
        ),
        verdict: Verdict::of(with < without),
        why: String::new(),
    })
}
