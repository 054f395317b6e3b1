//! Why a query was decided as it was.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::answer::decision::Decision;
use crate::error::RunError;
use crate::machine::denied::DeniedNearby;
use crate::machine::ignored::IgnoredNearby;
use crate::machine::score::ClassScore;
use crate::model::Evm;
use crate::witness::mixture::Testimony;
use evmachine_engine::distance::Tile;
use evmachine_engine::features::Features;
use evmachine_engine::points::Points;
use evmachine_engine::run::{Run, Stage};

/// The reasons for one decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The decision itself.
    pub decision: Decision,
    /// The classes, best first.
    pub classes: Vec<ClassEvidence>,
    /// The nearest ignored sample, where the model has any.
    pub ignored: Option<IgnoredNearby>,
    /// The nearest denials of the classes that the query cannot be for them; if there are none, the nearest denial, where the model has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<DeniedNearby>,
    /// How far the query must move at least to change between known and unknown, where one psi decides
    /// (`n_fused` 1, `contrast` 0, no witnesses beside the features): for an unknown query the way into the nearest ball in which the psi of an extreme vector
    /// reaches the rejection threshold, for a known one the way out of the ball that it is deepest in. Other balls
    /// may lie beyond it. Infinite where there is no such ball, or no end to it; JSON has null for that.
    #[serde(with = "crate::json")]
    pub distance_to_boundary: f64,
}

/// What one class has to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClassEvidence {
    /// The class, by position in [`Evm::classes`].
    pub class: usize,
    /// P(class | query).
    pub probability: f64,
    /// Which witness said what, where the features are not the only one: parts of the support of the class.
    pub witnesses: Option<Testimony>,
    /// The extreme vectors whose psi were averaged, largest first.
    pub extreme_vectors: Vec<Speaker>,
}

/// An extreme vector that spoke.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
    #[serde(with = "crate::json")]
    pub radius: f64,
}

/// # Explain
impl Evm {
    /// Explains each query by its `classes` best classes.
    ///
    /// ```
    /// # use evmachine::{Evm, Features, Labels, Params};
    /// # let features = Features::new(vec![0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// # let labels = Labels::new(["low", "low", "low", "high", "high", "high"])?;
    /// # let (evm, _) = Evm::fit(&Params::plain(), &features, &labels)?;
    /// let why = evm.explain(&Features::new(vec![0.15], 1)?, 1)?.remove(0);
    /// let speaker = why.classes[0].extreme_vectors[0];
    /// assert!(speaker.distance < 0.2 && speaker.distance < speaker.radius);
    /// assert!(why.distance_to_boundary > 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self, queries: &Features<'_>, classes: usize) -> Result<Vec<Explanation>, RunError> {
        self.explain_with(&Run::new(), queries, classes)
    }

    /// As [`explain`](Self::explain), watched and sized by `run`.
    pub fn explain_with(
        &self,
        run: &Run<'_>,
        queries: &Features<'_>,
        classes: usize,
    ) -> Result<Vec<Explanation>, RunError> {
        let points = self.machine.query_points(queries)?;
        let scores = self.map_queries_with(run, queries, |_, scores| scores.to_vec())?;
        let testimony = self.testimony(run, queries)?;
        let lookup = self.machine.lookup();
        lookup.columns.prepare();
        let sources: Vec<u64> = self.extreme_vectors().map(|vector| vector.source).collect();
        let meter = run.meter(Stage::Explain, points.len());
        let explain = |tile: &mut Tile, row: usize| -> Result<Explanation, RunError> {
            meter.check()?;
            let block = lookup.columns.block(&points, &[row]);
            lookup.columns.ranks(&block, 0..lookup.columns.len(), tile)?;
            let ignored = self.machine.nearest_ignored(&points, &[row], run.tile_columns())?;
            let ignored = ignored.map(|found| self.machine.ignored_nearby(found[0], tile.row(0)));
            let reasons = Findings {
                evm: self,
                sources: &sources,
                ranks: tile.row(0),
                scores: &scores[row],
                testimony: testimony.as_ref().map(|parts| &parts[row * self.machine.classes.len()..]),
            };
            let denied = self.machine.nearest_denied(&points, &[row], run.tile_columns())?;
            let denied = self.machine.denied_nearby(&denied, tile.row(0));
            let explanation = Explanation { ignored, denied, ..reasons.explanation(classes) };
            meter.advance(1)?;
            Ok(explanation)
        };
        let found: Result<Vec<Explanation>, RunError> =
            (0..points.len()).into_par_iter().map_init(Tile::default, explain).collect();
        found
    }

    /// For each query the extreme vectors that lie nearest, of whatever class, the nearest first: classes and speakers.
    pub(crate) fn nearest(
        &self,
        run: &Run<'_>,
        queries: &Features<'_>,
        count: usize,
    ) -> Result<Vec<Vec<(usize, Speaker)>>, RunError> {
        let points = self.machine.query_points(queries)?;
        let lookup = self.machine.lookup();
        lookup.columns.prepare();
        let sources: Vec<u64> = self.extreme_vectors().map(|vector| vector.source).collect();
        let meter = run.meter(Stage::Explain, points.len());
        let look = |tile: &mut Tile, row: usize| -> Result<Vec<(usize, Speaker)>, RunError> {
            let block = lookup.columns.block(&points, &[row]);
            lookup.columns.ranks(&block, 0..lookup.columns.len(), tile)?;
            let ranks = tile.row(0);
            let mut order: Vec<usize> = (0..ranks.len()).collect();
            order.sort_by(|&a, &b| ranks[a].total_cmp(&ranks[b]).then(a.cmp(&b)));
            let found = Findings { evm: self, sources: &sources, ranks, scores: &[], testimony: None };
            let class = |index: usize| lookup.ranges.partition_point(|range| range.end <= index);
            let near = order.into_iter().take(count).map(|index| (class(index), found.speaker(index)));
            meter.advance(1)?;
            Ok(near.collect())
        };
        (0..points.len()).into_par_iter().map_init(Tile::default, look).collect()
    }

    /// What the witnesses beside the features say: rows x classes.
    fn testimony(&self, run: &Run<'_>, queries: &Features<'_>) -> Result<Option<Vec<Testimony>>, RunError> {
        let Some(witnesses) = &self.witnesses else { return Ok(None) };
        let points = Points::prepare(queries, &self.machine.params.metric)?;
        let rows: Vec<usize> = (0..points.len()).collect();
        witnesses.parts(run, &points, &rows, None, self.machine.classes.len()).map(Some)
    }
}

/// What there is to say of one query.
struct Findings<'a> {
    evm: &'a Evm,
    /// By extreme vector, the training row it came from.
    sources: &'a [u64],
    /// By extreme vector, the rank of its distance.
    ranks: &'a [f32],
    /// By class.
    scores: &'a [ClassScore],
    /// By class, the features' part being the offset alone.
    testimony: Option<&'a [Testimony]>,
}

impl Findings<'_> {
    fn explanation(&self, classes: usize) -> Explanation {
        let mut order: Vec<usize> = (0..self.scores.len()).collect();
        let support = |class: usize| self.scores[class].support;
        order.sort_by(|&a, &b| support(b).total_cmp(&support(a)).then(a.cmp(&b)));
        // The way out of the last ball that holds the query, or into the first one.
        let depth = |index: usize| {
            let radius = self.radius(index);
            if radius < 0.0 { f64::NEG_INFINITY } else { radius - self.distance(index) }
        };
        let deepest = (0..self.ranks.len()).map(depth).fold(f64::NEG_INFINITY, f64::max);
        Explanation {
            decision: self.evm.decision(self.scores),
            classes: order.iter().take(classes).map(|&class| self.evidence(class)).collect(),
            ignored: None,
            denied: Vec::new(),
            distance_to_boundary: deepest.abs(),
        }
    }

    fn evidence(&self, class: usize) -> ClassEvidence {
        let lookup = self.evm.machine.lookup();
        let support = |index: usize| lookup.curves.get(index).support(self.distance(index));
        let mut ranked: Vec<(f64, usize)> =
            lookup.ranges[class].clone().map(|index| (support(index), index)).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let loudest = ranked.iter().take(self.evm.machine.params.n_fused);
        let score = self.scores[class];
        let witnesses = self.testimony.map(|parts| {
            let part = parts[class];
            Testimony { features: score.support - part.logits - part.probe - part.forest, ..part }
        });
        ClassEvidence {
            class,
            probability: score.psi(),
            witnesses,
            extreme_vectors: loudest.map(|&(_, index)| self.speaker(index)).collect(),
        }
    }

    fn speaker(&self, index: usize) -> Speaker {
        let distance = self.distance(index);
        Speaker {
            extreme_vector: index,
            source: self.sources[index],
            distance,
            psi: self.evm.machine.lookup().curves.get(index).psi(distance),
            radius: self.radius(index),
        }
    }

    /// The distance at which psi falls below the threshold of the extreme vector's class.
    fn radius(&self, index: usize) -> f64 {
        let lookup = self.evm.machine.lookup();
        let class = lookup.ranges.partition_point(|range| range.end <= index);
        f64::from(lookup.curves.get(index).radius_at(self.evm.threshold_of(class)))
    }

    fn distance(&self, index: usize) -> f64 {
        f64::from(self.evm.machine.params.metric.distance_of_rank(self.ranks[index]))
    }
}
