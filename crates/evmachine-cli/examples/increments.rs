//! A hundred updates one after the other, next to a fit to all the same rows.
//!
//! ```text
//! cargo run --release -p evmachine-cli --example increments                       # UCI Letter, in the box
//! cargo run --release -p evmachine-cli --example increments -- clinc CLINC.npz    # CLINC150 embeddings
//! ```
//!
//! Half of the classes and half of their rows are learned first; each update brings one row in a hundred of what is left, and the classes
//! that are missing begin one after the other, all of them by the middle. `--updates N` sets how many updates there are, `--keep-all`
//! keeps every row.

#![allow(clippy::disallowed_methods, reason = "no flags say where this is to run")]

#[allow(dead_code, reason = "examples share it, and not all of it")]
mod sets;

use std::error::Error;
use std::time::Instant;

use evmachine::{Evm, Features, Labels, Params};
use evmachine_eval::{Answers, Evaluation};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use sets::Task;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut updates = 100;
    if let Some(position) = arguments.iter().position(|argument| argument == "--updates") {
        updates = arguments.get(position + 1).ok_or("--updates needs a number")?.parse()?;
        arguments.drain(position..position + 2);
    }
    let keeps_all = arguments.iter().any(|argument| argument == "--keep-all");
    arguments.retain(|argument| argument != "--keep-all");
    let task = sets::named(&arguments)?;
    let (features, labels) = &task.train;
    let params = Params::robust_for(task.metric.clone());
    let params = if keeps_all { params.keeping_all() } else { params };
    println!("{}, {}, {updates} updates\n", task.name, task.metric.name());
    println!(
        "| | rows | classes | seconds | extreme vectors | OSCR | known rejected |\n|---|---:|---:|---:|---:|---:|---:|"
    );
    let parts = parts(labels, updates);
    let select = |rows: &[usize]| (features.select(rows), labels.select(rows));
    let mut seconds = Vec::new();
    let first = select(&parts[0]);
    let mut evm = fitted("first fit", &params, (&first.0, &first.1), &task)?;
    let mut rows = parts[0].len();
    for (number, part) in parts.iter().enumerate().skip(1) {
        let (features, labels) = select(part);
        let clock = Instant::now();
        evm.update(&features, &labels)?;
        seconds.push(clock.elapsed().as_secs_f64());
        rows += part.len();
        if number % updates.div_ceil(4) == 0 || number == updates {
            let last = seconds.last().copied().unwrap_or_default();
            line(&format!("update {number}"), rows, last, &evm, &task)?;
        }
    }
    let all = select(&parts.concat());
    fitted("fit to all rows", &params, (&all.0, &all.1), &task)?;
    seconds.sort_unstable_by(f64::total_cmp);
    println!(
        "\nseconds of an update: median {:.3}, most {:.3}, all {:.2}",
        seconds[seconds.len() / 2],
        seconds[seconds.len() - 1],
        seconds.iter().sum::<f64>()
    );
    Ok(())
}

/// The rows of the first fit, and those of each update.
fn parts(labels: &Labels, updates: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.shuffle(&mut StdRng::seed_from_u64(1));
    let early = labels.names().len().div_ceil(2);
    let late = labels.names().len() - early;
    let mut parts = vec![Vec::new(); updates + 1];
    let mut seen = vec![0usize; labels.names().len()];
    let mut counts = vec![0usize; labels.names().len()];
    labels.ids().iter().for_each(|&class| counts[class as usize] += 1);
    for row in order {
        let class = labels.ids()[row] as usize;
        let (place, of) = (seen[class], counts[class]);
        seen[class] += 1;
        let part = if class < early {
            // Half of the rows first, the others spread over all updates.
            if 2 * place < of { 0 } else { 1 + (2 * place - of) * updates / of.max(1) }
        } else {
            let begins = 1 + (class - early) * updates / (2 * late);
            begins + place * (updates + 1 - begins) / of
        };
        parts[part.min(updates)].push(row);
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn fitted(
    name: &str,
    params: &Params,
    (features, labels): (&Features<'_>, &Labels),
    task: &Task,
) -> Result<Evm, Box<dyn Error>> {
    let clock = Instant::now();
    let (evm, _) = Evm::fit(params, features, labels)?;
    line(name, labels.len(), clock.elapsed().as_secs_f64(), &evm, task)?;
    Ok(evm)
}

fn line(name: &str, rows: usize, seconds: f64, evm: &Evm, task: &Task) -> Result<(), Box<dyn Error>> {
    let answers = Answers::of(evm, &evm.decide(&task.test.0)?, &task.test.1);
    let evaluation = Evaluation::new(&answers, evm.classes().len());
    let known = answers.truth.iter().zip(&answers.accepted).filter(|(truth, _)| truth.is_some());
    let (count, rejected) = known
        .fold((0u32, 0u32), |(count, rejected), (_, accepted)| (count + 1, rejected + u32::from(!accepted)));
    println!(
        "| {name} | {rows} | {} | {seconds:.3} | {} | {} | {:.1} % |",
        evm.classes().len(),
        evm.extreme_vector_count(),
        evaluation.oscr.map_or_else(|| "-".to_owned(), |oscr| format!("{oscr:.4}")),
        100.0 * f64::from(rejected) / f64::from(count.max(1)),
    );
    Ok(())
}
