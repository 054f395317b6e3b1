//! The open-world protocol (Sec. V-B, Fig. 3, Table I): some classes are learned first, more join in steps, and at each
//! step classes that are not yet known take part in the test.

mod search;
mod summary;
mod systems;

use std::path::Path;
use std::time::Instant;

use evmachine::labels::are_same;
use evmachine::{Features, Labels, Metric, Params, TailModel};
use evmachine_eval::folds::FoldSizes;
use evmachine_eval::{Answers, Evaluation, Objective, Space, TrialSearch, TuneOptions};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use self::search::Candidate;
pub use self::systems::Selection;
use self::systems::{Entrant, Form, formed};
use crate::error::ReproError;
use crate::log::Log;
use crate::oletter::rounded;
use crate::parameters;
use crate::section::Section;
use crate::synthetic::Synthetic;
use crate::tuned;
use crate::watch::Watch;

/// Rows to learn from and rows to ask about.
#[derive(Debug)]
pub struct Data<'a> {
    /// To learn from.
    pub train: (Features<'a>, Labels),
    /// To ask about.
    pub test: (Features<'a>, Labels),
}

impl Data<'static> {
    /// Divides labelled rows: one in five of each class tests.
    pub fn divided(features: &Features<'_>, labels: &Labels) -> Self {
        let mut seen = vec![0usize; labels.names().len()];
        let (mut train, mut test) = (Vec::new(), Vec::new());
        for (row, &id) in labels.ids().iter().enumerate() {
            seen[id as usize] += 1;
            if seen[id as usize].is_multiple_of(5) { test.push(row) } else { train.push(row) }
        }
        let select = |rows: &[usize]| (features.select(rows), labels.select(rows));
        Self { train: select(&train), test: select(&test) }
    }
}

/// How to run it.
#[derive(Debug, Clone, Serialize)]
pub struct Settings {
    /// What the data is called.
    pub name: String,
    /// The flags that name the data, for whoever wants to give the command again.
    pub source: String,
    /// Classes learned first.
    pub initial: usize,
    /// Classes learned in each step.
    pub increment: usize,
    /// Classes known in the end; what remains is never learned.
    pub most: usize,
    /// Unknown classes are tested in multiples of this.
    pub unknown_step: usize,
    /// Most unknown classes in a test.
    pub most_unknown: usize,
    /// The metric of the EVM and of nearest neighbours, by name.
    pub metric: String,
    /// Rank of NNO's projection.
    pub rank: usize,
    /// Trials of the search for the tuned EVM's parameters.
    pub trials: usize,
    /// Seed of the order of classes and of all that is drawn.
    pub seed: u64,
    /// How the data was drawn, where it was.
    pub synthetic: Option<Synthetic>,
    /// Which systems take part.
    #[serde(skip_serializing_if = "Selection::is_all")]
    pub systems: Selection,
}

/// One system at one step with so many unknown classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OpenWorldRow {
    system: String,
    known: usize,
    unknown: usize,
    accuracy: f64,
    f1: f64,
    known_accuracy: Option<f64>,
    unknown_accuracy: Option<f64>,
    /// Known queries named right, were none rejected.
    closed_accuracy: f64,
    oscr: Option<f64>,
    vectors: usize,
    points: usize,
    vector_ratio: f64,
    learn_seconds: f64,
    score_seconds: f64,
}

/// The order in which classes are learned, and rows by class.
struct Course {
    names: Vec<String>,
    train: Vec<Vec<usize>>,
    test: Vec<Vec<usize>>,
}

impl Course {
    fn new(data: &Data<'_>, seed: u64) -> Self {
        let mut names = data.train.1.names().to_vec();
        names.sort();
        names.shuffle(&mut StdRng::seed_from_u64(seed));
        let rows = |labels: &Labels| {
            let mut rows = vec![Vec::new(); names.len()];
            let place: Vec<Option<usize>> = labels
                .names()
                .iter()
                .map(|label| names.iter().position(|name| are_same(name, label)))
                .collect();
            for (row, &id) in labels.ids().iter().enumerate() {
                if let Some(place) = place[id as usize] {
                    rows[place].push(row);
                }
            }
            rows
        };
        let (train, test) = (rows(&data.train.1), rows(&data.test.1));
        Self { names, train, test }
    }
}

/// Runs what is not yet in `folder`, and tells what came out.
pub fn run(
    folder: &Path,
    data: &Data<'_>,
    settings: &Settings,
    watch: &Watch<'_>,
) -> Result<Section, ReproError> {
    let metric = metric(settings)?;
    let mut log: Log<OpenWorldRow> = Log::open(folder, "runs.csv", settings)?;
    let course = Course::new(data, settings.seed);
    if course.names.len() < settings.initial || settings.initial < 6 {
        return Err(ReproError::TooFewClasses {
            classes: course.names.len(),
            needed: settings.initial.max(6),
        });
    }
    let first = course.train[..settings.initial].concat();
    let mut papers = systems::papers(&metric, settings.systems);
    let takes = |wanted: Form| papers.iter().any(|(_, form, _)| *form == wanted);
    let scaled = if takes(Form::UnitScale) { Some(formed(data, Form::UnitScale)?) } else { None };
    let mut searched: Log<Candidate> = Log::open(folder, "search.csv", settings)?;
    for (name, form, params) in &mut papers {
        let own = scaled.as_ref().filter(|_| *form == Form::UnitScale).unwrap_or(data);
        let (features, labels) = (own.train.0.select(&first), own.train.1.select(&first));
        if search::best(searched.rows(), name).is_none() {
            searched.add(search::search(name, params, &features, &labels, settings.seed, watch)?)?;
        }
        if let Some(best) = search::best(searched.rows(), name) {
            *params = best.params(params, labels.len());
        }
    }
    let libmr = papers.iter().find(|(name, ..)| *name == systems::paper_name(TailModel::Libmr));
    let first = (data.train.0.select(&first), data.train.1.select(&first));
    let scales = match libmr {
        Some((_, Form::Raw, params)) if settings.systems.is_all() => {
            Some(parameters::scales_and_shapes(params, &first.0, &first.1)?)
        }
        _ => None,
    };
    let tuned = match settings.systems {
        Selection::All => {
            let path = folder.join("tuned.json");
            Some(tuned::params(&path, &first.0, &first.1, &tune_options(settings)?, watch)?)
        }
        Selection::Paper => None,
    };
    drop(first);
    let chosen: Vec<(&str, Params)> =
        papers.iter().map(|(name, _, params)| (*name, params.clone())).collect();
    let entrants = systems::entrants(papers, tuned, &metric, settings, watch.device());
    let total = entrants.len();
    let takes = |wanted: Form| entrants.iter().any(|entrant| entrant.form == wanted);
    let unit_length = if takes(Form::UnitLength) { Some(formed(data, Form::UnitLength)?) } else { None };
    for (number, mut entrant) in entrants.into_iter().enumerate() {
        if log.rows().iter().any(|row| row.system == entrant.name) {
            continue;
        }
        watch.tell(entrant.name, number, total)?;
        let own = match entrant.form {
            Form::Raw => None,
            Form::UnitLength => unit_length.as_ref(),
            Form::UnitScale => scaled.as_ref(),
        };
        log.add(measure(&mut entrant, own.unwrap_or(data), &course, settings, watch)?)?;
    }
    let results = summary::Results {
        rows: log.rows(),
        searched: searched.rows(),
        dimensions: data.train.0.columns(),
        chosen: &chosen,
        scales,
    };
    summary::section(&results, settings, data)
}

fn metric(settings: &Settings) -> Result<Metric, ReproError> {
    Metric::from_name(&settings.metric)
        .ok_or_else(|| ReproError::UnknownMetric { name: settings.metric.clone() })
}

/// The tuner's whole space, on three folds over the first classes, as in the paper.
fn tune_options(settings: &Settings) -> Result<TuneOptions, ReproError> {
    Ok(TuneOptions {
        base: Params { metric: metric(settings)?, ..Params::paper() },
        space: Space::full(),
        search: TrialSearch::Bayesian { trials: settings.trials },
        objective: Objective::F1,
        folds: Some(3),
        sizes: FoldSizes { train: 6_000, test: 1_500 },
        seed: settings.seed,
        ..TuneOptions::default()
    })
}

/// A system from its first classes to its last.
fn measure(
    entrant: &mut Entrant,
    data: &Data<'_>,
    course: &Course,
    settings: &Settings,
    watch: &Watch<'_>,
) -> Result<Vec<OpenWorldRow>, ReproError> {
    let Entrant { name, system, .. } = entrant;
    let most = settings.most.min(course.names.len());
    let asked = course.test.concat();
    let from: Vec<usize> =
        (0..course.names.len()).flat_map(|class| vec![class; course.test[class].len()]).collect();
    let (queries, truth) = (data.test.0.select(&asked), data.test.1.select(&asked));
    let (mut rows, mut known, mut points) = (Vec::new(), 0, 0);
    while known < most {
        let next = if known == 0 { settings.initial } else { known + settings.increment.max(1) }.min(most);
        watch.tell(&format!("{name}, {next} classes"), known, most)?;
        let batch = course.train[known..next].concat();
        let (features, labels) = (data.train.0.select(&batch), data.train.1.select(&batch));
        let clock = Instant::now();
        if known == 0 {
            system.fit(&features, &labels)?;
        } else {
            system.update(&features, &labels)?;
        }
        let learn_seconds = clock.elapsed().as_secs_f64();
        (known, points) = (next, points + batch.len());
        let clock = Instant::now();
        let scores = system.scores(&queries)?;
        let score_seconds = clock.elapsed().as_secs_f64();
        let answers = scores.answers(system.classes(), &truth, system.threshold());
        let most_unknown = settings.most_unknown.min(course.names.len() - known);
        for unknown in (0..=most_unknown).step_by(settings.unknown_step.max(1)) {
            let part = part(&answers, &from, known + unknown);
            let evaluation = Evaluation::new(&part, known);
            rows.push(OpenWorldRow {
                system: (*name).to_owned(),
                known,
                unknown,
                accuracy: rounded(evaluation.accuracy),
                f1: rounded(evaluation.f1_micro),
                known_accuracy: evaluation.known_accuracy.map(rounded),
                unknown_accuracy: evaluation.unknown_accuracy.map(rounded),
                closed_accuracy: rounded(closed_accuracy(&part)),
                oscr: evaluation.oscr.map(rounded),
                vectors: system.vectors(),
                points,
                vector_ratio: rounded(system.vectors() as f64 / points.max(1) as f64),
                learn_seconds: rounded(learn_seconds),
                score_seconds: rounded(score_seconds),
            });
        }
    }
    Ok(rows)
}

/// The share of known queries whose best class is theirs.
fn closed_accuracy(answers: &Answers) -> f64 {
    let known = answers.truth.iter().flatten().count();
    let right =
        answers.truth.iter().zip(&answers.best).filter(|(truth, best)| **truth == Some(**best)).count();
    right as f64 / known.max(1) as f64
}

/// The answers about the first so many classes.
fn part(answers: &Answers, from: &[usize], classes: usize) -> Answers {
    let mut part = Answers::default();
    for row in (0..answers.len()).filter(|&row| from[row] < classes) {
        part.push(answers.truth[row], answers.best[row], answers.score[row], answers.accepted[row]);
    }
    part
}
