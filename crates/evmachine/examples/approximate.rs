//! How long approximate search takes beside exact, by the number of rows, and what it costs:
//! `cargo run --release -p evmachine --example approximate -- 100000 200000 400000 [--recall 0.99] [--tail 200] [--decay 0.7] [--exact 400000]`.
//!
//! 1,000 classes of 64 dimensions, whose i-th has a deviation of `i^-decay` between classes and 0.6 of that within them: 0 is noise
//! alike in all directions, 0.5 to 1 what embeddings have. 4,000 more rows of them and 4,000 of 1,000 unknown classes are asked about.
//! Both searches are run up to the number of rows after `--exact`, the approximate one alone beyond it. Seconds are by the clock, then
//! of processors.

#[allow(dead_code, reason = "examples share it, and not all of it")]
mod drawn;
mod processor;

use std::error::Error;
use std::time::Instant;

use drawn::{number, option};
use evmachine::{Decision, Evm, Features, FitError, Labels, Params, Search, TailSize};
use rayon::prelude::*;

const CLASSES: usize = 1_000;
const DIMENSIONS: usize = 64;
const QUERIES: usize = 8_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sizes: Vec<usize> = arguments.iter().map_while(|argument| argument.parse().ok()).collect();
    let decimal = |name: &str, or: f64| option(&arguments, name).map_or(Ok(or), str::parse);
    let (recall, decay) = (decimal("--recall", 0.99)?, decimal("--decay", 0.7)?);
    let exact_up_to = number(&arguments, "--exact", 400_000)?;
    let tail_size = TailSize::Count(number(&arguments, "--tail", 200)?);
    let queries = rows_of(decay, QUERIES, 2 * CLASSES, 1 << 40)?;
    let mut before: Vec<(Search, usize, f64)> = Vec::new();
    for rows in sizes {
        let features = rows_of(decay, rows, CLASSES, 0)?;
        let labels = Labels::new((0..rows).map(|row| format!("{}", row % CLASSES)))?;
        for search in [Search::Exact, Search::Approximate(recall)] {
            if search == Search::Exact && rows > exact_up_to {
                continue;
            }
            let params = Params { tail_size, search, ..Params::paper() };
            let (clock, spent) = (Instant::now(), processor::seconds());
            let (evm, report) = match Evm::fit(&params, &features, &labels) {
                Err(error @ (FitError::RecallNotReached { .. } | FitError::TailsTooLong { .. })) => {
                    println!("{rows} {search:?}: refused in {:.1} s: {error}", clock.elapsed().as_secs_f64());
                    continue;
                }
                fitted => fitted?,
            };
            let tails = report.times.tails.as_secs_f64();
            println!(
                "{rows} {search:?}: fit {:.1} s ({:.1}), tails {tails:.1}, cover {:.1}; {} extreme vectors",
                clock.elapsed().as_secs_f64(),
                processor::seconds() - spent,
                report.times.cover.as_secs_f64(),
                report.extreme_vectors,
            );
            let same = |found: &&(Search, usize, f64)| found.0 == search;
            if let Some((_, fewer, time)) = before.iter().rfind(same) {
                let exponent = (tails / time).ln() / (rows as f64 / *fewer as f64).ln();
                println!("  tails grow with the power {exponent:.2} of rows from {fewer}");
            }
            before.push((search, rows, tails));
            report.recall.iter().for_each(|recall| println!("  {recall}"));
            let clock = Instant::now();
            let prepared = evm.decision_recall()?;
            let (indexed, clock) = (clock.elapsed().as_secs_f64(), Instant::now());
            let decisions = evm.decide(&queries)?;
            let (accuracy, oscr) = figures(&decisions, &evm);
            println!(
                "  {} queries in {:.3} s after {indexed:.2} s; accuracy {accuracy:.4}, OSCR {oscr:.4}",
                decisions.len(),
                clock.elapsed().as_secs_f64(),
            );
            if let Some(recall) = &prepared {
                println!("  {recall}");
            }
        }
    }
    Ok(())
}

/// The share of known queries whose best class is theirs, and the area under it against the share of unknown ones accepted, over
/// all thresholds. Query `i` is of class `i % 2000`, of which the first half is known.
fn figures(decisions: &[Decision], evm: &Evm) -> (f64, f64) {
    let mut order: Vec<usize> = (0..decisions.len()).collect();
    order.sort_by(|&a, &b| decisions[b].score().support.total_cmp(&decisions[a].score().support));
    let (mut right, mut area) = (0.0, 0.0);
    for query in order {
        let class = query % (2 * CLASSES);
        if class >= CLASSES {
            area += right;
        } else if evm.class_name(decisions[query].best()) == class.to_string() {
            right += 1.0;
        }
    }
    let half = decisions.len() as f64 / 2.0;
    (right / half, area / half / half)
}

/// Rows of so many classes in turn, drawn from numbers from `first` on.
fn rows_of(decay: f64, rows: usize, classes: usize, first: u64) -> Result<Features<'static>, Box<dyn Error>> {
    let add = |vector: &mut [f32], seed: u64, width: f64| {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for (number, value) in (1..).zip(vector) {
            // The sum of four uniform numbers is near enough to a normal one.
            let mut sum = -2.0;
            for _ in 0..4 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                sum += (state >> 40) as f64 / 16_777_216.0;
            }
            *value += (sum * 1.732 * width * f64::from(number).powf(-decay)) as f32;
        }
    };
    let mut centres = vec![0.0f32; classes * DIMENSIONS];
    centres.chunks_exact_mut(DIMENSIONS).zip(77..).for_each(|(centre, seed)| add(centre, seed, 1.0));
    let mut values = vec![0.0f32; rows * DIMENSIONS];
    values.par_chunks_exact_mut(DIMENSIONS).enumerate().for_each(|(row, vector)| {
        vector.copy_from_slice(&centres[row % classes * DIMENSIONS..][..DIMENSIONS]);
        add(vector, first + 100_000 + row as u64, 0.6);
    });
    Ok(Features::new(values, DIMENSIONS)?)
}
