//! What the robust preset takes beside the same machine in feature space alone.
//!
//! `cargo run --release -p evmachine --example robust_speed -- [ROWS DIMENSIONS CLASSES]...`

#[allow(dead_code, reason = "examples share it, and not all of it")]
mod drawn;

use std::time::Instant;

use evmachine::{Evm, Metric, Params, Weight};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<usize> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let sizes: Vec<[usize; 3]> = if numbers.is_empty() {
        vec![[15_000, 384, 150], [60_000, 128, 200], [100_000, 64, 1_000], [20_000, 32, 10_000]]
    } else {
        numbers.chunks_exact(3).map(|size| [size[0], size[1], size[2]]).collect()
    };
    println!(
        "rows x dimensions, classes: features alone, robust (ratio); predicting 1,000 rows: alone, robust"
    );
    for [rows, dimensions, classes] in sizes {
        let (features, labels) = drawn::clumps(rows, dimensions, classes)?;
        let queries = features.part(0..rows.min(1_000));
        let robust = Params::robust_for(Metric::Cosine);
        let nothing = Weight::Fixed(0.0);
        let alone =
            Params { logit_weight: nothing, probe_weight: nothing, forest_weight: nothing, ..robust.clone() };
        let mut seconds = [0.0; 4];
        for (number, params) in [alone, robust].iter().enumerate() {
            let clock = Instant::now();
            let (evm, report) = Evm::fit(params, &features, &labels)?;
            seconds[number] = clock.elapsed().as_secs_f64();
            eprintln!("{:?} {:?}", report.times, report.shares);
            let clock = Instant::now();
            evm.decide(&queries)?;
            seconds[2 + number] = clock.elapsed().as_secs_f64();
        }
        let [alone, robust, asked_alone, asked] = seconds;
        println!(
            "{rows} x {dimensions}, {classes}: {alone:.2} s, {robust:.2} s ({:.2}); {:.1} ms, {:.1} ms",
            robust / alone,
            1e3 * asked_alone,
            1e3 * asked
        );
    }
    Ok(())
}
