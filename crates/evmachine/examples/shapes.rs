//! Times of a fit at the sizes people come with, by the clock and of processors: `cargo run --release -p evmachine --example shapes -- 60000x512 --tail 1000`.

mod processor;

use std::error::Error;
use std::time::Instant;

use evmachine::{Evm, Features, Labels, Metric, Params, TailSize};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option =
        |name: &str| arguments.iter().position(|argument| argument == name).map(|at| &arguments[at + 1]);
    let number = |name: &str, or: usize| option(name).map_or(Ok(or), |text| text.parse());
    let (rows, d) =
        arguments.first().and_then(|shape| shape.split_once('x')).ok_or("a shape, as 60000x512")?;
    let (rows, d): (usize, usize) = (rows.parse()?, d.parse()?);
    let (classes, turns, tail) = (number("--classes", 300)?, number("--turns", 1)?, number("--tail", 0)?);
    let metric = match option("--metric").map_or("cosine", String::as_str) {
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
    let (features, labels) = clumps(rows, d, classes)?;
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

fn clumps(rows: usize, d: usize, classes: usize) -> Result<(Features<'static>, Labels), Box<dyn Error>> {
    let mut state = 7u64;
    let mut random = move || {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / 16_777_216.0
        };
        next() + next() + next() - 1.5
    };
    let centres: Vec<f32> = (0..classes * d).map(|_| random()).collect();
    let values =
        (0..rows * d).map(|at| centres[at / d % classes * d + at % d] + random()).collect::<Vec<f32>>();
    let names = (0..rows).map(|row| format!("class {}", row % classes));
    Ok((Features::new(values, d)?, Labels::new(names)?))
}
