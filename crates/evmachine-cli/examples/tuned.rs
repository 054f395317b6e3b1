//! Parameters chosen on training data alone, measured once on test data, beside the presets and the rivals.
//!
//! ```text
//! cargo run --release -p evmachine-cli --example tuned                       # UCI Letter, in the box
//! cargo run --release -p evmachine-cli --example tuned -- clinc CLINC.npz    # CLINC150 embeddings
//! cargo run --release -p evmachine-cli --example tuned -- tiny FOLDER 0      # Tiny-ImageNet features, seed 0
//! ```
//!
//! `--trials N` at the end sets the number of trials; 200 unless given.

mod sets;

use std::error::Error;
use std::ops::ControlFlow;
use std::time::Instant;

use evmachine::{Evm, Params};
use evmachine_eval::{Answers, Contest, Evaluation, Rival, Search, TuneOptions, rivals, tune};
use sets::{Task, line};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut trials = 200;
    if let Some(position) = arguments.iter().position(|argument| argument == "--trials") {
        let value = arguments.drain(position..).nth(1).ok_or("--trials needs a number")?;
        trials = value.parse()?;
    }
    let task = sets::named(&arguments)?;
    let base = Params { metric: task.metric.clone(), ..Params::default() };
    let options = TuneOptions { base, search: Search::Bayesian { trials }, ..TuneOptions::default() };
    let clock = Instant::now();
    let (features, labels) = &task.train;
    let tuned = tune(features, labels, &options, &mut |_, _, _| ControlFlow::Continue(()))?;
    println!(
        "{}, {}: {trials} trials in {:.0} s\n",
        task.name,
        task.metric.name(),
        clock.elapsed().as_secs_f64()
    );
    println!("| | ratio | accuracy | AUROC | OSCR |\n|---|---|---|---|---|");
    let metric = task.metric.clone();
    rival_lines(&task, &tuned.rivals.iter().map(|result| (result.rival, result.mean)).collect::<Vec<_>>())?;
    let small = tuned.sizes.iter().rfind(|trial| trial.vector_ratio <= 0.03);
    let mut rows = vec![
        ("paper", Params { metric: metric.clone(), ..Params::default() }),
        ("robust", Params::robust_for(metric)),
        ("tuned, every point", tuned.best.params.clone()),
        ("tuned, within one standard error", tuned.params.clone()),
    ];
    rows.extend(small.map(|trial| ("tuned, two in a hundred", trial.params.clone())));
    for (name, params) in &rows {
        let (evm, report) = Evm::fit(params, features, labels)?;
        let decisions = evm.decide(&task.test.0)?;
        let answers = Answers::of(&evm, &decisions, &task.test.1);
        line(name, report.vector_ratio, &answers, evm.classes().len());
        let evaluation = Evaluation::new(&answers, evm.classes().len());
        eprintln!("{name}: F1 {:.4} at its delta; {params:?}", evaluation.f1_micro);
    }
    Ok(())
}

/// 1-NN, the k-NN that was best on the folds, and the nearest class mean.
fn rival_lines(task: &Task, on_folds: &[(Rival, f64)]) -> Result<(), Box<dyn Error>> {
    let best = on_folds
        .iter()
        .filter_map(|&(rival, mean)| match rival {
            Rival::NearestNeighbors(k) if k > 1 => Some((k, mean)),
            _ => None,
        })
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let neighbors = [1].into_iter().chain(best.map(|(k, _)| k)).map(Rival::NearestNeighbors);
    let chosen: Vec<Rival> = neighbors.chain([Rival::NearestClassMean]).collect();
    let (features, labels) = (&task.train.0, &task.train.1);
    let truth = rivals::truth(labels, &task.test.1);
    let contest = Contest {
        metric: &task.metric,
        train: (features, labels),
        queries: &task.test.0,
        truth: &truth,
        linear: None,
    };
    for (rival, answers) in rivals::rivals(&contest, &chosen)? {
        line(&rival.name(), 1.0, &answers, labels.names().len());
    }
    Ok(())
}
