//! Thresholds and probabilities on random divisions of real sets: the robust preset in twenty draws.
//!
//! Each draw divides all rows of known classes, of training and test files together, into four parts to learn from and one to
//! be asked about, and promises that at most 5 % of known rows are rejected. `--draws N` at the end sets their number.

use std::error::Error;

use evmachine::{Evm, Features, Params, Prior};
use evmachine_eval::Reliability;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use crate::{chance, sets};

const RATE: f64 = 0.05;

pub(crate) fn run(arguments: &[String]) -> Result<bool, Box<dyn Error>> {
    let mut arguments = arguments.to_vec();
    let mut draws = 20;
    if let Some(position) = arguments.iter().position(|argument| argument == "--draws") {
        let value = arguments.drain(position..).nth(1).ok_or("--draws needs a number")?;
        draws = value.parse()?;
    }
    let task = sets::named(&arguments)?;
    println!("{}, {}, robust", task.name, task.metric.name());
    let known: Vec<usize> = (0..task.test.1.len())
        .filter(|&row| task.train.1.names().iter().any(|name| name == task.test.1.name(row)))
        .collect();
    let unknown: Vec<usize> =
        (0..task.test.1.len()).filter(|row| known.binary_search(row).is_err()).collect();
    let strangers = task.test.0.select(&unknown);
    let mut values = task.train.0.values().to_vec();
    values.extend(task.test.0.select(&known).values());
    let features = Features::new(values, task.train.0.columns())?;
    let names: Vec<&str> = (0..task.train.1.len())
        .map(|row| task.train.1.name(row))
        .chain(known.iter().map(|&row| task.test.1.name(row)))
        .collect();
    let labels = evmachine::Labels::new(names)?;
    let mut rows = Vec::new();
    for draw in 0..draws {
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.shuffle(&mut StdRng::seed_from_u64(draw));
        let (test, train) = order.split_at(labels.len() / 5);
        let params = Params::robust_for(task.metric.clone());
        let (mut evm, _) = Evm::fit(&params, &features.select(train), &labels.select(train))?;
        // Half of the strangers, as somebody has who met some, and the other half to ask about.
        let (met, new): (Vec<usize>, Vec<usize>) =
            (0..strangers.rows()).partition(|row| (row + draw as usize).is_multiple_of(2));
        let typical = known_ece(&evm, &features.select(test), &strangers.select(&new))?;
        evm.calibrate_unknowns(&strangers.select(&met))?;
        let queries = (features.select(test), labels.select(test));
        let answers = evm.map_queries(&queries.0, |row, scores| {
            let decision = evm.decision(scores);
            let classes = evm.class_probabilities(scores).unwrap_or_default();
            let right = evm.class_name(decision.best()) == queries.1.name(row);
            (decision.class().is_none(), classes[decision.best()], right)
        })?;
        let rejected = answers.iter().filter(|answer| answer.0).count() as f64 / answers.len() as f64;
        let confidence: Vec<f64> = answers.iter().map(|answer| answer.1).collect();
        let right: Vec<bool> = answers.iter().map(|answer| answer.2).collect();
        let class = Reliability::new(&confidence, &right, 10)?.ece();
        let met = known_ece(&evm, &queries.0, &strangers.select(&new))?;
        let error = chance::deviation(evm.promise().effective_rows, RATE, answers.len());
        rows.push([rejected, (rejected - RATE) / error, class, typical, met, error]);
    }
    let mean = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / rows.len() as f64;
    let most = |column: usize| rows.iter().map(|row| row[column]).fold(f64::NEG_INFINITY, f64::max);
    println!(
        "known rejected: mean {:.4}, most {:.4}, most in standard errors above 0.05: {:.2}",
        mean(0),
        most(0),
        most(1)
    );
    println!("ECE of P(class | known): mean {:.4}, most {:.4}", mean(2), most(2));
    println!("ECE of P(known), strangers never met: mean {:.4}, most {:.4}", mean(3), most(3));
    println!("ECE of P(known), half of them met: mean {:.4}, most {:.4}", mean(4), most(4));
    let error = mean(5) / (rows.len() as f64).sqrt();
    Ok(mean(0) <= RATE + 3.3 * error && most(1) < 4.75)
}

/// ECE of P(known), known and unknown rows weighing alike.
fn known_ece(evm: &Evm, known: &Features<'_>, unknown: &Features<'_>) -> Result<f64, Box<dyn Error>> {
    let (mut confidence, mut right, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for (rows, is_known) in [(known, true), (unknown, false)] {
        for decision in evm.decide(rows)? {
            confidence.push(evm.probability_known(decision.score(), Prior::EVEN).ok_or("not calibrated")?);
            right.push(is_known);
            weights.push(1.0 / rows.rows() as f64);
        }
    }
    Ok(Reliability::weighted(&confidence, &right, &weights, 10)?.ece())
}
