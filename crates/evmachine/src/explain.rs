//! Why a query was decided as it was.

use crate::decision::Decision;
use crate::distance::Tile;
use crate::error::PredictError;
use crate::features::Features;
use crate::model::Evm;
use crate::points::Points;
use crate::progress::Run;
use crate::witness::Testimony;

/// The reasons for one decision.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The decision itself.
    pub decision: Decision,
    /// The classes, best first.
    pub classes: Vec<ClassEvidence>,
    /// How far the query must move at least to change between known and unknown, where one psi decides
    /// (`n_fused` 1, `contrast` 0, no witnesses beside the features): for an unknown query the way into the nearest ball in which the psi of an extreme vector
    /// reaches the rejection threshold, for a known one the way out of the ball that it is deepest in. Other balls
    /// may lie beyond it. Infinite where there is no such ball, or no end to it.
    pub distance_to_boundary: f64,
}

/// What one class has to say.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ClassEvidence {
    /// The class, by position in [`Evm::classes`].
    pub class: usize,
    /// P(class | query).
    pub probability: f64,
    /// Which witness said what, where the features are not the only one: parts of the support of the class.
    pub testimony: Option<Testimony>,
    /// The extreme vectors whose psi were averaged, largest first.
    pub speakers: Vec<Speaker>,
}

/// An extreme vector that spoke.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Speaker {
    /// Its position in [`Evm::extreme_vectors`].
    pub extreme_vector: usize,
    /// The training row it came from.
    pub source: u64,
    /// Its distance to the query.
    pub distance: f64,
    /// Its psi at that distance.
    pub psi: f64,
    /// The distance at which its psi falls below the rejection threshold.
    pub radius: f64,
}

impl Evm {
    /// Explains each query by its `classes` best classes.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// # let (evm, _) = Evm::fit(&Params::default(), &features, &labels)?;
    /// let why = evm.explain(&Features::new(vec![0.15], 1)?, 1)?.remove(0);
    /// let speaker = why.classes[0].speakers[0];
    /// assert!(speaker.distance < 0.2 && speaker.distance < speaker.radius);
    /// assert!(why.distance_to_boundary > 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self, queries: &Features<'_>, classes: usize) -> Result<Vec<Explanation>, PredictError> {
        let points = self.query_points(queries)?;
        let scores = self.for_each_query(&Run::new(), queries, |_, scores| scores.to_vec())?;
        let lookup = self.lookup();
        let count = lookup.columns.len();
        let metric = &self.params.metric;
        let testimony = self.testimony(queries)?;
        let sources: Vec<u64> = self.extreme_vectors().map(|vector| vector.source).collect();
        let mut tile = Tile::default();
        let mut explanations = Vec::with_capacity(points.len());
        for (row, scores) in scores.iter().enumerate() {
            let block = lookup.columns.block(&points, &[row]);
            lookup.columns.ranks(&block, 0..count, &mut tile)?;
            let speaker = |index: usize| {
                let distance = f64::from(metric.distance_of_rank(tile.row(0)[index]));
                let curve = lookup.curves.get(index);
                let class = lookup.ranges.partition_point(|range| range.end <= index);
                Speaker {
                    extreme_vector: index,
                    source: sources[index],
                    distance,
                    psi: curve.psi(distance),
                    radius: f64::from(curve.radius_at(self.threshold_of(class))),
                }
            };
            let mut order: Vec<usize> = (0..scores.len()).collect();
            order.sort_by(|&a, &b| scores[b].support.total_cmp(&scores[a].support).then(a.cmp(&b)));
            let evidence = order.iter().take(classes).map(|&class| {
                let range = lookup.ranges[class].clone();
                let support = |index: usize| {
                    lookup.curves.get(index).support(f64::from(metric.distance_of_rank(tile.row(0)[index])))
                };
                let mut ranked: Vec<(f64, usize)> = range.map(|index| (support(index), index)).collect();
                ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                let speakers =
                    ranked.iter().take(self.params.n_fused).map(|&(_, index)| speaker(index)).collect();
                let testimony = testimony.as_ref().map(|parts| {
                    let part = parts[row * scores.len() + class];
                    let features = scores[class].support - part.logits - part.probe;
                    Testimony { features, ..part }
                });
                ClassEvidence { class, probability: scores[class].probability(), testimony, speakers }
            });
            let decision = self.decision(scores);
            // The way out of the last ball that holds the query, or into the first one.
            let depth = |index: usize| {
                let speaker = speaker(index);
                if speaker.radius < 0.0 { f64::NEG_INFINITY } else { speaker.radius - speaker.distance }
            };
            let deepest = (0..count).map(depth).fold(f64::NEG_INFINITY, f64::max);
            explanations.push(Explanation {
                decision,
                classes: evidence.collect(),
                distance_to_boundary: deepest.abs(),
            });
        }
        Ok(explanations)
    }

    /// What the witnesses beside the features say: rows x classes.
    fn testimony(&self, queries: &Features<'_>) -> Result<Option<Vec<Testimony>>, PredictError> {
        let Some(witnesses) = &self.witnesses else { return Ok(None) };
        let points = Points::prepare(queries, &self.params.metric)?;
        let rows: Vec<usize> = (0..points.len()).collect();
        witnesses.parts(&Run::new(), &points, &rows, None).map(Some)
    }
}
