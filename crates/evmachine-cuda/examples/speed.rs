//! How long fits and predictions take on a device, and on the processor beside it.
//!
//! `cargo run --release -p evmachine-cuda --example speed -- fit 64800x4096 --classes 50 --tail 33998 [--batches 4] [--processor]`
//! `cargo run --release -p evmachine-cuda --example speed -- predict 1000000 75000x384 [--processor]`

use std::time::Instant;

use evmachine::{Evm, Features, Labels, Metric, Params, Run, TailModel, TailSize};
use evmachine_cuda::Cuda;
use rayon::prelude::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |flag: &str| {
        arguments.iter().position(|argument| argument == flag).map(|at| arguments[at + 1].clone())
    };
    let number = |flag: &str, default: usize| value(flag).map_or(Ok(default), |value| value.parse());
    let processor = arguments.iter().any(|argument| argument == "--processor");
    let clock = Instant::now();
    let device =
        if processor { None } else { Some(Cuda::open(value("--device").map_or(Ok(0), |n| n.parse())?)?) };
    println!("{device:?} opened in {:.3} s", clock.elapsed().as_secs_f64());
    let run = device.as_ref().map_or(Run::new(), |device| Run::new().device(device));
    let classes = number("--classes", 50)?;
    let metric = value("--metric").and_then(|name| Metric::from_name(&name)).unwrap_or(Metric::Cosine);
    let (rows, dimensions) =
        shape(arguments.iter().find(|argument| argument.contains('x')).ok_or("no shape")?)?;
    match arguments.first().map(String::as_str) {
        Some("fit") => {
            let tail_size = TailSize::Count(number("--tail", 1_000)?);
            let params = Params { metric, tail_size, tail_model: TailModel::Libmr, ..Params::paper() };
            let batches = number("--batches", 1)?;
            let turns = number("--turns", 2)?;
            let sets: Vec<(Features<'static>, Labels)> = (0..batches)
                .map(|batch| drawn(batch, classes, rows, dimensions))
                .collect::<Result<_, _>>()?;
            for turn in 0..turns {
                let clock = Instant::now();
                let mut model: Option<Evm> = None;
                for (batch, (features, labels)) in sets.iter().enumerate() {
                    let clock = Instant::now();
                    let (next, report) = match &model {
                        None => Evm::fit_with(&run, &params, features, labels)?,
                        Some(model) => model.updated_with(&run, features, labels)?,
                    };
                    println!(
                        "turn {turn}, batch {batch}: {:.3} s; tails {:.3}, refit {:.3}, cover {:.3}; {} of {} rows kept; {}",
                        clock.elapsed().as_secs_f64(),
                        report.times.tails.as_secs_f64(),
                        report.times.refit.as_secs_f64(),
                        report.times.cover.as_secs_f64(),
                        report.extreme_vectors,
                        next.points_seen(),
                        report.plans[0],
                    );
                    model = Some(next);
                }
                println!("turn {turn}: {:.3} s", clock.elapsed().as_secs_f64());
            }
        }
        Some("predict") => {
            let queries = drawn(9, classes, arguments[1].parse()?, dimensions)?.0;
            let (features, labels) = drawn(0, classes, rows, dimensions)?;
            let params =
                Params { metric, cover_threshold: 1.0, tail_size: TailSize::Count(100), ..Params::paper() };
            let (model, _) = Evm::fit_with(&run, &params, &features, &labels)?;
            for turn in 0..number("--turns", 2)? {
                let clock = Instant::now();
                let decisions = model.decide_with(&run, &queries)?;
                let seconds = clock.elapsed().as_secs_f64();
                let known = decisions.iter().filter(|decision| decision.class().is_some()).count();
                let products =
                    2.0 * decisions.len() as f64 * model.extreme_vector_count() as f64 * dimensions as f64;
                println!(
                    "turn {turn}: {seconds:.3} s, {:.0} queries/s against {} vectors, {:.1} TFLOP/s of products; {known} known",
                    decisions.len() as f64 / seconds,
                    model.extreme_vector_count(),
                    products / seconds / 1e12,
                );
            }
        }
        _ => return Err("fit or predict".into()),
    }
    Ok(())
}

fn shape(text: &str) -> Result<(usize, usize), Box<dyn std::error::Error>> {
    let (rows, dimensions) = text.split_once('x').ok_or("ROWSxDIMENSIONS")?;
    Ok((rows.parse()?, dimensions.parse()?))
}

/// Clusters of unlike centers, drawn on all threads.
fn drawn(
    batch: usize,
    classes: usize,
    rows: usize,
    dimensions: usize,
) -> Result<(Features<'static>, Labels), Box<dyn std::error::Error>> {
    let fill = |values: &mut [f32], seed: u64| {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for value in values {
            // The sum of four uniform numbers is near enough to a normal one.
            let mut sum = -2.0;
            for _ in 0..4 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                sum += (state >> 40) as f32 / 16_777_216.0;
            }
            *value += sum * 1.732;
        }
    };
    let mut centers = vec![0.0; classes * dimensions];
    fill(&mut centers, 77 + batch as u64);
    let mut values = vec![0.0f32; rows * dimensions];
    values.par_chunks_exact_mut(dimensions).enumerate().for_each(|(row, vector)| {
        let class = row % classes;
        vector.copy_from_slice(&centers[class * dimensions..(class + 1) * dimensions]);
        fill(vector, (batch * rows + row + 1000) as u64);
    });
    let labels = Labels::new((0..rows).map(|row| format!("{batch}.{}", row % classes)))?;
    Ok((Features::new(values, dimensions)?, labels))
}
