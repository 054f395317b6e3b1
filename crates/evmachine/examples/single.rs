//! How long one query takes: through a decider, as a batch of one, and both next to a fit that keeps all threads busy.
//!
//! `cargo run --release -p evmachine --example single -- [ROWS DIMENSIONS CLASSES]...`

#[allow(dead_code, reason = "examples share it, and not all of it")]
mod drawn;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use evmachine::{Evm, Features, Metric, Params, Run, Stage};

/// Queries that are timed.
const ASKED: usize = 4_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<usize> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let sizes: Vec<[usize; 3]> = if numbers.is_empty() {
        vec![[10_000, 128, 100]]
    } else {
        numbers.chunks_exact(3).map(|size| [size[0], size[1], size[2]]).collect()
    };
    println!(
        "| rows x columns, classes | model | extreme vectors | p50, us | p99, us | in batches of 1,000, us | p50 / p99 next to a fit, us |\n|---|---|---:|---:|---:|---:|---:|"
    );
    for [rows, dimensions, classes] in sizes {
        let (features, labels) = drawn::clumps(rows, dimensions, classes)?;
        let robust = Params::robust_for(Metric::Cosine);
        let plain = Params { metric: Metric::Cosine, ..Params::plain() };
        for (name, params) in [
            ("`robust`", robust.clone()),
            ("`robust`, every row kept", robust.clone().keeping_all()),
            ("`plain`", plain),
        ] {
            let (evm, _) = Evm::fit(&params, &features, &labels)?;
            let alone = times(&evm, &features)?;
            let clock = Instant::now();
            evm.decide(&features.part(0..1_000))?;
            let together = clock.elapsed() / 1_000;
            let (done, ready) = (AtomicBool::new(false), AtomicBool::new(false));
            let beside = std::thread::scope(|scope| {
                scope.spawn(|| {
                    let stop = |_: Stage, _: u64, _: u64| {
                        ready.store(true, Ordering::Relaxed);
                        if done.load(Ordering::Relaxed) {
                            std::ops::ControlFlow::Break(())
                        } else {
                            std::ops::ControlFlow::Continue(())
                        }
                    };
                    while !done.load(Ordering::Relaxed) {
                        let _ = Evm::fit_with(&Run::new().observer(&stop), &params, &features, &labels);
                    }
                });
                while !ready.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                let times = times(&evm, &features);
                done.store(true, Ordering::Relaxed);
                times
            })?;
            let microseconds = |time: Duration| format!("{:.0}", 1e6 * time.as_secs_f64());
            let share =
                |times: &[Duration], share: f64| microseconds(times[(share * times.len() as f64) as usize]);
            println!(
                "| {rows} x {dimensions}, {classes} | {name} | {} | {} | {} | {} | {} / {} |",
                evm.extreme_vector_count(),
                share(&alone, 0.5),
                share(&alone, 0.99),
                microseconds(together),
                share(&beside, 0.5),
                share(&beside, 0.99),
            );
        }
    }
    Ok(())
}

/// Times of single queries, sorted.
fn times(evm: &Evm, features: &Features<'_>) -> Result<Vec<Duration>, Box<dyn std::error::Error>> {
    let mut decider = evm.decider()?;
    let mut times = Vec::with_capacity(ASKED);
    for query in features.iter().cycle().step_by(7).take(ASKED) {
        let clock = Instant::now();
        decider.decide(query)?;
        times.push(clock.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}
