//! The open-world loop: pool the unknowns, choose what to label, label, update.
//!
//! `cargo run --release --example 3_update`

mod letter;

use std::error::Error;

use evmachine::{Evm, Params, Strategy, UnknownPool};

fn main() -> Result<(), Box<dyn Error>> {
    let (features, labels) = letter::read()?;
    let known = |row: &usize| "ABCDEGHKLNPRTVX".contains(labels.name(*row));
    let train: Vec<usize> = (0..15_000).filter(known).collect();
    let (mut evm, _) = Evm::fit(&Params::robust(), &features.select(&train), &labels.select(&train))?;

    // Detect.
    let stream: Vec<usize> = (15_000..17_500).collect();
    let decisions = evm.decide(&features.select(&stream))?;
    let unknown: Vec<usize> = stream
        .iter()
        .zip(&decisions)
        .filter(|(_, decision)| decision.class().is_none())
        .map(|(row, _)| *row)
        .collect();
    let mut pool = UnknownPool::new(features.columns());
    pool.add(&features.select(&unknown))?;
    println!("{} of {} letters are unknown", pool.len(), stream.len());

    // Choose and label. Samples are numbered as they came, so that sample i is row unknown[i].
    for suggestion in pool.suggest(&evm, Strategy::Coverage, 100)? {
        let name = labels.name(unknown[suggestion.sample as usize]);
        let same: Vec<u64> =
            suggestion.group.into_iter().filter(|&id| labels.name(unknown[id as usize]) == name).collect();
        pool.label(&same, name)?;
    }

    // Update.
    let (batch, names) = pool.take_labelled();
    let report = evm.update(&batch, &names)?;
    println!("learned {} samples; new classes: {}", report.rows, report.new_classes.join(" "));
    println!("{} Psi-models of other classes were refitted", report.refitted);

    let test: Vec<usize> = (17_500..20_000).filter(|row| !known(row)).collect();
    let decisions = evm.decide(&features.select(&test))?;
    let right = test
        .iter()
        .zip(&decisions)
        .filter(|(row, decision)| {
            decision.class().is_some_and(|class| evm.class_name(class) == labels.name(**row))
        })
        .count();
    println!("of {} letters that were unknown before, {right} are now named right", test.len());
    Ok(())
}
