//! The witnesses of a model, as seen from outside.

use crate::machine::Machine;
use crate::machine::report::Shares;
use crate::model::Evm;
use crate::witness::Witnesses;
use crate::witness::probe::Probe;

/// The parts of a model that [`Evm::witnesses`] tells: what a decision needs beside the extreme vectors.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WitnessInfo<'a> {
    /// The linear probe z.
    pub probe: &'a Probe,
    /// The machine over logits l, with the probe whose logits are its features.
    pub logits: Option<(&'a Probe, &'a Machine)>,
    /// What the support in feature space is multiplied with.
    pub feature: f64,
    /// What `min(l, logit_cap)` is multiplied with.
    pub logit: f64,
    /// What `min(z, probe_cap)` is multiplied with.
    pub linear: f64,
    /// What is added to the sum of the three.
    pub offset: f64,
    /// The largest l that counts.
    pub logit_cap: f64,
    /// The largest z that counts.
    pub probe_cap: f64,
}

/// # Look inside
impl Evm {
    /// How much of a decision is the support in feature space, the machine over logits and the linear probe. `None` where
    /// the first decides alone.
    pub fn shares(&self) -> Option<Shares> {
        self.witnesses.as_ref().map(|witnesses| witnesses.mixture.shares())
    }

    /// The witnesses beside the support in feature space; `None` where that decides alone.
    pub fn witnesses(&self) -> Option<WitnessInfo<'_>> {
        let Witnesses { probe, logits, mixture } = self.witnesses.as_deref()?;
        Some(WitnessInfo {
            probe,
            logits: logits.as_ref().map(|logits| (&logits.projection, &logits.machine)),
            feature: mixture.feature,
            logit: mixture.logit,
            linear: mixture.probe,
            offset: mixture.offset,
            logit_cap: mixture.logit_cap,
            probe_cap: mixture.probe_cap,
        })
    }
}
