//! The open-world protocol (Sec. V-B, Fig. 3, Table I): some classes are learned first, more join in steps, and at each
//! step classes that are not yet known take part in the test.

mod summary;

use std::path::Path;
use std::time::Instant;

use evmachine::{Features, Labels, Metric, Params};
use evmachine_baselines::{ExtremeValueMachine, KernelDensity, NearestNonOutlier, NearestThreshold, System};
use evmachine_eval::folds::FoldSizes;
use evmachine_eval::{Answers, Evaluation, Objective, Search, Space, TuneOptions};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::error::ReproError;
use crate::log::Log;
use crate::oletter::rounded;
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
    /// Classes learned first.
    pub initial: usize,
    /// Classes learned in each step.
    pub increment: usize,
    /// Classes known in the end; what remains is never learned.
    pub most: usize,
    /// Unknown classes are tested in multiples of this.
    pub unknown_step: usize,
    /// The metric of the EVM and of nearest neighbours, by name.
    pub metric: String,
    /// Rank of NNO's projection.
    pub rank: usize,
    /// Trials of each search for the EVM's parameters.
    pub trials: usize,
    /// Seed of the order of classes and of all that is drawn.
    pub seed: u64,
    /// How the data was drawn, where it was.
    pub synthetic: Option<Synthetic>,
}

/// Kernels that KDE keeps of a class.
const KERNELS: usize = 40;

/// The EVM whose k and tail size were searched as in the paper.
const PAPER: &str = "EVM, paper's search";
/// The EVM over the tuner's whole space.
const TUNED: &str = "EVM, tuned";

/// One system at one step with so many unknown classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Row {
    system: String,
    known: usize,
    unknown: usize,
    accuracy: f64,
    f1: f64,
    known_accuracy: Option<f64>,
    unknown_accuracy: Option<f64>,
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
            let place: Vec<Option<usize>> =
                labels.names().iter().map(|label| names.iter().position(|name| name == label)).collect();
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
    let mut log: Log<Row> = Log::open(folder, "runs.csv", settings)?;
    let course = Course::new(data, settings.seed);
    if course.names.len() < settings.initial || settings.initial < 6 {
        return Err(ReproError::TooFewClasses {
            classes: course.names.len(),
            needed: settings.initial.max(6),
        });
    }
    let first = course.train[..settings.initial].concat();
    let first = (data.train.0.select(&first), data.train.1.select(&first));
    let (paper, full) = (tune_options(settings, Space::paper())?, tune_options(settings, Space::full())?);
    let paper = tuned::best_trial(&folder.join("paper.json"), &first.0, &first.1, &paper, watch)?;
    let full = tuned::params(&folder.join("tuned.json"), &first.0, &first.1, &full, watch)?;
    let systems: Vec<Box<dyn System>> = vec![
        Box::new(ExtremeValueMachine::new(PAPER, paper)),
        Box::new(ExtremeValueMachine::new(TUNED, full)),
        Box::new(NearestNonOutlier::new(settings.rank).with_seed(settings.seed)),
        Box::new(KernelDensity::new(KERNELS).with_seed(settings.seed)),
        Box::new(NearestThreshold::new(metric, 1).with_seed(settings.seed)),
    ];
    let total = systems.len();
    for (number, mut system) in systems.into_iter().enumerate() {
        if log.rows().iter().any(|row| row.system == system.name()) {
            continue;
        }
        watch.tell(&system.name(), number, total)?;
        log.add(measure(system.as_mut(), data, &course, settings, watch)?)?;
    }
    summary::section(log.rows(), settings, data)
}

fn metric(settings: &Settings) -> Result<Metric, ReproError> {
    Metric::from_name(&settings.metric)
        .ok_or_else(|| ReproError::UnknownMetric { name: settings.metric.clone() })
}

/// Three folds over the first classes, as in the paper; tail sizes are shares of the negatives, which does what the paper's
/// factor of 1.5 is for.
fn tune_options(settings: &Settings, space: Space) -> Result<TuneOptions, ReproError> {
    Ok(TuneOptions {
        base: Params { metric: metric(settings)?, ..Params::paper() },
        space,
        search: Search::Bayesian { trials: settings.trials },
        objective: Objective::F1,
        folds: Some(3),
        sizes: FoldSizes { train: 6_000, test: 1_500 },
        seed: settings.seed,
        ..TuneOptions::default()
    })
}

/// A system from its first classes to its last.
fn measure(
    system: &mut dyn System,
    data: &Data<'_>,
    course: &Course,
    settings: &Settings,
    watch: &Watch<'_>,
) -> Result<Vec<Row>, ReproError> {
    let most = settings.most.min(course.names.len());
    let (mut rows, mut known, mut points) = (Vec::new(), 0, 0);
    while known < most {
        let next = if known == 0 { settings.initial } else { known + settings.increment.max(1) }.min(most);
        watch.tell(&format!("{}, {next} classes", system.name()), known, most)?;
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
        let asked = course.test.concat();
        let from: Vec<usize> =
            (0..course.names.len()).flat_map(|class| vec![class; course.test[class].len()]).collect();
        let scores = system.scores(&data.test.0.select(&asked))?;
        let score_seconds = clock.elapsed().as_secs_f64();
        let answers = scores.answers(system.classes(), &data.test.1.select(&asked), system.threshold());
        for unknown in (0..=course.names.len() - known).step_by(settings.unknown_step.max(1)) {
            let part = part(&answers, &from, known + unknown);
            let evaluation = Evaluation::new(&part, known);
            rows.push(Row {
                system: system.name(),
                known,
                unknown,
                accuracy: rounded(evaluation.accuracy),
                f1: rounded(evaluation.f1_micro),
                known_accuracy: evaluation.known_accuracy.map(rounded),
                unknown_accuracy: evaluation.unknown_accuracy.map(rounded),
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

/// The answers about the first so many classes.
fn part(answers: &Answers, from: &[usize], classes: usize) -> Answers {
    let mut part = Answers::default();
    for row in (0..answers.len()).filter(|&row| from[row] < classes) {
        part.push(answers.truth[row], answers.best[row], answers.score[row], answers.accepted[row]);
    }
    part
}
