//! How far the model reaches: beyond it a query is unknown, whatever its supports.
//!
//! Psi falls with the distance, but neither a lead over other classes nor a logit does, and a curve of small shape hardly.
//! So beyond three times the largest distance R between the first extreme vector and another, where every extreme
//! vector is farther than any two of them are apart, all supports of a query at distance d of the first one fall by
//! `10^6 ln(d / 3R)`. Cosine distances are bounded and have no beyond.

use std::sync::Arc;

use crate::machine::Machine;
use crate::machine::one::Room;
use evmachine_engine::distance::{self, Columns, Tile};
use evmachine_engine::metric::{Metric, MetricError};
use evmachine_engine::points::Points;

const MULTIPLE: f64 = 3.0;
const FALL: f64 = 1e6;

/// The first extreme vector, and the distance of it that is still within reach.
pub(crate) struct Reach {
    first: Arc<dyn Columns>,
    limit: f64,
}

impl Reach {
    /// `None` where there is no beyond: for cosine, or where all vectors are one.
    pub(crate) fn of(metric: &Metric, points: &Points<'_>) -> Result<Option<Self>, MetricError> {
        if *metric == Metric::Cosine || points.len() == 0 {
            return Ok(None);
        }
        let mut reach = Self { first: distance::columns(metric, points, &[0]).into(), limit: 0.0 };
        let all: Vec<usize> = (0..points.len()).collect();
        let mut largest = 0.0f64;
        for rows in all.chunks(1024) {
            let distances = reach.distances(metric, points, rows)?;
            largest = distances.into_iter().fold(largest, f64::max);
        }
        reach.limit = MULTIPLE * largest;
        Ok((reach.limit > 0.0 && reach.limit.is_finite()).then_some(reach))
    }

    fn distances(
        &self,
        metric: &Metric,
        points: &Points<'_>,
        rows: &[usize],
    ) -> Result<Vec<f64>, MetricError> {
        let block = self.first.block(points, rows);
        let mut tile = Tile::default();
        self.first.ranks(&block, 0..1, &mut tile)?;
        let distance = |row: usize| f64::from(metric.distance_of_rank(tile.row(row)[0]));
        Ok((0..rows.len()).map(distance).collect())
    }

    /// By how much the supports of one query fall, measured in the given room.
    pub(crate) fn fall_of_one(
        &self,
        metric: &Metric,
        query: &Points<'_>,
        room: &mut Room,
    ) -> Result<f64, MetricError> {
        let Room { block, tile, .. } = room;
        self.first.block_of_one(query, 0, block);
        self.first.ranks(block, 0..1, tile)?;
        Ok(self.fall(f64::from(metric.distance_of_rank(tile.row(0)[0]))))
    }

    /// By how much the supports of each row fall.
    pub(crate) fn falls(
        &self,
        metric: &Metric,
        points: &Points<'_>,
        rows: &[usize],
    ) -> Result<Vec<f64>, MetricError> {
        Ok(self.distances(metric, points, rows)?.into_iter().map(|distance| self.fall(distance)).collect())
    }

    /// By how much the supports of a query fall at this distance of the first extreme vector.
    pub(crate) fn fall(&self, distance: f64) -> f64 {
        if distance > self.limit { FALL * (distance / self.limit).ln() } else { 0.0 }
    }
}

impl Machine {
    /// The distance of the first extreme vector from which on every query is unknown; `None` where there is none, as for
    /// cosine. At a multiple m of it, all supports of a query fall by `10^6 ln m`. An error comes of a metric of the user's
    /// own that gives no distance between two extreme vectors.
    pub fn reach(&self) -> Result<Option<f64>, MetricError> {
        Ok(self.lookup().reach()?.map(|reach| reach.limit))
    }
}
