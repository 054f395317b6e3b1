//! Unknowns of whole batches at a false discovery rate, and promises kept in so many of all trainings.

use std::error::Error;

use evmachine::{Evm, Params, Rejection};

use crate::drawn::Source;

const TRAININGS: u64 = 200;

pub(crate) fn run() -> Result<bool, Box<dyn Error>> {
    println!(
        "{TRAININGS} batches of 500 rows each, of a model of 4,000 rows in 20 classes, robust; a tenth of the unknown may be known\n"
    );
    println!(
        "| unknown in the batch | known among those called unknown | unknown found | estimated share of unknown | |"
    );
    println!("|---|---|---|---|---|");
    let mut kept = true;
    let rate = 0.1;
    for share in [0.01, 0.1, 0.5] {
        let (mut false_share, mut found, mut estimated, mut squares) = (0.0, 0.0, 0.0, 0.0);
        for seed in 0..TRAININGS {
            let mut source = Source::new(5 + seed, vec![200; 30], 16, 1.5);
            let known: Vec<usize> = (0..20).collect();
            let strange: Vec<usize> = (20..30).collect();
            let (features, labels) = source.training(&known)?;
            let (evm, _) = Evm::fit(&Params::robust(), &features, &labels)?;
            let unknown = (500.0 * share) as usize;
            let mut decisions = evm.decide(&source.queries(&strange, unknown)?)?;
            decisions.extend(evm.decide(&source.queries(&known, 500 - unknown)?)?);
            let p_values: Vec<f64> = decisions.iter().filter_map(evmachine::Decision::p_value).collect();
            let called = evm.discover(&p_values, rate)?.unknown;
            let right = called[..unknown].iter().filter(|called| **called).count() as f64;
            let wrong = called[unknown..].iter().filter(|called| **called).count() as f64;
            let false_here = wrong / (right + wrong).max(1.0);
            false_share += false_here / TRAININGS as f64;
            squares += false_here * false_here / TRAININGS as f64;
            found += right / unknown as f64 / TRAININGS as f64;
            let guess = evm.share_unknown(&p_values)?.ok_or("an empty batch")?;
            estimated += guess.share / TRAININGS as f64;
        }
        let error = ((squares - false_share * false_share).max(0.0) / TRAININGS as f64).sqrt();
        let is_kept = false_share <= rate + 3.3 * error;
        kept &= is_kept;
        println!(
            "| {share} | {false_share:.3} | {found:.3} | {estimated:.3} | {} |",
            if is_kept { "kept" } else { "BROKEN" }
        );
    }
    Ok(kept)
}

pub(crate) fn run_confidence() -> Result<bool, Box<dyn Error>> {
    println!("{TRAININGS} trainings each; 5 % of known rejected, with a confidence of 95 %\n");
    println!("| rows | preset | trainings that keep it | mean | |");
    println!("|---|---|---|---|---|");
    let mut kept = true;
    for (rows, name, params) in [
        (600, "plain", Params::plain()),
        (600, "robust", Params::robust()),
        (6_000, "plain", Params::plain()),
        (6_000, "robust", Params::robust()),
    ] {
        let params =
            Params { confidence: 0.95, rejection_threshold: Rejection::FalseUnknown(0.05), ..params };
        let (mut good, mut mean) = (0, 0.0);
        for seed in 0..TRAININGS {
            let mut source = Source::new(900 + seed, vec![rows / 10; 10], 16, 1.5);
            let known: Vec<usize> = (0..10).collect();
            let (features, labels) = source.training(&known)?;
            let (evm, _) = Evm::fit(&params, &features, &labels)?;
            // So many that their own error does not count.
            let decisions = evm.decide(&source.queries(&known, 40_000)?)?;
            let share =
                decisions.iter().filter(|decision| decision.class().is_none()).count() as f64 / 40_000.0;
            good += usize::from(share <= 0.05);
            mean += share / TRAININGS as f64;
        }
        // 190 of 200 are promised; 3.3 deviations of the binomial are 10.
        let is_kept = good >= 180;
        kept &= is_kept;
        println!(
            "| {rows} | {name} | {good} of {TRAININGS} | {mean:.4} | {} |",
            if is_kept { "kept" } else { "BROKEN" }
        );
    }
    Ok(kept)
}
