//! Times of a fit at the sizes people come with, by the clock and of processors: `cargo run --release -p evmachine --example shapes -- 60000x512 --tail 1000`.

mod drawn;
mod processor;

use std::error::Error;
use std::time::Instant;

use evmachine::{Evm, Metric, Params, TailSize};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &'static str| drawn::option(&arguments, name);
    let number = |name: &str, or: usize| drawn::number(&arguments, name, or);
    let (rows, d) = drawn::shape(&arguments)?;
    let (classes, turns, tail) = (number("--classes", 300)?, number("--turns", 1)?, number("--tail", 0)?);
    let metric = match option("--metric").unwrap_or("cosine") {
        "cosine" => Metric::Cosine,
        "euclidean" => Metric::Euclidean,
        "manhattan" => Metric::Manhattan,
        other => return Err(format!("no metric is called {other}").into()),
    };
    let params = Params {
        metric,
        tail_size: if tail == 0 { TailSize::Auto } else { TailSize::Count(tail) },
        ..Params::paper()
    };
    let (features, labels) = drawn::clumps(rows, d, classes)?;
    for _ in 0..turns {
        let (clock, before) = (Instant::now(), processor::seconds());
        let (evm, report) = Evm::fit(&params, &features, &labels)?;
        let (fit, used) = (clock.elapsed().as_secs_f64(), processor::seconds() - before);
        println!(
            "fit {fit:.3} s ({used:.3} of processors), {:.3} s for tails",
            report.times.tails.as_secs_f64()
        );
        if option("--predict").is_some() {
            let clock = Instant::now();
            let known = evm.decide(&features)?.iter().filter(|decision| decision.class().is_some()).count();
            println!(
                "predict {:.3} s, {known} known of {} vectors",
                clock.elapsed().as_secs_f64(),
                evm.extreme_vector_count()
            );
        }
    }
    Ok(())
}
