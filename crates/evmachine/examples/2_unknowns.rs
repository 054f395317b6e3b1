//! Meet letters that were never seen: reject them, and explain why.
//!
//! `cargo run --release --example 2_unknowns`

mod letter;

use std::error::Error;

use evmachine::{Evm, Params};

fn main() -> Result<(), Box<dyn Error>> {
    let (features, labels) = letter::read()?;
    let known = |row: &usize| "ABCDEGHKLNPRTVX".contains(labels.name(*row));
    let train: Vec<usize> = (0..15_000).filter(known).collect();
    let (evm, report) = Evm::fit(&Params::robust(), &features.select(&train), &labels.select(&train))?;
    println!("trained on {} letters of {} kinds", report.rows, report.classes);

    let (old, new): (Vec<usize>, Vec<usize>) = (15_000..20_000).partition(known);
    for (what, rows) in [("known", &old), ("never seen", &new)] {
        let decisions = evm.decide(&features.select(rows))?;
        let rejected = decisions.iter().filter(|decision| decision.class().is_none()).count();
        println!("{what}: {rejected} of {} called unknown", rows.len());
    }

    let row = new[0];
    let why = evm.explain(&features.select(&[row]), 2)?.remove(0);
    println!(
        "\nwhy is row {row}, a {}, {:?}?",
        labels.name(row),
        why.decision.class().map(|c| evm.class_name(c))
    );
    for class in &why.classes {
        let speaker = class.extreme_vectors[0];
        println!(
            "  {}: probability {:.3e}; its nearest extreme vector, training row {}, is {:.2} away and reaches {:.2}",
            evm.class_name(class.class),
            class.probability,
            train[speaker.source as usize],
            speaker.distance,
            speaker.radius
        );
    }
    println!("  it would have to move by {:.2} to change sides", why.distance_to_boundary);
    Ok(())
}
