//! Parameters chosen on training data alone, measured once on test data, beside the presets and the rivals.
//!
//! ```text
//! cargo run --release -p evmachine-cli --example tuned                       # UCI Letter, in the box
//! cargo run --release -p evmachine-cli --example tuned -- clinc CLINC.npz    # CLINC150 embeddings
//! cargo run --release -p evmachine-cli --example tuned -- tiny FOLDER 0      # Tiny-ImageNet features, seed 0
//! cargo run --release -p evmachine-cli --example tuned -- split FILE.npz euclidean   # X_train, y_train, X_test, y_test, X_unknown
//! ```
//!
//! `--trials N` at the end sets the number of trials; 60 unless given, 0 for the presets and rivals alone.

#![allow(clippy::disallowed_methods, reason = "no flags say where this is to run")]

mod figures;
mod sets;

use std::error::Error;
use std::ops::ControlFlow;
use std::time::Instant;

use evmachine::{Evm, Params, Probe, Run};
use evmachine_eval::{Answers, Contest, Evaluation, Linear, Rival, TrialSearch, TuneOptions, rivals, tune};
use figures::line;
use sets::Task;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut trials = 60;
    if let Some(position) = arguments.iter().position(|argument| argument == "--trials") {
        let value = arguments.drain(position..).nth(1).ok_or("--trials needs a number")?;
        trials = value.parse()?;
    }
    let task = sets::named(&arguments)?;
    let (features, labels) = &task.train;
    println!("{}, {}\n", task.name, task.metric.name());
    println!("| | ratio | accuracy | AUROC | OSCR | FPR95 |\n|---|---|---|---|---|---|");
    rival_lines(&task)?;
    let metric = task.metric.clone();
    let mut rows = vec![
        ("paper", Params { metric: metric.clone(), ..Params::paper() }),
        ("robust", Params::robust_for(metric.clone())),
    ];
    if trials > 0 {
        let base = Params { metric, ..Params::plain() };
        let options =
            TuneOptions { base, search: TrialSearch::Bayesian { trials }, ..TuneOptions::default() };
        let clock = Instant::now();
        let tuned = tune(features, labels, &options, &mut |_| ControlFlow::Continue(()))?;
        eprintln!("{trials} trials in {:.0} s", clock.elapsed().as_secs_f64());
        let mut folds: Vec<(String, f64)> =
            tuned.rivals.iter().map(|result| (result.rival.name(), result.mean)).collect();
        folds.extend(
            [("paper", &tuned.paper), ("robust", &tuned.robust), ("best", &tuned.best)]
                .map(|(name, trial)| (name.to_owned(), trial.mean)),
        );
        eprintln!("on the folds: {folds:.4?}");
        let small = tuned.sizes.iter().rfind(|trial| trial.vector_ratio <= 0.03);
        rows.push(("tuned, every point", tuned.best.params.clone()));
        rows.push(("tuned", tuned.params.clone()));
        rows.extend(small.map(|trial| ("tuned, two in a hundred", trial.params.clone())));
    }
    for (name, params) in &rows {
        let clock = Instant::now();
        let (evm, report) = Evm::fit(params, features, labels)?;
        let fitted = clock.elapsed().as_secs_f64();
        let decisions = evm.decide(&task.test.0)?;
        let answers = Answers::of(&evm, &decisions, &task.test.1);
        line(name, report.vector_ratio, &answers, evm.classes().len());
        let evaluation = Evaluation::new(&answers, evm.classes().len());
        eprintln!(
            "{name}: F1 {:.4}, known rejected {:.4}, unknown accepted {:.4}; fit {fitted:.2} s, calibration {:.2?}, penalty \
             {:?}, shares {:.3?}; {params:?}",
            evaluation.f1_micro,
            share(&answers, true),
            share(&answers, false),
            report.times.calibration,
            report.probe_penalty,
            report.shares,
        );
    }
    Ok(())
}

/// Known queries rejected, or unknown ones accepted, of all of their kind.
fn share(answers: &Answers, known: bool) -> f64 {
    let of_kind = |&row: &usize| answers.truth[row].is_some() == known;
    let rows: Vec<usize> = (0..answers.len()).filter(of_kind).collect();
    rows.iter().filter(|&&row| answers.accepted[row] != known).count() as f64 / rows.len().max(1) as f64
}

/// All rivals.
fn rival_lines(task: &Task) -> Result<(), Box<dyn Error>> {
    let (features, labels) = &task.train;
    let clock = Instant::now();
    let probe = Probe::fit_with(&Run::new(), &task.metric, features, labels)?;
    eprintln!("probe {:.2} s, penalty {}", clock.elapsed().as_secs_f64(), probe.penalty());
    let (weights, intercepts) = (probe.weights(), probe.intercepts());
    let truth = rivals::truth(labels, &task.test.1);
    let contest = Contest {
        metric: &task.metric,
        train: (features, labels),
        queries: &task.test.0,
        truth: &truth,
        linear: Some(Linear { weights: &weights, intercepts: &intercepts }),
    };
    for (rival, answers) in rivals::rivals(&contest, &Rival::ALL)? {
        line(&rival.name(), 1.0, &answers, labels.names().len());
    }
    Ok(())
}
