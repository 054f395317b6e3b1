//! Psi of the extreme vectors to a decision: a known class, or unknown (Eq. 3).

use std::ops::Range;

use rayon::prelude::*;

use crate::distance::{RowBlock, Tile};
use crate::error::{FeatureError, Halt, PredictError};
use crate::features::Features;
use crate::model::{ClassModel, Evm, Prepared};
use crate::params::TailModel;
use crate::points::Points;
use crate::progress::{Run, Stage};
use crate::psi::{ln_psi, support_of, support_of_ln};

/// What the model says of a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decision {
    /// A class supports the query.
    Known {
        /// The class, by position in [`Evm::classes`].
        class: usize,
        /// Its score, raised by its lead where there is a [`contrast`](crate::Params::contrast).
        score: ClassScore,
    },
    /// No class reaches the rejection threshold.
    Unknown {
        /// The class that comes closest.
        nearest: usize,
        /// Its score, raised as above.
        score: ClassScore,
    },
}

impl Decision {
    /// The class, unless unknown.
    pub fn class(&self) -> Option<usize> {
        match *self {
            Decision::Known { class, .. } => Some(class),
            Decision::Unknown { .. } => None,
        }
    }

    /// The class of highest probability, known or not.
    pub fn best(&self) -> usize {
        match *self {
            Decision::Known { class, .. } => class,
            Decision::Unknown { nearest, .. } => nearest,
        }
    }

    /// The score of the best class.
    pub fn score(&self) -> ClassScore {
        match *self {
            Decision::Known { score, .. } | Decision::Unknown { score, .. } => score,
        }
    }

    /// P of the best class, at its score.
    pub fn probability(&self) -> f64 {
        self.score().probability()
    }
}

/// P(class | query), in two forms that do not underflow with it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ClassScore {
    /// ln P: of the mean of the `n_fused` largest psi.
    pub ln_probability: f64,
    /// Rises with P, and orders queries so far out that ln P has underflowed too. Scores are compared by it.
    pub support: f64,
}

impl ClassScore {
    /// P itself.
    pub fn probability(&self) -> f64 {
        self.ln_probability.exp()
    }
}

impl Evm {
    /// Decides for each query. Ties go to the class that was learned first.
    pub fn decide(&self, queries: &Features<'_>) -> Result<Vec<Decision>, PredictError> {
        self.decide_with(&Run::new(), queries)
    }

    /// As [`decide`](Self::decide), watched and sized by `run`.
    pub fn decide_with(&self, run: &Run<'_>, queries: &Features<'_>) -> Result<Vec<Decision>, PredictError> {
        self.for_each_query(run, queries, |_, scores| self.decision(scores))
    }

    /// P of every class for every query: `queries.rows()` rows of one value for each class. Rows do not sum to 1.
    pub fn probabilities(&self, queries: &Features<'_>) -> Result<Vec<f64>, PredictError> {
        let rows = self.for_each_query(&Run::new(), queries, |_, scores| {
            scores.iter().map(ClassScore::probability).collect::<Vec<f64>>()
        })?;
        Ok(rows.concat())
    }

    /// Calls `each(row, scores by class)` for every query, on many threads, and collects what it returns.
    ///
    /// This is what all answers are made of, for whoever wants more than one of them from a single pass.
    pub fn for_each_query<R: Send>(
        &self,
        run: &Run<'_>,
        queries: &Features<'_>,
        each: impl Fn(usize, &[ClassScore]) -> R + Sync,
    ) -> Result<Vec<R>, PredictError> {
        let points = self.query_points(queries)?;
        let prepared = self.prepared();
        let all: Vec<usize> = (0..points.len()).collect();
        let block_rows = run.block_rows(all.len());
        let alone = all.len() <= block_rows;
        let meter = run.meter(Stage::Predict, all.len());
        let blocks: Result<Vec<Vec<R>>, Halt> = all
            .par_chunks(block_rows)
            .map(|rows| {
                meter.check()?;
                let scores = self.score_block(run, prepared, &points, rows, alone)?;
                let classes = self.classes.len();
                let results = rows
                    .iter()
                    .zip(scores.chunks_exact(classes))
                    .map(|(&row, scores)| each(row, scores))
                    .collect();
                meter.advance(rows.len())?;
                Ok(results)
            })
            .collect();
        Ok(blocks?.into_iter().flatten().collect())
    }

    pub(crate) fn query_points<'a>(&self, queries: &'a Features<'_>) -> Result<Points<'a>, FeatureError> {
        if queries.columns() != self.dimensions {
            return Err(FeatureError::Dimensions { expected: self.dimensions, found: queries.columns() });
        }
        self.whitened(Points::prepare(queries, &self.params.metric)?)
    }

    /// k, or the size of the largest class where that is less.
    pub(crate) fn fused(&self) -> usize {
        self.params.n_fused.min(self.classes.iter().map(ClassModel::len).max().unwrap_or(1))
    }

    /// Scores of each row for each class. A block that is `alone` is shared by all threads.
    fn score_block(
        &self,
        run: &Run<'_>,
        prepared: &Prepared,
        points: &Points<'_>,
        rows: &[usize],
        alone: bool,
    ) -> Result<Vec<ClassScore>, Halt> {
        let fused = self.fused();
        let block = prepared.columns.block(points, rows);
        let count = prepared.columns.len();
        let parts = if alone { rayon::current_num_threads() } else { 1 };
        let width = count.div_ceil(parts).next_multiple_of(run.tile_columns);
        let starts: Vec<usize> = (0..count).step_by(width).collect();
        let best: Result<Vec<Vec<f64>>, Halt> = starts
            .into_par_iter()
            .map(|start| {
                self.largest_supports(run, prepared, &block, rows.len(), start..(start + width).min(count))
            })
            .collect();
        // Which are the largest does not depend on who found them.
        let best = best?.into_iter().reduce(|mut best, other| {
            for (best, other) in best.chunks_exact_mut(fused).zip(other.chunks_exact(fused)) {
                keep_largest(best, other);
            }
            best
        });
        let classes = self.classes.len();
        let best = best.unwrap_or_default();
        let scores = best.chunks_exact(fused).enumerate().map(|(slot, supports)| {
            let count = fused.min(self.classes[slot % classes].len());
            score(self.params.tail_model, &supports[..count])
        });
        Ok(scores.collect())
    }

    /// By row and class, the k largest supports among the given extreme vectors.
    fn largest_supports(
        &self,
        run: &Run<'_>,
        prepared: &Prepared,
        block: &RowBlock,
        rows: usize,
        vectors: Range<usize>,
    ) -> Result<Vec<f64>, Halt> {
        let metric = &self.params.metric;
        let (fused, classes) = (self.fused(), self.classes.len());
        let mut best = vec![f64::NEG_INFINITY; rows * classes * fused];
        let mut tile = Tile::default();
        let mut support = Vec::new();
        for start in vectors.clone().step_by(run.tile_columns) {
            let end = (start + run.tile_columns).min(vectors.end);
            prepared.columns.ranks(block, start..end, &mut tile)?;
            support.resize(end - start, 0.0);
            let first = prepared.ranges.partition_point(|range| range.end <= start);
            for row in 0..rows {
                let distances = tile.row(row).iter().map(|&rank| metric.distance_of_rank(rank));
                prepared.curves.support(start, distances, &mut support);
                let own = prepared.ranges.iter().enumerate().skip(first);
                for (class, range) in own.take_while(|(_, range)| range.start < end) {
                    let slot = (row * classes + class) * fused;
                    let part = range.start.max(start) - start..range.end.min(end) - start;
                    keep_largest(&mut best[slot..slot + fused], &support[part]);
                }
            }
        }
        Ok(best)
    }

    /// The decision that follows from the scores of one query, one for each class.
    ///
    /// # Panics
    ///
    /// Without any score.
    pub fn decision(&self, scores: &[ClassScore]) -> Decision {
        self.decision_at(scores, self.params.contrast)
    }

    /// As [`decision`](Self::decision), with another [`contrast`](crate::Params::contrast) than the model's own.
    ///
    /// # Panics
    ///
    /// Without any score.
    pub fn decision_at(&self, scores: &[ClassScore], contrast: f64) -> Decision {
        let mut best = 0;
        let mut second = f64::NEG_INFINITY;
        for (class, score) in scores.iter().enumerate().skip(1) {
            if score.support > scores[best].support {
                second = scores[best].support;
                best = class;
            } else {
                second = second.max(score.support);
            }
        }
        let score = self.contrasted(scores[best], second, contrast);
        // The cover tests support too, so that rounding cannot come between it and the decision.
        if score.support >= support_of(self.params.tail_model, self.params.rejection_threshold) {
            Decision::Known { class: best, score }
        } else {
            Decision::Unknown { nearest: best, score }
        }
    }
}

impl Evm {
    /// The best score, raised by its lead over the second best support. A lead that is not finite (one class in
    /// all, or a query that is an extreme vector) says nothing and raises nothing.
    fn contrasted(&self, best: ClassScore, second: f64, contrast: f64) -> ClassScore {
        let lead = best.support - second;
        if contrast == 0.0 || !lead.is_finite() {
            return best;
        }
        let support = best.support + contrast * lead;
        ClassScore { ln_probability: ln_psi(self.params.tail_model, support), support }
    }
}

/// Merges `values` into `largest`, which is sorted from the largest down.
pub(crate) fn keep_largest(largest: &mut [f64], values: &[f64]) {
    if let [only] = largest {
        *only = values.iter().fold(*only, |best, &value| if value > best { value } else { best });
        return;
    }
    let last = largest.len() - 1;
    for &value in values {
        if value > largest[last] {
            let position = largest.partition_point(|&other| other >= value);
            largest[position..].rotate_right(1);
            largest[position] = value;
        }
    }
}

/// The mean of psi over supports sorted from the largest down.
pub(crate) fn score(model: TailModel, supports: &[f64]) -> ClassScore {
    let support = supports[0];
    let largest = ln_psi(model, support);
    if supports.len() == 1 || largest == f64::NEG_INFINITY {
        return ClassScore { ln_probability: largest, support };
    }
    let sum: f64 = supports.iter().map(|&support| (ln_psi(model, support) - largest).exp()).sum();
    let ln_probability = largest + (sum / supports.len() as f64).ln();
    ClassScore { ln_probability, support: support_of_ln(model, ln_probability) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_kept_in_order() {
        let mut largest = [f64::NEG_INFINITY; 3];
        keep_largest(&mut largest, &[1.0, 5.0, 2.0]);
        keep_largest(&mut largest, &[4.0, 0.0, f64::INFINITY]);
        assert_eq!(largest, [f64::INFINITY, 5.0, 4.0]);
    }

    #[test]
    fn the_score_is_the_mean_of_psi() {
        let supports: Vec<f64> = [0.9, 0.5, 0.1].iter().map(|&p| support_of(TailModel::Weibull, p)).collect();
        let found = score(TailModel::Weibull, &supports).ln_probability.exp();
        assert!((found - 0.5).abs() < 1e-12, "{found}");
    }

    #[test]
    fn far_out_the_mean_does_not_underflow() {
        let found = score(TailModel::Weibull, &[-7.0, -8.0]).ln_probability;
        let expected = -(7.0f64.exp()) - 2.0f64.ln();
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
}
