//! The scores of one query, on the calling thread, in memory that the next query uses again.
//!
//! Every sum and every curve is that of [`Machine::feature_scores`], bit for bit, so that a query is decided alike alone and among
//! others.

use crate::error::{FeatureError, RunError};
use crate::machine::Machine;
use crate::machine::ignored;
use crate::machine::samples::nearest_of_one;
use crate::machine::score::{ClassScore, DENIED};
use crate::machine::support::QueryMemory;
use crate::machine::sweep::{NearVectors, SweptVectors};
use crate::machine::whitening::WhiteningMemory;
use evmachine_engine::distance::{RowBlock, Tile};
use evmachine_engine::points::{self, Points};
use evmachine_engine::run::Run;

/// What one query leaves to the next. Grows to what the model needs, and no further.
#[derive(Default)]
pub(crate) struct OneQuery {
    /// The query in the space of the machine, ready for the metric.
    row: Vec<f32>,
    whitening: WhiteningMemory,
    room: Room,
    /// Supports of each class, the `fused` largest.
    best: Vec<f64>,
    scores: Vec<ClassScore>,
}

/// Where distances of one query are measured.
#[derive(Default)]
pub(crate) struct Room {
    pub(crate) block: RowBlock,
    pub(crate) tile: Tile,
    search: QueryMemory,
}

impl Machine {
    /// Scores of all classes for a query that is finite and of the machine's dimension.
    pub(crate) fn scores_of_one<'m>(
        &self,
        query: &[f32],
        near: Option<&NearVectors>,
        memory: &'m mut OneQuery,
    ) -> Result<&'m [ClassScore], RunError> {
        self.place_one(query, memory)?;
        let OneQuery { row, room, best, scores, .. } = memory;
        let points = Points::ready(&row[..], self.dimensions);
        best.clear();
        best.resize(self.classes.len() * self.fused(), f64::NEG_INFINITY);
        let nearest = match near {
            Some(near) => self.meet_near(near, &points, best)?,
            None => self.meet_all(&points, best, room)?,
        };
        let lookup = self.lookup();
        let mut fall = match lookup.reach()? {
            Some(reach) => reach.fall_of_one(&self.params.metric, &points, room)?,
            None => 0.0,
        };
        if let Some(ignored) = lookup.ignored.as_deref()
            && nearest_of_one(ignored, &points, room)? <= nearest
        {
            fall += ignored::FALL;
        }
        scores.clear();
        scores.extend(self.scored(best, fall));
        for (class, columns) in &lookup.denied {
            if nearest_of_one(columns.as_ref(), &points, room)? <= nearest {
                scores[*class as usize] = DENIED;
            }
        }
        Ok(scores)
    }

    /// Brings a query, as it came, to the space of the machine.
    fn place_one(&self, query: &[f32], memory: &mut OneQuery) -> Result<(), FeatureError> {
        let (row, metric) = (&mut memory.row, &self.params.metric);
        row.clear();
        row.extend_from_slice(query);
        match &self.standard {
            Some(standard) => {
                standard.apply_to_one(row);
                points::make_ready_whitened(row, metric)?;
            }
            None => points::make_ready(row, metric)?,
        }
        if let Some(whitening) = &self.whitening {
            whitening.apply_to_one(row, &mut memory.whitening);
            points::make_ready_whitened(row, metric)?;
        }
        Ok(())
    }

    /// Takes in all extreme vectors; the rank of the nearest.
    fn meet_all(&self, query: &Points<'_>, best: &mut [f64], room: &mut Room) -> Result<f32, RunError> {
        let lookup = self.lookup();
        let all = SweptVectors::all(lookup, self.fused());
        let Room { block, tile, search } = room;
        lookup.columns.block_of_one(query, 0, block);
        let (count, mut nearest) = (lookup.columns.len(), f32::INFINITY);
        for start in (0..count).step_by(Tile::COLUMNS) {
            lookup.columns.ranks(block, start..(start + Tile::COLUMNS).min(count), tile)?;
            all.offer(start, tile.row(0), &self.params.metric, best, search);
            nearest = tile.row(0).iter().copied().fold(nearest, f32::min);
        }
        Ok(nearest)
    }

    /// As [`meet_all`](Self::meet_all), for the extreme vectors of near cells; takes memory.
    fn meet_near(&self, near: &NearVectors, query: &Points<'_>, best: &mut [f64]) -> Result<f32, RunError> {
        let mut nearest = f32::INFINITY;
        near.meet(&Run::new(), (query, &[0]), self.fused(), |_, cell, first, ranks, search| {
            cell.offer(first, ranks, &self.params.metric, best, search);
            nearest = ranks.iter().copied().fold(nearest, f32::min);
        })?;
        Ok(nearest)
    }
}
