//! Train on UCI Letter, reduce, predict, save and load.
//!
//! `cargo run --release --example 1_fit`

mod letter;

use std::error::Error;

use evmachine::{Evm, Params, TailSize};

fn main() -> Result<(), Box<dyn Error>> {
    let (features, labels) = letter::read()?;
    let train: Vec<usize> = (0..15_000).collect();
    let test: Vec<usize> = (15_000..20_000).collect();

    let params = Params { tail_size: TailSize::Count(75), n_fused: 4, ..Params::plain() };
    let (evm, report) = Evm::fit(&params, &features.select(&train), &labels.select(&train))?;
    println!("{} rows, {} classes", report.rows, report.classes);
    println!("fits: {}", report.fits);
    println!("{} extreme vectors, vector ratio {:.3}", report.extreme_vectors, report.vector_ratio);
    println!("tails and fits {:.2?}, cover {:.2?}", report.times.tails, report.times.cover);

    let decisions = evm.decide(&features.select(&test))?;
    let right = decisions
        .iter()
        .zip(&test)
        .filter(|(decision, row)| evm.class_name(decision.best()) == labels.name(**row))
        .count();
    println!("accuracy on {} held-out letters: {:.4}", test.len(), right as f64 / test.len() as f64);

    let path = std::env::temp_dir().join("letter.safetensors");
    evm.save(&path)?;
    assert_eq!(Evm::load(&path)?, evm);
    println!("saved to {}", path.display());
    Ok(())
}
