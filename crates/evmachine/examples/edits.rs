//! What an edit of one row costs beside the fit, to a model that has answered before, and to one that has not (`--cold`):
//! `cargo run --release -p evmachine --example edits -- 100000x384 --tail 200`.

mod drawn;
mod processor;

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
            Params::plain().rejection_threshold
        },
        ..Params::paper()
    };
    let (features, labels) = drawn::clumps(rows, d, classes)?;
    let clock = Clock::start();
    let (evm, _) = Evm::fit(&params, &features, &labels)?;
    let fit = clock.read();
    if drawn::option(&arguments, "--cold").is_none() {
        evm.decide(&features.select(&[0]))?;
    }
    let Reading { wall, processor } = fit;
    println!(
        "fit {wall:.2} s, {processor:.2} s of processors; {} extreme vectors",
        evm.extreme_vector_count()
    );
    let edits = [
        ("rename", Edit::Rename { class: "class 0".into(), to: "renamed".into() }),
        ("relabel", Edit::Relabel { rows: vec![17], class: "class 1".into() }),
        ("unlearn", Edit::Unlearn { rows: vec![17] }),
        ("set aside", Edit::SetAside { rows: vec![17] }),
        ("ignore", Edit::Ignore { rows: vec![17] }),
    ];
    for (name, edit) in edits {
        let mut edited = evm.clone();
        let clock = Clock::start();
        let report = edited.edit(&edit)?;
        clock.read().say(name, &fit, report.refitted);
        if name == "set aside" {
            if drawn::option(&arguments, "--cold").is_none() {
                edited.decide(&features.select(&[0]))?;
            }
            let clock = Clock::start();
            let report = edited.edit(&Edit::Restore { rows: vec![17] })?;
            clock.read().say("restore", &fit, report.refitted);
        }
    }
    let mut edited = evm.clone();
    let stranger = Features::new(features.row(17).iter().map(|value| value + 0.3).collect::<Vec<f32>>(), d)?;
    let clock = Clock::start();
    let report = edited.ignore(&stranger)?;
    clock.read().say("stranger", &fit, report.refitted);
    Ok(())
}

/// Time by the clock, and of the processors.
struct Clock(Instant, f64);

struct Reading {
    wall: f64,
    processor: f64,
}

impl Clock {
    fn start() -> Self {
        Self(Instant::now(), processor::seconds())
    }

    fn read(&self) -> Reading {
        Reading { wall: self.0.elapsed().as_secs_f64(), processor: processor::seconds() - self.1 }
    }
}

impl Reading {
    fn say(&self, name: &str, fit: &Self, refitted: usize) {
        let Self { wall, processor } = self;
        println!(
            "{name:<10} {wall:.3} s, 1/{:.0} of the fit; {processor:.3} s of processors, 1/{:.0}; {refitted} fitted again",
            fit.wall / wall,
            fit.processor / processor
        );
    }
}
