//! How smoothing, pooling and the cover threshold change accuracy, AUROC and OSCR on real features.
//!
//! ```text
//! cargo run --release -p evmachine-cli --example tables                      # UCI Letter, in the box
//! cargo run --release -p evmachine-cli --example tables -- clinc CLINC.npz   # CLINC150 embeddings
//! ```
//!
//! The CLINC150 file holds `X_train`, `y_train`, `X_test`, `y_test` and `X_oos_test`.

use std::error::Error;
use std::path::Path;

use evmachine::{Evm, Features, Labels, Metric, Params, TailModel, TailSize};
use evmachine_data::{ColumnRef, ReadOptions};
use evmachine_eval::{Answers, Evaluation, rivals};

type Set = (Features<'static>, Labels);

/// Training rows, test rows of known and unknown classes, and how they are compared.
struct Task {
    name: &'static str,
    train: Set,
    test: Set,
    metric: Metric,
    tail: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => table(&letter()?),
        [kind, path] if kind == "clinc" => table(&clinc(Path::new(path))?),
        _ => Err("usage: tables [clinc FILE.npz]".into()),
    }
}

/// 15 known and 11 unknown letters; the first 15,000 rows train, the others test.
fn letter() -> Result<Task, Box<dyn Error>> {
    const KNOWN: &str = "ABCDEGHKLNPRTVX";
    let text = include_str!("../../../data/letter/letter-recognition.data");
    let (mut train, mut test) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for (row, line) in text.lines().enumerate() {
        let (name, values) = line.split_once(',').ok_or("a line without values")?;
        let set = if row < 15_000 { &mut train } else { &mut test };
        if row >= 15_000 || KNOWN.contains(name) {
            set.1.push(name);
            for value in values.split(',') {
                set.0.push(value.parse::<f32>()?);
            }
        }
    }
    let set = |(values, names)| -> Result<Set, Box<dyn Error>> {
        Ok((Features::new(values, 16)?, Labels::new::<Vec<&str>>(names)?))
    };
    Ok(Task { name: "Letter", train: set(train)?, test: set(test)?, metric: Metric::Euclidean, tail: 150 })
}

fn clinc(path: &Path) -> Result<Task, Box<dyn Error>> {
    let read = |features: &str, labels: Option<&str>| -> Result<(Vec<f32>, Vec<String>), Box<dyn Error>> {
        let options = ReadOptions {
            features: vec![ColumnRef::Name(features.to_owned())],
            label: labels.map(|name| ColumnRef::Name(name.to_owned())),
            ..ReadOptions::default()
        };
        let data = evmachine_data::read_all(path, &options)?.data;
        let names = data.labels.unwrap_or_else(|| vec!["out of scope".to_owned(); data.rows]);
        Ok((data.features, names))
    };
    let train = read("X_train", Some("y_train"))?;
    let mut test = read("X_test", Some("y_test"))?;
    let strangers = read("X_oos_test", None)?;
    test.0.extend(strangers.0);
    test.1.extend(strangers.1);
    let set = |(values, names): (Vec<f32>, Vec<String>)| -> Result<Set, Box<dyn Error>> {
        Ok((Features::new(values, 384)?, Labels::new(names)?))
    };
    Ok(Task { name: "CLINC150", train: set(train)?, test: set(test)?, metric: Metric::Cosine, tail: 1_000 })
}

fn table(task: &Task) -> Result<(), Box<dyn Error>> {
    println!("{}, {}, tail {}\n", task.name, task.metric.name(), task.tail);
    println!("| | ratio | accuracy | AUROC | OSCR |\n|---|---|---|---|---|");
    let base = Params {
        metric: task.metric.clone(),
        tail_size: TailSize::Count(task.tail),
        cover_threshold: 1.0,
        ..Params::default()
    };
    let (plain, _) = Evm::fit(&base, &task.train.0, &task.train.1)?;
    let measured = plain.measure(&task.test.0)?;
    let classes: Vec<Option<usize>> =
        task.test.1.names().iter().map(|name| plain.class_index(name)).collect();
    let truth: Vec<Option<usize>> = task.test.1.ids().iter().map(|&id| classes[id as usize]).collect();
    line("1-NN", 1.0, &rivals::nearest_neighbors(&plain, &measured, 1, &truth), &plain);
    line("mean of 5 NN per class", 1.0, &rivals::nearest_neighbors(&plain, &measured, 5, &truth), &plain);
    line("nearest class mean", 1.0, &rivals::nearest_class_mean(&plain, &task.test.0, &truth), &plain);

    let smoothed = |a: f64, m: usize, pooling: f64, multiplier: f64| Params {
        smoothing: a,
        smoothing_neighbors: m,
        pooling,
        distance_multiplier: multiplier,
        ..base.clone()
    };
    let mut rows = vec![
        ("EVM as in the paper, all points".to_owned(), base.clone()),
        ("EVM as in the paper, threshold 0.5".to_owned(), Params { cover_threshold: 0.5, ..base.clone() }),
        ("Gumbel".to_owned(), Params { tail_model: TailModel::Gumbel, ..base.clone() }),
        ("multiplier 0.7, k = 4".to_owned(), Params { distance_multiplier: 0.7, n_fused: 4, ..base.clone() }),
        ("pooling 0.5".to_owned(), smoothed(0.0, 10, 0.5, 0.5)),
        ("smoothing (0.5, 10), pooling 0.5".to_owned(), smoothed(0.5, 10, 0.5, 0.5)),
        ("smoothing (0.8, 10), pooling 0.5, multiplier 0.7".to_owned(), smoothed(0.8, 10, 0.5, 0.7)),
        ("smoothing (0.8, 10), pooling 0.8, multiplier 0.7".to_owned(), smoothed(0.8, 10, 0.8, 0.7)),
    ];
    for threshold in [0.99, 0.9, 0.5] {
        let name = format!("smoothing (0.5, 10), pooling 0.5, threshold {threshold}");
        rows.push((name, Params { cover_threshold: threshold, ..smoothed(0.5, 10, 0.5, 0.5) }));
        let name = format!("smoothing (0.8, 10), pooling 0.8, multiplier 0.7, threshold {threshold}");
        rows.push((name, Params { cover_threshold: threshold, ..smoothed(0.8, 10, 0.8, 0.7) }));
    }
    for (name, params) in rows {
        let (evm, report) = Evm::fit(&params, &task.train.0, &task.train.1)?;
        let decisions = evm.decide(&task.test.0)?;
        line(&name, report.vector_ratio, &Answers::of(&evm, &decisions, &task.test.1), &evm);
    }
    Ok(())
}

fn line(name: &str, ratio: f64, answers: &Answers, evm: &Evm) {
    let evaluation = Evaluation::new(answers, evm.classes().len());
    let figure = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.4}"));
    println!(
        "| {name} | {ratio:.3} | {} | {} | {} |",
        figure(evaluation.closed_accuracy),
        figure(evaluation.auroc),
        figure(evaluation.oscr)
    );
}
