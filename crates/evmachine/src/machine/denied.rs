//! Denials: vectors that are not of a class, whatever else they are.
//!
//! A denial is a negative of its class alone. It stands in the tails of the class's points as any negative does, and a query that
//! lies no farther from one of them than from every extreme vector is not answered with the class: its support there is minus
//! infinity, before witnesses are heard and after, and the other classes decide.
//!
//! What a class has learned is kept apart from its denials: tails and fits in the model are those without them, and the
//! Psi-models that decide are made of both when they are first asked for. So a denial that is withdrawn leaves nothing behind,
//! whatever was learned, reduced or forgotten in between.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::RunError;
use crate::machine::Machine;
use crate::machine::class::ClassModel;
use crate::machine::margin_columns::MarginColumns;
use crate::machine::refit::Old;
use crate::machine::samples::nearest;
use crate::machine::score::{ClassScore, DENIED};
use crate::params::TailMemory;
use evmachine_engine::distance::{Columns, Tile};
use evmachine_engine::points::Points;
use evmachine_engine::psi::weibull::fit_tail;
use evmachine_engine::psi::{FitStatus, PsiModel};
use evmachine_engine::run::Run;
use evmachine_engine::tail::merge::{Merging, merge_sorted};

/// A vector that is not of a class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Denial<'a> {
    /// The class, by position in [`Evm::classes`](crate::Evm::classes).
    pub class: usize,
    /// The row it came from, counted from 0 over all data ever given to the model.
    pub source: u64,
    /// The vector, as in [`ExtremeVector`](crate::ExtremeVector), but never moved by smoothing.
    pub vector: &'a [f32],
}

/// The denial of a class that is nearest to a query.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeniedNearby {
    /// The class that the query cannot be, if the denial decides.
    pub class: usize,
    /// The row it came from, counted from 0 over all data ever given to the model.
    pub source: u64,
    /// Its distance to the query.
    pub distance: f64,
    /// Whether no extreme vector is nearer, so that the query is not answered with the class.
    pub decides: bool,
}

/// What a query loses before its scores are compared.
#[derive(Debug, Default)]
pub(crate) struct Loss {
    /// Of the support of every class.
    pub(crate) fall: f64,
    /// Classes that it cannot be.
    pub(crate) denied: Vec<u32>,
}

impl Loss {
    /// Takes all support from the classes that the query cannot be.
    pub(crate) fn deny(&self, scores: &mut [ClassScore]) {
        for &class in &self.denied {
            scores[class as usize] = DENIED;
        }
    }
}

/// For each class with denials, the rank of the nearest one to each query and its place among them.
pub(crate) type NearestDenied = Vec<(u32, Vec<(f32, usize)>)>;

impl Machine {
    /// Vectors that are not of a class, class by class, in the order in which they came.
    pub fn denials(&self) -> impl Iterator<Item = Denial<'_>> {
        self.classes.iter().enumerate().flat_map(move |(class, model)| {
            let vectors = model.denied.vectors.chunks_exact(self.dimensions);
            vectors.zip(&model.denied.sources).map(move |(vector, &source)| Denial { class, source, vector })
        })
    }

    /// Number of vectors that are not of a class.
    pub fn denied_count(&self) -> usize {
        self.classes.iter().map(|class| class.denied.len()).sum()
    }

    pub(crate) fn has_denied(&self) -> bool {
        self.classes.iter().any(|class| !class.denied.is_empty())
    }

    /// The Psi-models of a class, its denials among the negatives.
    pub(crate) fn psi_of(&self, class: usize) -> &[PsiModel] {
        let model = &self.classes[class];
        if model.denied.is_empty() {
            return &model.psi;
        }
        let all = self.cached_denied_psi(|| {
            let made = (0..self.classes.len()).map(|class| match self.denied_psi(class) {
                Ok(psi) => psi,
                // A metric of the user's own that gives no distance; queries, which meet the same vectors, say so.
                Err(_) => self.classes[class].psi.clone(),
            });
            made.collect()
        });
        &all[class]
    }

    /// As [`psi_of`](Self::psi_of), made now; empty for a class without denials.
    fn denied_psi(&self, number: usize) -> Result<Vec<PsiModel>, RunError> {
        let class = &self.classes[number];
        let Some(columns) = class.denied.columns(&self.params.metric, self.dimensions) else {
            return Ok(Vec::new());
        };
        let found = self.distances_to_denied(class, columns.as_ref())?;
        let guessed = self.is_guessed();
        let size = if guessed {
            self.params.tail_size.resolve(self.dimensions, self.classes.len(), class.denied.len())
        } else {
            class.tail_size
        };
        // Of a tail that is not remembered, as much as the model still holds.
        let mut gathered: Vec<Option<Vec<f32>>> = vec![None; class.len()];
        if self.tail_memory != TailMemory::Full && !guessed {
            let enters = |at: &usize| match class.tails[*at].last() {
                Some(largest) => found[*at].first().is_some_and(|nearest| nearest < largest),
                None => true,
            };
            let some: Vec<usize> = (0..class.len())
                .filter(|&at| class.psi[at].status != FitStatus::Pooled)
                .filter(enters)
                .collect();
            let start = self.ranges()[number].start;
            let places: Vec<usize> = some.iter().map(|at| start + at).collect();
            let sizes: Vec<usize> = self.classes.iter().map(|class| class.tail_size).collect();
            let old = Old::new(self, &sizes);
            let here = MarginColumns::new(self, None);
            let tails = here.nearest(&Run::new(), &old, &places, |_, tail, (): &mut ()| tail.to_vec())?;
            for (at, tail) in some.into_iter().zip(tails) {
                gathered[at] = Some(tail);
            }
        }
        let rule = self.params.fit_rule();
        let refit = |merging: &mut Merging, at: usize| {
            let tail = match (&gathered[at], self.tail_memory) {
                _ if guessed => &[][..],
                _ if class.psi[at].status == FitStatus::Pooled => return class.psi[at],
                (Some(tail), _) => &tail[..],
                (None, TailMemory::Full) => &class.tails[at][..],
                (None, _) => return class.psi[at],
            };
            if merge_sorted(tail, &found[at], size, &mut merging.merged) {
                fit_tail(&merging.merged, &rule, &mut merging.workspace)
            } else {
                class.psi[at]
            }
        };
        Ok((0..class.len()).into_par_iter().map_init(Merging::default, refit).collect())
    }

    /// For each extreme vector of a class, its distances to the denials, sorted.
    fn distances_to_denied(
        &self,
        class: &ClassModel,
        columns: &dyn Columns,
    ) -> Result<Vec<Vec<f32>>, RunError> {
        let points = Points::ready(&class.vectors[..], self.dimensions);
        let rows: Vec<usize> = (0..points.len()).collect();
        let run = Run::new();
        let blocks: Result<Vec<Vec<Vec<f32>>>, RunError> = rows
            .par_chunks(run.block_rows(rows.len()))
            .map(|rows| {
                let (block, mut tile) = (columns.block(&points, rows), Tile::default());
                let mut found = vec![Vec::with_capacity(columns.len()); rows.len()];
                for start in (0..columns.len()).step_by(run.tile_columns()) {
                    let end = (start + run.tile_columns()).min(columns.len());
                    columns.ranks(&block, start..end, &mut tile)?;
                    for (row, found) in found.iter_mut().enumerate() {
                        let distances = tile.row(row).iter();
                        found.extend(distances.map(|&rank| self.params.metric.distance_of_rank(rank)));
                    }
                }
                for found in &mut found {
                    found.sort_unstable_by(f32::total_cmp);
                }
                Ok(found)
            })
            .collect();
        Ok(blocks?.into_iter().flatten().collect())
    }

    pub(crate) fn denied_columns(&self) -> Vec<(u32, Arc<dyn Columns>)> {
        let classes = (0u32..).zip(&self.classes);
        let laid = classes.filter_map(|(number, class)| {
            let columns = class.denied.columns(&self.params.metric, self.dimensions)?;
            Some((number, columns))
        });
        laid.collect()
    }

    /// For each row, the nearest denial of each class that has any.
    pub(crate) fn nearest_denied(
        &self,
        points: &Points<'_>,
        rows: &[usize],
        tile_columns: usize,
    ) -> Result<NearestDenied, RunError> {
        let mut all = Vec::new();
        if self.has_denied() {
            for (class, columns) in &self.lookup().denied {
                all.push((*class, nearest(columns.as_ref(), points, rows, tile_columns)?));
            }
        }
        Ok(all)
    }

    /// Of what is nearest to one query, what decides; without any that does, the nearest. `ranks` are those of all extreme vectors.
    pub(crate) fn denied_nearby(&self, found: &NearestDenied, ranks: &[f32]) -> Vec<DeniedNearby> {
        let mut all: Vec<DeniedNearby> = found
            .iter()
            .map(|(class, found)| {
                let (rank, at) = found[0];
                DeniedNearby {
                    class: *class as usize,
                    source: self.classes[*class as usize].denied.sources[at],
                    distance: f64::from(self.params.metric.distance_of_rank(rank)),
                    decides: ranks.iter().all(|other| rank <= *other),
                }
            })
            .collect();
        all.sort_by(|a, b| b.decides.cmp(&a.decides).then(a.distance.total_cmp(&b.distance)));
        let deciding = all.iter().filter(|denial| denial.decides).count();
        all.truncate(deciding.max(1));
        all
    }
}
