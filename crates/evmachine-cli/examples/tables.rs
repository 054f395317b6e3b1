//! How whitening, smoothing, pooling, contrast and the cover threshold change accuracy, AUROC and OSCR on real features.
//!
//! ```text
//! cargo run --release -p evmachine-cli --example tables                       # UCI Letter, in the box
//! cargo run --release -p evmachine-cli --example tables -- clinc CLINC.npz    # CLINC150 embeddings
//! cargo run --release -p evmachine-cli --example tables -- tiny FOLDER 0      # Tiny-ImageNet features, seed 0
//! ```

mod figures;
mod sets;

use std::error::Error;

use evmachine::{Evm, Metric, Params, TailModel, TailSize};
use evmachine_eval::{Answers, Contest, Rival, rivals};
use figures::line;
use sets::Task;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    table(&sets::named(&arguments)?)
}

fn table(task: &Task) -> Result<(), Box<dyn Error>> {
    let tail = if task.metric == Metric::Euclidean { 150 } else { 1_000 };
    println!("{}, {}, tail {tail}\n", task.name, task.metric.name());
    println!("| | ratio | accuracy | AUROC | OSCR |\n|---|---|---|---|---|");
    let base = Params {
        metric: task.metric.clone(),
        tail_size: TailSize::Count(tail),
        cover_threshold: 1.0,
        ..Params::paper()
    };
    let (features, labels) = (&task.train.0, &task.train.1);
    let truth = rivals::truth(labels, &task.test.1);
    let contest = Contest {
        metric: &task.metric,
        train: (features, labels),
        queries: &task.test.0,
        truth: &truth,
        linear: None,
    };
    let chosen = [Rival::NearestNeighbors(1), Rival::NearestNeighbors(5), Rival::NearestClassMean];
    for (rival, answers) in rivals::rivals(&contest, &chosen)? {
        line(&rival.name(), 1.0, &answers, labels.names().len());
    }

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
        (
            "the same, contrast 0.25: robust".to_owned(),
            Params { contrast: 0.25, ..smoothed(0.8, 10, 0.8, 0.7) },
        ),
    ];
    for whitening in [0.1, 0.5, 1.0] {
        let name = format!("the same, whitening {whitening}");
        rows.push((name, Params { whitening, contrast: 0.25, ..smoothed(0.8, 10, 0.8, 0.7) }));
    }
    for threshold in [0.99, 0.9, 0.5] {
        let name = format!("smoothing (0.5, 10), pooling 0.5, threshold {threshold}");
        rows.push((name, Params { cover_threshold: threshold, ..smoothed(0.5, 10, 0.5, 0.5) }));
        let name = format!("smoothing (0.8, 10), pooling 0.8, multiplier 0.7, threshold {threshold}");
        rows.push((name, Params { cover_threshold: threshold, ..smoothed(0.8, 10, 0.8, 0.7) }));
    }
    for (name, params) in rows {
        let (evm, report) = Evm::fit(&params, &task.train.0, &task.train.1)?;
        let decisions = evm.decide(&task.test.0)?;
        line(&name, report.vector_ratio, &Answers::of(&evm, &decisions, &task.test.1), evm.classes().len());
    }
    Ok(())
}
