//! Shares of strangers accepted: promised, by strangers that were given, and by an estimate without any.

use std::error::Error;

use evmachine::{CalibrateError, Evm, Params, Rejection};
use evmachine_eval::Chance;

use crate::chance;
use crate::drawn::Source;

const DRAWS: u64 = 20;
const QUERIES: usize = 4_000;
/// Known classes, and strange ones: some like those that were given, some of other classes.
const KNOWN: usize = 20;
const STRANGE: usize = 40;

pub(crate) fn run() -> Result<bool, Box<dyn Error>> {
    println!(
        "20 known classes of 150 rows, 16 dimensions; 20 strange classes give strangers, and 20 others come later\n"
    );
    println!(
        "| preset | strangers given | promised | of the same classes: mean, most | of other classes: mean, most | |"
    );
    println!("|---|---|---|---|---|---|");
    let mut kept = true;
    for (name, params) in [("plain", Params::plain()), ("robust", Params::robust())] {
        for given in [Given::Hidden, Given::LeftOut, Given::Rows(200), Given::Rows(1_000), Given::Rows(5_000)]
        {
            for rate in [0.001, 0.01, 0.05] {
                kept &= line(name, &params, given, rate)?;
            }
        }
    }
    Ok(kept)
}

/// What the threshold is set on.
#[derive(Clone, Copy)]
enum Given {
    /// Classes of the model, which was trained by another rule.
    Hidden,
    /// Classes that training left out in turn.
    LeftOut,
    /// So many strangers.
    Rows(usize),
}

fn line(name: &str, params: &Params, given: Given, rate: f64) -> Result<bool, Box<dyn Error>> {
    let (mut same, mut other) = (Vec::new(), Vec::new());
    for seed in 0..DRAWS {
        let mut source = Source::new(11 + 31 * seed, vec![150; KNOWN + STRANGE], 16, 1.2);
        let known: Vec<usize> = (0..KNOWN).collect();
        let (met, new): (Vec<usize>, Vec<usize>) = (KNOWN..KNOWN + STRANGE).partition(|class| class % 2 == 0);
        let (features, labels) = source.training(&known)?;
        let rule = Rejection::FalseKnown(rate);
        let params = match given {
            Given::LeftOut => Params { rejection_threshold: rule, ..params.clone() },
            _ => params.clone(),
        };
        let (mut evm, _) = Evm::fit(&params, &features, &labels)?;
        if let Given::Rows(rows) = given {
            evm.calibrate_unknowns(&source.queries(&met, rows)?)?;
        }
        match evm.set_rejection(rule) {
            Err(CalibrateError::TooFewStrangers { rows, needed, .. }) => {
                println!("| {name} | {rows} | {rate} | refused | | it takes {needed} |");
                return Ok(true);
            }
            other => other?,
        }
        for (classes, shares) in [(&met, &mut same), (&new, &mut other)] {
            let decisions = evm.decide(&source.queries(classes, QUERIES)?)?;
            shares.push(decisions.iter().filter(|decision| decision.class().is_some()).count());
        }
    }
    let share = |count: usize| count as f64 / QUERIES as f64;
    let mean = |counts: &[usize]| counts.iter().map(|&count| share(count)).sum::<f64>() / counts.len() as f64;
    let most = |counts: &[usize]| share(counts.iter().copied().max().unwrap_or(0));
    let (mut verdict, mut kept, mut count) = ("an estimate", true, 0);
    if let Given::Hidden = given {
        verdict = "an estimate from classes that the model has learned";
    }
    if let Given::Rows(given) = given {
        count = given;
        let worst = most(&same) * QUERIES as f64;
        let chance = Chance::of(worst.round() as usize, QUERIES, rate, given);
        let error = chance::deviation(given, rate, QUERIES) / (DRAWS as f64).sqrt();
        kept = chance.as_many > 1e-6 && mean(&same) <= rate + 3.3 * error;
        verdict = if kept { "kept" } else { "BROKEN" };
    }
    println!(
        "| {name} | {count} | {rate} | {:.4}, {:.4} | {:.4}, {:.4} | {verdict} |",
        mean(&same),
        most(&same),
        mean(&other),
        most(&other)
    );
    Ok(kept)
}
