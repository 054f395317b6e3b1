//! C and gamma by cross validation over a grid.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use evmachine::{Features, Labels};
use rayon::prelude::*;

use crate::classes::Classes;
use crate::error::SystemError;
use crate::machine::{Machine, Rbf, rows};
use crate::scaling::Scaling;
use crate::svm::{is, parts};

const FOLDS: usize = 5;

/// A point of the grid and how often its machines were right about rows left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridPoint {
    /// Cost and gamma.
    pub rbf: Rbf,
    /// The rate of rows whose highest decision value was that of their class.
    pub accuracy: f64,
}

/// The paper's grid, C = 2^-5, 2^-3, ... 2^15 and gamma = 2^-15, 2^-13, ... 2^3, by 5-fold cross validation of
/// one-vs-rest machines. Best first; of equals, the smaller cost.
///
/// Costs 110 x 5 machines for each class: minutes for some thousand rows, days for all of a large set.
/// `progress(done, total)` can end it, which gives `None`.
pub fn svm_grid(
    features: &Features<'_>,
    labels: &Labels,
    progress: &(dyn Fn(usize, usize) -> ControlFlow<()> + Sync),
) -> Result<Option<Vec<GridPoint>>, SystemError> {
    let mut classes = Classes::default();
    let numbers = classes.learn(features, labels)?;
    let scaling = Scaling::of(features);
    let values = scaling.apply(features);
    let rows = rows(&values, scaling.columns());
    let part_of = parts(&numbers, classes.names.len(), FOLDS);
    let grid: Vec<Rbf> = (-5..=15)
        .step_by(2)
        .flat_map(|cost| (-15..=3).step_by(2).map(move |gamma| (cost, gamma)))
        .map(|(cost, gamma)| Rbf { cost: 2f64.powi(cost), gamma: 2f64.powi(gamma) })
        .collect();
    let (done, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut points = grid
        .par_iter()
        .map(|&rbf| {
            if stopped.load(Ordering::Relaxed) {
                return Ok(GridPoint { rbf, accuracy: 0.0 });
            }
            let right = (0..FOLDS)
                .map(|part| right_in(&rows, &numbers, classes.names.len(), &part_of, part, rbf))
                .sum::<Result<usize, _>>()?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if progress(done, grid.len()).is_break() {
                stopped.store(true, Ordering::Relaxed);
            }
            Ok(GridPoint { rbf, accuracy: right as f64 / rows.len() as f64 })
        })
        .collect::<Result<Vec<_>, SystemError>>()?;
    points.sort_by(|a, b| b.accuracy.total_cmp(&a.accuracy).then(a.rbf.cost.total_cmp(&b.rbf.cost)));
    Ok((!stopped.into_inner()).then_some(points))
}

/// How many rows of a part are right.
fn right_in(
    rows: &[&[f32]],
    numbers: &[usize],
    classes: usize,
    part_of: &[usize],
    part: usize,
    rbf: Rbf,
) -> Result<usize, SystemError> {
    let kept: Vec<usize> = (0..rows.len()).filter(|&row| part_of[row] != part).collect();
    let train: Vec<&[f32]> = kept.iter().map(|&row| rows[row]).collect();
    let known: Vec<usize> = kept.iter().map(|&row| numbers[row]).collect();
    let machines = (0..classes)
        .map(|class| Machine::binary(&train, &is(&known, class), rbf.cost, Some(rbf.gamma)))
        .collect::<Result<Vec<_>, _>>()?;
    let right = (0..rows.len()).filter(|&row| part_of[row] == part).filter(|&row| {
        let decisions = machines.iter().map(|machine| machine.decision(rows[row])).enumerate();
        decisions.max_by(|a, b| a.1.total_cmp(&b.1)).is_some_and(|(class, _)| class == numbers[row])
    });
    Ok(right.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_around_a_clump_needs_a_gamma_that_sees_it() {
        let points: Vec<f32> = (0..60u16)
            .flat_map(|row| {
                let angle = f32::from(row) * 0.7;
                let radius = if row % 2 == 0 { 1.0 } else { 0.1 };
                [radius * angle.cos(), radius * angle.sin()]
            })
            .collect();
        let features = Features::new(points, 2).unwrap();
        let labels = Labels::new((0..60).map(|row| if row % 2 == 0 { "ring" } else { "clump" })).unwrap();
        let grid = svm_grid(&features, &labels, &|_, _| ControlFlow::Continue(())).unwrap().unwrap();
        assert_eq!(grid.len(), 110);
        assert_eq!(grid[0].accuracy, 1.0);
        let flat = grid.iter().find(|point| point.rbf == Rbf { cost: 2f64.powi(-5), gamma: 2f64.powi(-15) });
        assert!(flat.unwrap().accuracy < 0.9);
        let stopped = svm_grid(&features, &labels, &|_, _| ControlFlow::Break(())).unwrap();
        assert_eq!(stopped, None);
    }
}
