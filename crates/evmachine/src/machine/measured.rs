//! Which rows have their tails measured if pooling gives all points one curve.
//!
//! With `pooling = 1` every point takes the means of `ln(shape)` and `ln(scale)` over all fits, and these means are all that fits are
//! for. A sample of [`MEASURED`] rows has them to about a hundredth. Supports are `-shape (ln d - ln scale)`, so another mean changes
//! all of them by one factor and one summand: the order of queries and a threshold set on held-out rows stay what they are. A fit
//! then costs `MEASURED * rows * dimensions` products instead of `rows^2 * dimensions / 2`, and a model remembers as many tails.
//!
//! A row is measured if a number drawn from its own number is below `MEASURED / rows`, with all rows ever given. The share falls as
//! rows come, and so batches end with the sample of all rows at once: old rows above it lose their fit, no row gains one later.

use std::sync::Arc;

use crate::error::RunError;
use crate::input::holdout::drawn;
use crate::machine::Machine;
use crate::machine::batch::Batch;
use crate::machine::margins;
use evmachine_engine::psi::{FitStatus, PsiModel};
use evmachine_engine::run::Run;
use evmachine_engine::tail::Rows;
use evmachine_engine::tail::fitted::Fit;

/// Rows that are measured, about. Up to so many rows, all are.
const MEASURED: u64 = 2_000;
/// Tells this drawing from others over the same rows.
const MEASURING: u64 = 0x5eed_f175;

/// Of a row whose tail was not measured.
const POOLED: PsiModel = PsiModel { shape: 1.0, scale: 0.0, shift: 0.0, status: FitStatus::Pooled };

/// Which rows are measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measuring {
    chance: f64,
}

impl Measuring {
    /// For a machine that has been given so many rows; `None` if all are measured.
    pub(crate) fn of(machine: &Machine, rows: u64) -> Option<Self> {
        let few = rows <= MEASURED || machine.params.pooling < 1.0;
        (!few).then(|| Self { chance: MEASURED as f64 / rows as f64 })
    }

    fn takes(self, number: u64) -> bool {
        drawn(number, MEASURING) < self.chance
    }

    /// The rows of a batch that are measured, their numbers given by `number`.
    pub(crate) fn of_batch(self, batch: &Batch<'_>, number: impl Fn(usize) -> u64) -> MeasuredRows {
        let positions: Vec<usize> =
            (0..batch.order.len()).filter(|&at| self.takes(number(batch.order[at]))).collect();
        MeasuredRows {
            indices: positions.iter().map(|&at| batch.order[at]).collect(),
            classes: positions.iter().map(|&at| batch.classes[at]).collect(),
            positions,
        }
    }
}

/// Rows of a batch that are measured, in its order.
pub(crate) struct MeasuredRows {
    positions: Vec<usize>,
    indices: Vec<usize>,
    classes: Vec<u32>,
}

impl MeasuredRows {
    pub(crate) fn rows<'a>(&'a self, batch: &'a Batch<'_>) -> Rows<'a> {
        Rows::new(&batch.points, &self.indices, &self.classes)
    }

    /// Values of their tails, at most.
    pub(crate) fn values(&self, sizes: &[usize]) -> u64 {
        self.classes.iter().map(|&class| sizes[class as usize] as u64).fold(0, u64::saturating_add)
    }

    /// The fits of all rows of a batch of so many: those that were found, and a stand-in for each of the others.
    pub(crate) fn among_all(&self, fits: Vec<Fit>, count: usize) -> Vec<Fit> {
        let mut all = vec![(POOLED, Arc::default()); count];
        for (&position, fit) in self.positions.iter().zip(fits) {
            all[position] = fit;
        }
        all
    }
}

impl Machine {
    /// Whether there is a fit to take means of, in the machine or among new ones.
    pub(crate) fn has_estimates(&self, new: &[Fit]) -> bool {
        let mut sums = self.pool_sums();
        for (psi, _) in new {
            sums.add(psi);
        }
        !sums.is_empty()
    }

    /// Measures all rows if every row that was measured is gone, so that means can be taken again.
    pub(crate) fn measure_if_needed(&mut self, run: &Run<'_>) -> Result<(), RunError> {
        if self.is_alone() || !self.has_pooled() || self.has_estimates(&[]) {
            return Ok(());
        }
        let all: Vec<usize> = (0..self.extreme_vector_count()).collect();
        margins::measure(run, self, None, &all)
    }

    /// Whether there is a row whose tail was not measured.
    pub(crate) fn has_pooled(&self) -> bool {
        self.classes.iter().flat_map(|class| &class.psi).any(|psi| psi.status == FitStatus::Pooled)
    }

    /// Takes the fits of rows that are not measured any more, unless no estimate would be left.
    pub(crate) fn measure_fewer(&mut self, measuring: Measuring) {
        let mut left = self.dropped;
        for class in &self.classes {
            let own = class.psi.iter().zip(&class.sources);
            own.filter(|(_, source)| measuring.takes(**source)).for_each(|(psi, _)| left.add(psi));
        }
        if left.is_empty() {
            return;
        }
        for class in &mut self.classes {
            for ((psi, tail), &source) in class.psi.iter_mut().zip(&mut class.tails).zip(&class.sources) {
                if psi.status != FitStatus::Pooled && !measuring.takes(source) {
                    (*psi, *tail) = (POOLED, Arc::default());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;

    #[test]
    fn a_share_that_falls_takes_a_part_of_what_a_larger_one_took() {
        let params = Params { pooling: 1.0, ..Params::paper() };
        let machine = Machine::empty(params.check().unwrap(), 1);
        assert_eq!(Measuring::of(&machine, MEASURED), None);
        let (some, fewer) =
            (Measuring::of(&machine, 20_000).unwrap(), Measuring::of(&machine, 50_000).unwrap());
        let taken = |measuring: Measuring| (0..50_000).filter(move |&row| measuring.takes(row));
        assert!(taken(fewer).all(|row| some.takes(row)));
        let count = taken(fewer).count();
        assert!((1_850..2_150).contains(&count), "{count}");
        let half = Machine::empty(Params { pooling: 0.5, ..Params::paper() }.check().unwrap(), 1);
        assert_eq!(Measuring::of(&half, 1 << 40), None);
    }
}
