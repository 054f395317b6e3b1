//! What approximate search costs on real sets: accuracy and OSCR beside those of an exact search, for several recalls.
//!
//! ```text
//! cargo run --release -p evmachine-cli --example searched -- clinc CLINC.npz
//! cargo run --release -p evmachine-cli --example searched -- tiny FOLDER 0
//! ```
//!
//! The sets are small, so that a search that need not be exact has to be told to begin with a thousand rows.

#![allow(clippy::disallowed_methods, reason = "no flags say where this is to run")]

mod figures;
mod sets;

use std::error::Error;

use evmachine::{Evm, FitError, Params, Run, Search, TailSize};
use evmachine_eval::Answers;
use figures::line;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let task = sets::named(&arguments)?;
    let (features, labels) = &task.train;
    println!("{}, {}, {} rows\n", task.name, task.metric.name(), features.rows());
    println!("| | ratio | accuracy | AUROC | OSCR | FPR95 |\n|---|---|---|---|---|---|");
    let run = Run::new().approximate_from(1_000);
    for tail in [75, 200] {
        for search in [Search::Exact].into_iter().chain([0.99, 0.95, 0.9, 0.7].map(Search::Approximate)) {
            let tail_size = TailSize::Count(tail);
            let params = Params {
                metric: task.metric.clone(),
                tail_size,
                search,
                cover_threshold: 1.0,
                ..Params::paper()
            };
            let (evm, report) = match Evm::fit_with(&run, &params, features, labels) {
                Err(error @ FitError::RecallNotReached { .. }) => {
                    eprintln!("tail {tail}, {search:?}: {error}");
                    continue;
                }
                fitted => fitted?,
            };
            let decisions = evm.decide_with(&run, &task.test.0)?;
            let answers = Answers::of(&evm, &decisions, &task.test.1);
            line(&format!("tail {tail}, {search:?}"), report.vector_ratio, &answers, evm.classes().len());
            if let Some(recall) = report.recall {
                eprintln!("tail {tail}, {search:?}: {recall}");
            }
            if let Some(recall) = evm.decision_recall_with(&run)? {
                eprintln!("tail {tail}, {search:?}: {recall}");
            }
        }
    }
    Ok(())
}
