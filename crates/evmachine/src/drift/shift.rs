//! Where classes lie, and by what vectors moved.

use std::collections::BTreeMap;

use crate::drift::report::{Shift, ShiftedColumn};
use crate::error::RunError;
use crate::model::Evm;
use evmachine_engine::features::Features;
use evmachine_engine::run::Run;

/// Rows that the mean of a class is taken from, at least.
const FEWEST: usize = 3;
/// Rounds in which the move and the classes of moved rows are found from each other.
const ROUNDS: usize = 4;
/// Columns that a shift names.
const SHOWN: usize = 5;

/// Means of classes, and the spread of rows around them.
pub(crate) struct Places {
    pub(crate) means: BTreeMap<u32, Vec<f64>>,
    overall: Vec<f64>,
    /// Root of the mean squared distance of a row from the mean of its class.
    pub(crate) spread: f64,
}

impl Places {
    pub(crate) fn of(rows: &Features<'_>, classes: &[u32]) -> Self {
        let mut by_class: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (row, &class) in classes.iter().enumerate() {
            by_class.entry(class).or_default().push(row);
        }
        let overall = mean(rows, &(0..rows.rows()).collect::<Vec<_>>());
        let (mut squares, mut freedom, mut means) = (0.0, 0usize, BTreeMap::new());
        for (class, members) in by_class.into_iter().filter(|(_, members)| members.len() >= FEWEST) {
            let middle = mean(rows, &members);
            squares += members.iter().map(|&row| distance(rows.row(row), &middle)).sum::<f64>();
            freedom += members.len() - 1;
            means.insert(class, middle);
        }
        if means.is_empty() {
            squares = rows.iter().map(|row| distance(row, &overall)).sum();
            freedom = rows.rows();
        }
        let spread = (squares / freedom.max(1) as f64).sqrt().max(f64::MIN_POSITIVE);
        Self { means, overall, spread }
    }

    /// The class whose mean is nearest to a point, with the distance.
    pub(crate) fn nearest(&self, point: &[f64]) -> Option<(u32, f64)> {
        let squares = |mean: &[f64]| mean.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let distances = self.means.iter().map(|(class, mean)| (*class, squares(mean).sqrt()));
        distances.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The vector that rows moved by, if all moved by the same: first by their mean, then by what they differ from the means of the classes
    /// that they are of when it is taken back.
    pub(crate) fn moved_by(
        &self,
        run: &Run<'_>,
        evm: &Evm,
        rows: &Features<'_>,
    ) -> Result<Vec<f64>, RunError> {
        let everyone: Vec<usize> = (0..rows.rows()).collect();
        let mut by: Vec<f64> = mean(rows, &everyone).iter().zip(&self.overall).map(|(a, b)| a - b).collect();
        for _ in 0..ROUNDS {
            let Ok(back) = taken_back(rows, &by) else { break };
            let decisions = evm.decide_with(run, &back)?;
            let mut sums = vec![0.0; by.len()];
            let mut counted = 0.0;
            for (row, decision) in decisions.iter().enumerate() {
                let Some(mean) = self.means.get(&(decision.best() as u32)) else { continue };
                counted += 1.0;
                for ((sum, value), mean) in sums.iter_mut().zip(rows.row(row)).zip(mean) {
                    *sum += f64::from(*value) - mean;
                }
            }
            if counted == 0.0 {
                break;
            }
            by = sums.into_iter().map(|sum| sum / counted).collect();
        }
        Ok(by)
    }

    /// A vector as it is told.
    pub(crate) fn told(&self, evm: &Evm, by: &[f64]) -> Shift {
        let size = by.iter().map(|value| value * value).sum::<f64>().sqrt();
        let mut order: Vec<usize> = (0..by.len()).filter(|&column| by[column] != 0.0).collect();
        order.sort_by(|&a, &b| by[b].abs().total_cmp(&by[a].abs()));
        let columns = order.into_iter().take(SHOWN).map(|column| ShiftedColumn {
            column,
            name: evm.feature_names().get(column).cloned(),
            by: by[column],
        });
        Shift { size, spreads: size / self.spread, columns: columns.collect() }
    }
}

/// Rows without a vector that they moved by.
pub(crate) fn taken_back(rows: &Features<'_>, by: &[f64]) -> Result<Features<'static>, RunError> {
    let values =
        rows.iter().flat_map(|row| row.iter().zip(by).map(|(value, by)| (f64::from(*value) - by) as f32));
    Ok(Features::new(values.collect::<Vec<f32>>(), rows.columns())?)
}

pub(crate) fn mean(rows: &Features<'_>, members: &[usize]) -> Vec<f64> {
    let mut sums = vec![0.0; rows.columns()];
    for &row in members {
        sums.iter_mut().zip(rows.row(row)).for_each(|(sum, value)| *sum += f64::from(*value));
    }
    sums.iter().map(|sum| sum / members.len().max(1) as f64).collect()
}

/// Squared.
fn distance(row: &[f32], middle: &[f64]) -> f64 {
    row.iter().zip(middle).map(|(a, b)| (f64::from(*a) - b).powi(2)).sum()
}
