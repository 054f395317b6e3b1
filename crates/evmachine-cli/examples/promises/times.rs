//! How long fits take, by size.

use std::error::Error;
use std::fmt::Write;
use std::time::Instant;

use evmachine::{Evm, Metric, Params, Rejection};

use crate::drawn::Source;

pub(crate) fn run() -> Result<bool, Box<dyn Error>> {
    println!("| rows x dimensions, classes | the paper's delta | default | robust |\n|---|---|---|---|");
    for (rows, dimensions, classes) in [(15_000, 128, 150), (60_000, 128, 200), (200_000, 64, 500)] {
        let mut source = Source::new(3, vec![rows / classes; classes], dimensions, 1.0);
        let (features, labels) = source.training(&(0..classes).collect::<Vec<_>>())?;
        let metric = Metric::Cosine;
        let paper = Params { rejection_threshold: Rejection::Probability(0.05), ..Params::plain() };
        let mut line = format!("| {rows} x {dimensions}, {classes}");
        for params in [paper, Params::plain(), Params::robust()] {
            let params = Params { metric: metric.clone(), ..params };
            let clock = Instant::now();
            Evm::fit(&params, &features, &labels)?;
            write!(line, " | {:.2} s", clock.elapsed().as_secs_f64())?;
        }
        println!("{line} |");
    }
    Ok(true)
}
