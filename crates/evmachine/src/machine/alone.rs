//! A class that is alone: nothing is there to measure margins against, so they are guessed from within the class.
//!
//! Each point takes the largest quarter of its distances to up to 256 other points of its class as margins, as if a negative
//! stood at twice that distance. A point without others, or at one place with all of them, recognises that place alone. The
//! guess is gone as soon as there is a negative: no tail is remembered of it.

use rayon::prelude::*;

use crate::error::RunError;
use crate::machine::Machine;
use crate::params::TailSize;
use evmachine_engine::distance;
use evmachine_engine::math::spread;
use evmachine_engine::points::Points;
use evmachine_engine::psi::weibull::{Workspace, fit_tail};
use evmachine_engine::psi::{FitStatus, PsiModel};
use evmachine_engine::run::{Run, Stage};
use evmachine_engine::tail::memory::remembered;

/// Points of the class that each is measured against, at most.
const MEASURED: usize = 256;
/// One in so many of the distances, the largest ones, stands for a margin.
const SHARE: usize = 4;

impl Machine {
    /// Whether there is nothing to measure margins against: one class, and no ignored sample.
    pub fn is_alone(&self) -> bool {
        self.classes.len() == 1 && self.ignored.is_empty()
    }

    /// Whether the Psi-models are those of a class that was alone when they were made.
    pub(crate) fn is_guessed(&self) -> bool {
        let first = self.classes.first().and_then(|class| class.psi.first());
        first.is_some_and(|psi| psi.status == FitStatus::WithinClass)
    }

    /// Resolves the tail size of a class that was alone, now that there are negatives.
    pub(crate) fn have_company(&mut self, negatives: usize) {
        if self.is_guessed() {
            let (d, classes) = (self.dimensions, self.classes.len());
            self.classes[0].tail_size = self.params.tail_size.resolve(d, classes, negatives);
        }
    }

    /// From its negatives, the tail size of a class that is learned now. A share is one of the rows learned first: classes that
    /// come later get the count that it came to, the largest, because all of those rows are their negatives.
    pub(crate) fn tail_size_of_new(&self) -> impl Fn(usize) -> usize + use<> {
        let (size, d, classes) = (self.params.tail_size, self.dimensions, self.classes.len());
        let learned = self.classes.iter().filter(|class| class.points_seen > 0).map(|class| class.tail_size);
        let settled = match size {
            TailSize::Fraction(_) if !self.is_guessed() => learned.max(),
            _ => None,
        };
        move |negatives| settled.unwrap_or_else(|| size.resolve(d, classes, negatives))
    }

    /// Lets go of all tails, and fits every point of a class that is alone.
    pub(crate) fn be_alone(&mut self, run: &Run<'_>) -> Result<(), RunError> {
        let tail = remembered(&[], 1, self.tail_memory);
        self.classes[0].tails.fill(tail);
        self.fit_alone(run)
    }

    /// Fits every point of a class that is alone.
    pub(crate) fn fit_alone(&mut self, run: &Run<'_>) -> Result<(), RunError> {
        let (d, params) = (self.dimensions, &self.params);
        let class = &self.classes[0];
        let points = Points::ready(&class.vectors[..], d);
        let mut some: Vec<usize> = (0..points.len()).collect();
        some.sort_unstable_by_key(|&row| spread(class.sources[row]));
        some.truncate(MEASURED + 1);
        let columns = distance::columns(&params.metric, &points, &some);
        let rows: Vec<usize> = (0..points.len()).collect();
        let meter = run.meter(Stage::Tails, rows.len());
        let fits: Result<Vec<Vec<PsiModel>>, RunError> = rows
            .par_chunks(run.block_rows(rows.len()))
            .map(|rows| {
                meter.check()?;
                let block = columns.block(&points, rows);
                let (mut tile, mut workspace) = (distance::Tile::default(), Workspace::default());
                columns.ranks(&block, 0..some.len(), &mut tile)?;
                let fit = |(position, &row): (usize, &usize)| {
                    let others = tile.row(position).iter().zip(&some).filter(|(_, other)| **other != row);
                    let mut found: Vec<f32> =
                        others.map(|(&rank, _)| params.metric.distance_of_rank(rank)).collect();
                    found.sort_unstable_by(f32::total_cmp);
                    let margins = found.len().div_ceil(SHARE);
                    let far = &found[found.len() - margins..];
                    // As far as a negative would have to be.
                    let tail: Vec<f32> = far
                        .iter()
                        .map(|&value| (f64::from(value) / params.distance_multiplier) as f32)
                        .collect();
                    let tail = if tail.is_empty() { &[0.0][..] } else { &tail[..] };
                    PsiModel {
                        status: FitStatus::WithinClass,
                        ..fit_tail(tail, &params.fit_rule(), &mut workspace)
                    }
                };
                let fits = rows.iter().enumerate().map(fit).collect();
                meter.advance(rows.len())?;
                Ok(fits)
            })
            .collect();
        self.classes[0].psi = fits?.into_iter().flatten().collect();
        Ok(())
    }
}
