//! Ignored samples: strangers that stay strangers.
//!
//! They are no class and are never answered, but stand in the tails of all classes as negatives do, and a query that lies no
//! farther from one of them than from every extreme vector is unknown: all its supports fall by `10^9`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{FeatureError, RunError};
use crate::machine::Machine;
use crate::machine::samples::nearest;
use evmachine_engine::features::Features;
use evmachine_engine::points::Points;

/// By how much the supports of a query fall that is nearest to an ignored sample.
pub(crate) const FALL: f64 = 1e9;
/// From where supports fall at most: that of a query that is an extreme vector is infinite.
pub(crate) const MOST_SUPPORT: f64 = 1e8;

/// The ignored sample that is nearest to a query.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IgnoredNearby {
    /// The row it came from, counted from 0 over all data ever given to the model.
    pub source: u64,
    /// Its distance to the query.
    pub distance: f64,
    /// Whether no extreme vector is nearer, which makes the query unknown.
    pub decides: bool,
}

impl Machine {
    /// Number of ignored samples.
    pub fn ignored_count(&self) -> usize {
        self.ignored.len()
    }

    /// The rows that ignored samples came from, counted from 0 over all data ever given to the model.
    pub fn ignored_sources(&self) -> &[u64] {
        &self.ignored.sources
    }

    /// The ignored samples, as they stand in the model: whitened where whitening is on, of unit length for cosine.
    pub fn ignored_vectors(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.ignored.vectors.chunks_exact(self.dimensions)
    }

    /// Samples as they stand in the model, from rows as they came.
    pub(crate) fn take_ignored(&mut self, features: &Features<'_>, first: u64) -> Result<(), FeatureError> {
        let points = self.query_points(features)?;
        Arc::make_mut(&mut self.ignored).extend(&points, first);
        Ok(())
    }

    /// An ignored sample beside the ranks of all extreme vectors.
    pub(crate) fn ignored_nearby(&self, (rank, at): (f32, usize), ranks: &[f32]) -> IgnoredNearby {
        IgnoredNearby {
            source: self.ignored.sources[at],
            distance: f64::from(self.params.metric.distance_of_rank(rank)),
            decides: ranks.iter().all(|other| rank <= *other),
        }
    }

    /// For each row, its nearest ignored sample, where there are any.
    pub(crate) fn nearest_ignored(
        &self,
        points: &Points<'_>,
        rows: &[usize],
        tile_columns: usize,
    ) -> Result<Option<Vec<(f32, usize)>>, RunError> {
        match self.lookup().ignored.as_deref() {
            Some(columns) => Ok(Some(nearest(columns, points, rows, tile_columns)?)),
            None => Ok(None),
        }
    }
}
