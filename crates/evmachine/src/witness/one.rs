//! What the witnesses say of one query, on the calling thread, in memory that the next query uses again.

use crate::error::RunError;
use crate::machine::one::OneQuery;
use crate::machine::sweep::NearVectors;
use crate::witness::probe::OneRow;
use crate::witness::{Witnesses, direct};

/// What one query leaves to the next.
#[derive(Default)]
pub(crate) struct WitnessMemory {
    row: OneRow,
    projected: Vec<f32>,
    logits: Vec<f64>,
    probe: Vec<f64>,
    forest: Vec<f64>,
    machine: OneQuery,
}

impl Witnesses {
    /// What the witnesses add to the support of each class, as [`additions`](Self::additions) has it, for a query ready for the
    /// metric.
    pub(crate) fn additions_of_one<'m>(
        &self,
        query: &[f32],
        near: Option<&NearVectors>,
        memory: &'m mut WitnessMemory,
    ) -> Result<impl Iterator<Item = f64> + use<'_, 'm>, RunError> {
        let WitnessMemory { row, projected, logits, probe, forest, machine } = memory;
        let scores = match &self.voices.logits {
            Some(voice) => {
                voice.projection.logits_of_one(query, row, logits);
                projected.clear();
                projected.resize(logits.len(), 0.0);
                direct(logits, projected);
                Some(voice.machine.scores_of_one(projected, near, machine)?)
            }
            None => None,
        };
        if let Some(voice) = &self.voices.probe {
            voice.logits_of_one(query, row, probe);
        }
        if let Some(voice) = &self.voices.forest {
            voice.says_of_one(query, forest);
        }
        let classes =
            [scores.map_or(0, <[_]>::len), probe.len(), forest.len()].into_iter().max().unwrap_or(0);
        let heard = |values: &[f64], class: usize| values.get(class).copied().unwrap_or(0.0);
        Ok((0..classes).map(move |class| {
            let logits = scores.map_or(0.0, |scores| scores[class].support);
            self.mixture.testimony(0.0, logits, heard(probe, class), heard(forest, class)).sum()
        }))
    }
}
