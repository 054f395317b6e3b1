//! What an edit of one row costs beside the fit, to a model that has answered before, and to one that has not (`--cold`):
//! `cargo run --release -p evmachine --example edits -- 100000x384 --tail 200`.

mod drawn;

use std::error::Error;
use std::time::Instant;

use evmachine::{Edit, Evm, Features, Metric, Params, TailSize};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (rows, d) = drawn::shape(&arguments)?;
    let (classes, tail) =
        (drawn::number(&arguments, "--classes", 300)?, drawn::number(&arguments, "--tail", 200)?);
    let params = Params {
        metric: Metric::Cosine,
        tail_size: TailSize::Count(tail),
        cover_threshold: 1.0,
        rejection_threshold: if drawn::option(&arguments, "--paper").is_some() {
            Params::paper().rejection_threshold
        } else {
            Params::default().rejection_threshold
        },
        ..Params::paper()
    };
    let (features, labels) = drawn::clumps(rows, d, classes)?;
    let clock = Instant::now();
    let (evm, _) = Evm::fit(&params, &features, &labels)?;
    let fit = clock.elapsed().as_secs_f64();
    if drawn::option(&arguments, "--cold").is_none() {
        evm.decide(&features.select(&[0]))?;
    }
    println!("fit {fit:.2} s, {} extreme vectors, tails {:?}", evm.extreme_vector_count(), evm.tail_memory());
    let edits = [
        ("rename", Edit::Rename { class: "class 0".into(), to: "renamed".into() }),
        ("relabel", Edit::Relabel { rows: vec![17], class: "class 1".into() }),
        ("unlearn", Edit::Unlearn { rows: vec![17] }),
        ("set aside", Edit::SetAside { rows: vec![17] }),
        ("ignore", Edit::Ignore { rows: vec![17] }),
    ];
    for (name, edit) in edits {
        let mut edited = evm.clone();
        let clock = Instant::now();
        let report = edited.edit(&edit)?;
        let time = clock.elapsed().as_secs_f64();
        println!("{name:<10} {time:.3} s, 1/{:.0} of the fit, {} fitted again", fit / time, report.refitted);
        if name == "set aside" {
            let clock = Instant::now();
            edited.edit(&Edit::Restore { rows: vec![17] })?;
            let time = clock.elapsed().as_secs_f64();
            println!("{:<10} {time:.3} s, 1/{:.0} of the fit", "restore", fit / time);
        }
    }
    let mut edited = evm.clone();
    let stranger = Features::new(features.row(17).iter().map(|value| value + 0.3).collect::<Vec<f32>>(), d)?;
    let clock = Instant::now();
    edited.ignore(&stranger)?;
    let time = clock.elapsed().as_secs_f64();
    println!("{:<10} {time:.3} s, 1/{:.0} of the fit", "stranger", fit / time);
    Ok(())
}
