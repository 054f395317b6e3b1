//! The witnesses beside the support in feature space, put together as in the library's `witness`.

use evmachine::Evm;

use crate::ExportError;
use crate::builder::{Builder, Name};
use crate::forest;
use crate::score::{self, Scores};
use crate::space;

/// The scores that decide: those in feature space, with what the witnesses say where there are any.
pub(crate) fn heard(
    builder: &mut Builder,
    evm: &Evm,
    features: &str,
    scores: Scores,
) -> Result<Scores, ExportError> {
    let Some(witnesses) = evm.witnesses() else { return Ok(scores) };
    let rows = space::of_probe(builder, evm, features);
    let share = builder.number(witnesses.feature);
    let own = builder.apply("Mul", &[&scores.support, &share]);
    let offset = builder.number(witnesses.offset);
    let mut support = builder.apply("Add", &[&own, &offset]);
    // A support can be infinite, and 0 times that would be no number.
    if let Some((projection, machine)) = witnesses.logits.filter(|_| witnesses.logit > 0.0) {
        let logits = space::logits(builder, projection, &rows);
        let logits = space::of_logits(builder, &logits, projection.classes());
        let found = score::machine(builder, machine, &logits)?;
        let part = bounded(builder, &found.support, witnesses.logit, witnesses.logit_cap);
        support = builder.apply("Add", &[&support, &part]);
    }
    if let Some(probe) = witnesses.probe.filter(|_| witnesses.linear > 0.0) {
        let logits = space::logits(builder, probe, &rows);
        let part = bounded(builder, &logits, witnesses.linear, witnesses.probe_cap);
        support = builder.apply("Add", &[&support, &part]);
    }
    if let Some(forest) = witnesses.forest.as_ref().filter(|_| witnesses.trees > 0.0) {
        let said = forest::said(builder, forest, &rows);
        let factor = builder.number(witnesses.trees);
        let part = builder.apply("Mul", &[&said, &factor]);
        support = builder.apply("Add", &[&support, &part]);
    }
    let ln_probability = score::ln_psi(builder, evm.params().tail_model, &support);
    Ok(Scores { support, ln_probability })
}

/// `factor * min(value, most)`
fn bounded(builder: &mut Builder, value: &str, factor: f64, most: f64) -> Name {
    let (factor, most) = (builder.number(factor), builder.number(most));
    let bounded = builder.apply("Min", &[value, &most]);
    builder.apply("Mul", &[&bounded, &factor])
}
