//! The witnesses of a model, as seen from outside.

use evmachine_forest::ForestArrays;

use crate::heldout::sample::Rehearsal;
use crate::machine::Machine;
use crate::machine::report::Shares;
use crate::model::Evm;
use crate::witness::Witnesses;
use crate::witness::forest::ForestWitness;
use crate::witness::probe::Probe;

/// The parts of a model that [`Evm::witnesses`] tells: what a decision needs beside the extreme vectors.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WitnessInfo<'a> {
    /// The linear probe z, if it is heard.
    pub probe: Option<&'a Probe>,
    /// The machine over logits l, with the probe whose logits are its features.
    pub logits: Option<(&'a Probe, &'a Machine)>,
    /// The forest of p, if it is heard: as `t = ln(p + 0.001)`.
    pub forest: Option<ForestArrays>,
    /// What the support in feature space is multiplied with.
    pub feature: f64,
    /// What `min(l, logit_cap)` is multiplied with.
    pub logit: f64,
    /// What `min(z, probe_cap)` is multiplied with.
    pub linear: f64,
    /// What t is multiplied with.
    pub trees: f64,
    /// What is added to the sum of all.
    pub offset: f64,
    /// The largest l that counts.
    pub logit_cap: f64,
    /// The largest z that counts.
    pub probe_cap: f64,
}

/// # Look inside
impl Evm {
    /// How much of a decision is the support in feature space, the machine over logits, the linear probe and the forest. `None` if
    /// the first decides alone.
    pub fn shares(&self) -> Option<Shares> {
        self.witnesses.as_ref().map(|witnesses| witnesses.mixture.shares())
    }

    /// The witnesses beside the support in feature space; `None` where that decides alone.
    pub fn witnesses(&self) -> Option<WitnessInfo<'_>> {
        let Witnesses { voices, mixture } = self.witnesses.as_deref()?;
        Some(WitnessInfo {
            probe: voices.probe.as_ref(),
            forest: voices.forest.as_ref().map(ForestWitness::arrays),
            trees: mixture.forest,
            logits: voices.logits.as_ref().map(|logits| (&logits.projection, &logits.machine)),
            feature: mixture.feature,
            logit: mixture.logit,
            linear: mixture.probe,
            offset: mixture.offset,
            logit_cap: mixture.logit_cap,
            probe_cap: mixture.probe_cap,
        })
    }
}

impl Evm {
    /// How many learned rows of a class the sample keeps.
    pub(crate) fn rehearsal(&self) -> Rehearsal {
        match &self.witnesses {
            Some(witnesses) if witnesses.voices.forest.is_some() => Rehearsal::Forest,
            Some(_) => Rehearsal::Probe,
            None => Rehearsal::Nothing,
        }
    }
}
