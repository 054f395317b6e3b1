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
    for (name, params) in [("default", Params::default()), ("robust", Params::robust())] {
        for given in [0, 200, 1_000, 5_000] {
            for rate in [0.001, 0.01, 0.05] {
                kept &= line(name, &params, given, rate)?;
            }
        }
    }
    Ok(kept)
}

fn line(name: &str, params: &Params, given: usize, rate: f64) -> Result<bool, Box<dyn Error>> {
    let (mut same, mut other) = (Vec::new(), Vec::new());
    for seed in 0..DRAWS {
        let mut source = Source::new(11 + 31 * seed, vec![150; KNOWN + STRANGE], 16, 1.2);
        let known: Vec<usize> = (0..KNOWN).collect();
        let (met, new): (Vec<usize>, Vec<usize>) = (KNOWN..KNOWN + STRANGE).partition(|class| class % 2 == 0);
        let (features, labels) = source.training(&known)?;
        let (mut evm, _) = Evm::fit(params, &features, &labels)?;
        if given > 0 {
            evm.calibrate_unknowns(&source.queries(&met, given)?)?;
        }
        match evm.set_rejection(Rejection::FalseKnown(rate)) {
            Err(CalibrateError::TooFewStrangers { needed, .. }) => {
                println!("| {name} | {given} | {rate} | refused | | it takes {needed} |");
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
    let mut verdict = "an estimate";
    let mut kept = true;
    if given > 0 {
        let worst = most(&same) * QUERIES as f64;
        let chance = Chance::of(worst.round() as usize, QUERIES, rate, given);
        let error = chance::deviation(given, rate, QUERIES) / (DRAWS as f64).sqrt();
        kept = chance.as_many > 1e-6 && mean(&same) <= rate + 3.3 * error;
        verdict = if kept { "kept" } else { "BROKEN" };
    }
    println!(
        "| {name} | {given} | {rate} | {:.4}, {:.4} | {:.4}, {:.4} | {verdict} |",
        mean(&same),
        most(&same),
        mean(&other),
        most(&other)
    );
    Ok(kept)
}
