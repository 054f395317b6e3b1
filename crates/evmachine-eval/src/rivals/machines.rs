//! RBF support vector machines, one for each class against the others, by the largest decision value.
//!
//! Columns are standardised, gamma is one over the number of columns times the variance of all values (scikit-learn's "scale"), and the
//! cost is the one of 1, 10 and 100 that is right most often about one row in five of each class, which was held out; machines of pairs
//! of classes choose it, since they cost less.

use evmachine::Labels;
use rayon::prelude::*;

use super::error::RivalError;
use super::rows::Rows;
use super::standard::Standard;
use crate::svm::{Machine, Rbf, Voting, rows};

const COSTS: [f64; 3] = [1.0, 10.0, 100.0];
/// Of each class, every fifth row is held out.
const HELD_OUT: usize = 5;

/// The class of the largest decision value, and that value.
pub(crate) fn one_vs_rest(
    (train, labels): (&Rows<'_>, &Labels),
    queries: &Rows<'_>,
) -> Result<Vec<(usize, f64)>, RivalError> {
    if labels.names().len() < 2 {
        // Nothing to be told apart from: every row is as much of the class as any other.
        return Ok(vec![(0, 0.0); queries.len()]);
    }
    let standard = Standard::fit(train);
    let d = train.dimensions();
    let (values, asked) = (standard.values(train), standard.values(queries));
    let (train, queries) = (rows(&values, d), rows(&asked, d));
    let numbers: Vec<usize> = labels.ids().iter().map(|&id| id as usize).collect();
    let rbf = chosen(&train, &numbers, labels.names().len(), scale(&values, d))?;
    let machines = (0..labels.names().len())
        .into_par_iter()
        .map(|class| {
            let own: Vec<bool> = numbers.iter().map(|&number| number == class).collect();
            Machine::binary(&train, &own, rbf.cost, Some(rbf.gamma))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let largest = |row: &&[f32]| super::largest_of(machines.iter().map(|machine| machine.decision(row)));
    Ok(queries.par_iter().map(largest).collect())
}

/// One over the number of columns times the variance of all values.
fn scale(values: &[f32], columns: usize) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / count;
    let variance = values.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>() / count;
    if variance > 0.0 { 1.0 / (columns as f64 * variance) } else { 1.0 }
}

/// The cost that is right most often about held-out rows; the first if there are none, or of equal ones.
fn chosen(rows: &[&[f32]], numbers: &[usize], classes: usize, gamma: f64) -> Result<Rbf, RivalError> {
    let mut seen = vec![0; classes];
    let (held, kept): (Vec<usize>, Vec<usize>) = (0..rows.len()).partition(|&row| {
        seen[numbers[row]] += 1;
        usize::is_multiple_of(seen[numbers[row]], HELD_OUT)
    });
    let train: Vec<&[f32]> = kept.iter().map(|&row| rows[row]).collect();
    let own: Vec<usize> = kept.iter().map(|&row| numbers[row]).collect();
    let all = COSTS
        .into_par_iter()
        .map(|cost| {
            let rbf = Rbf { cost, gamma };
            if held.is_empty() {
                return Ok((rbf, 0));
            }
            let voting = Voting::fit(&train, &own, rbf)?;
            let right = held.par_iter().filter(|&&row| voting.class_of(rows[row]) == numbers[row]).count();
            Ok((rbf, right))
        })
        .collect::<Result<Vec<_>, RivalError>>()?;
    Ok(all
        .into_iter()
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
        .map_or(Rbf { cost: COSTS[0], gamma }, |(rbf, _)| rbf))
}
