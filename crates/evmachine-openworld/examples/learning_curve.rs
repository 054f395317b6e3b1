//! How many answers of a person lead to which accuracy, for each way of choosing what to ask.
//!
//! ```text
//! cargo run -p evmachine-openworld --example learning_curve -- letter
//! cargo run -p evmachine-openworld --example learning_curve -- NAME FEATURES.npy LABELS.txt cosine
//! ```
//!
//! Every second class in order of name is known and trained on; the others are the unknowns. A third of the rows of all classes is
//! the test; of the other unknown rows at most 3,000, evenly spread over the file, are the pool. An answer names a sample or a
//! group; where not all of a group are of that name, members are struck out or picked one by one, whichever are fewer, and each counts as
//! one more answer. After each round of answers the model is updated.
//! Prints purity and number of groups and what became of the test, and draws the share of new classes whose best class is right,
//! known or not, to `docs/images/pool-NAME.png`.

#![allow(clippy::unwrap_used, reason = "an example ends where something unexpected happens")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use evmachine::{Evm, Features, Labels, Metric, Params, Strategy, UnknownPool};
use evmachine_data::{ReadOptions, read_all};
use evmachine_plot::{Curves, Series, curves};

const POOL: usize = 3_000;
/// Answers after which the model is updated and tested.
const ROUNDS: [usize; 6] = [25, 50, 100, 200, 400, 800];

/// Which way, and whether an answer serves the group or the sample alone.
const WAYS: [(&str, Strategy, bool); 6] = [
    ("groups", Strategy::Groups, true),
    ("coverage, groups", Strategy::Coverage, true),
    ("random, groups", Strategy::Random(1), true),
    ("lowest psi", Strategy::LowestPsi, false),
    ("closest to the threshold", Strategy::ClosestToThreshold, false),
    ("random", Strategy::Random(1), false),
];

struct World {
    evm: Evm,
    pool: (Features<'static>, Labels),
    test: (Features<'static>, Labels),
    known: BTreeSet<String>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("letter", String::as_str);
    let (features, labels) = if name == "letter" {
        letter()
    } else {
        let labels_file = Some(arguments[2].clone().into());
        let options = ReadOptions { labels_file, ..ReadOptions::default() };
        let data = read_all(Path::new(&arguments[1]), &options).unwrap().data;
        let labels = Labels::new(data.labels.unwrap()).unwrap();
        (Features::new(data.features, data.columns).unwrap(), labels)
    };
    let metric = arguments.get(3).map_or(Metric::Euclidean, |name| Metric::from_name(name).unwrap());
    let world = world(&features, &labels, metric);
    describe(&world);
    let lines: Vec<(&str, Vec<(f64, f64)>)> =
        WAYS.iter().map(|&(way, strategy, grouped)| (way, learn(&world, way, strategy, grouped))).collect();
    draw(name, &lines);
}

fn letter() -> (Features<'static>, Labels) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/letter/letter-recognition.data");
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<(&str, &str)> = text.lines().map(|line| line.split_once(',').unwrap()).collect();
    let values: Vec<f32> =
        rows.iter().flat_map(|row| row.1.split(',')).map(|value| value.parse().unwrap()).collect();
    (Features::new(values, 16).unwrap(), Labels::new(rows.iter().map(|row| row.0)).unwrap())
}

fn world(features: &Features<'_>, labels: &Labels, metric: Metric) -> World {
    let names: BTreeSet<&String> = labels.names().iter().collect();
    let known: BTreeSet<String> = names.into_iter().step_by(2).cloned().collect();
    let is_known = |row: &usize| known.contains(labels.name(*row));
    let test: Vec<usize> = (0..features.rows()).filter(|row| row % 3 == 2).collect();
    let rest: Vec<usize> = (0..features.rows()).filter(|row| row % 3 != 2).collect();
    let (train, strange): (Vec<usize>, Vec<usize>) = rest.into_iter().partition(is_known);
    let count = strange.len().min(POOL);
    let pooled: Vec<usize> = (0..count).map(|i| strange[i * strange.len() / count]).collect();
    let params = Params::robust_for(metric).keeping_all();
    let (evm, _) = Evm::fit(&params, &features.select(&train), &labels.select(&train)).unwrap();
    World {
        evm,
        pool: (features.select(&pooled), labels.select(&pooled)),
        test: (features.select(&test), labels.select(&test)),
        known,
    }
}

/// Purity and number of groups.
fn describe(world: &World) {
    let mut pool = UnknownPool::new(world.evm.dimensions());
    pool.add(&world.pool.0).unwrap();
    for (way, strategy) in [("groups", Strategy::Groups), ("coverage", Strategy::Coverage)] {
        let groups = pool.suggest(&world.evm, strategy, usize::MAX).unwrap();
        let pure: usize = groups.iter().map(|group| largest(world, &group.group)).sum();
        let rows = world.pool.1.len();
        println!(
            "{way}: {} groups of {rows} unknowns, purity {:.3}, the 100 largest hold {}",
            groups.len(),
            pure as f64 / rows as f64,
            groups.iter().take(100).map(|group| group.group.len()).sum::<usize>()
        );
    }
}

/// Members of the most frequent class.
fn largest(world: &World, group: &[u64]) -> usize {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for &sample in group {
        *counts.entry(world.pool.1.name(sample as usize)).or_default() += 1;
    }
    counts.into_values().max().unwrap_or(0)
}

/// Accuracy on new classes by answers given.
fn learn(world: &World, way: &str, strategy: Strategy, grouped: bool) -> Vec<(f64, f64)> {
    let mut evm = world.evm.clone();
    let mut pool = UnknownPool::new(evm.dimensions());
    pool.add(&world.pool.0).unwrap();
    let (mut spent, mut labels) = (0, 0);
    let mut line = vec![(0.0, 0.0)];
    for round in ROUNDS {
        let suggestions = pool.suggest(&evm, strategy, round.saturating_sub(spent)).unwrap();
        for suggestion in suggestions {
            if spent >= round {
                break;
            }
            let name = world.pool.1.name(suggestion.sample as usize);
            let shown = if grouped { &suggestion.group[..] } else { &suggestion.group[..1] };
            let (same, other): (Vec<u64>, Vec<u64>) =
                shown.iter().partition(|&&sample| world.pool.1.name(sample as usize) == name);
            spent += 1 + other.len().min(same.len() - 1);
            labels += same.len();
            pool.label(&same, name).unwrap();
        }
        let (batch, names) = pool.take_labelled();
        if batch.rows() > 0 {
            evm.update(&batch, &names).unwrap();
        }
        let found = Accuracy::of(&evm, world);
        println!(
            "{way}: {spent} answers, {labels} labels: new classes {:.3} best right, {:.3} named right, {:.3} named wrong; \
             known classes {:.3} named right",
            found.best, found.right, found.wrong, found.known
        );
        line.push((spent as f64, found.best));
    }
    line
}

/// Shares of the test.
#[derive(Default)]
struct Accuracy {
    /// Of new classes, whose best class is right, be it known or not.
    best: f64,
    /// Of new classes, named right.
    right: f64,
    /// Of new classes, named wrong.
    wrong: f64,
    /// Of known classes, named right.
    known: f64,
}

impl Accuracy {
    fn of(evm: &Evm, world: &World) -> Self {
        let decisions = evm.decide(&world.test.0).unwrap();
        let is_old = |row: usize| world.known.contains(world.test.1.name(row));
        let old = (0..decisions.len()).filter(|&row| is_old(row)).count() as f64;
        let new = decisions.len() as f64 - old;
        let mut found = Self::default();
        for (row, decision) in decisions.iter().enumerate() {
            let is_right = evm.class_name(decision.best()) == world.test.1.name(row);
            match (is_old(row), is_right, decision.class().is_some()) {
                (true, true, true) => found.known += 1.0 / old,
                (false, true, accepted) => {
                    found.best += 1.0 / new;
                    found.right += f64::from(u8::from(accepted)) / new;
                }
                (false, false, true) => found.wrong += 1.0 / new,
                _ => {}
            }
        }
        found
    }
}

fn draw(name: &str, lines: &[(&str, Vec<(f64, f64)>)]) {
    let columns: Vec<(Vec<f64>, Vec<f64>)> =
        lines.iter().map(|(_, line)| line.iter().copied().unzip()).collect();
    let series: Vec<Series<'_>> = lines
        .iter()
        .zip(&columns)
        .map(|((way, _), (x, y))| Series { name: way, x, y, errors: None })
        .collect();
    let picture = curves(&Curves {
        title: &format!("What answers are worth: {name}"),
        x_label: "answers",
        y_label: "new classes: best class right",
        series: &series,
        logarithmic_x: false,
    })
    .unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
    picture.save(folder.join(format!("pool-{name}.png"))).unwrap();
}
