//! How far a machine reaches: beyond, all supports of a query fall, as in the library's `reach`.

use evmachine::Machine;

use crate::ExportError;
use crate::builder::{Builder, Name};
use crate::message::{Attribute, Data};
use crate::score::{self, Scores};

/// What a support falls by at e times the reach.
const FALL: f64 = 1e6;

/// The scores, fallen where the query is out of reach of the first extreme vector.
pub(crate) fn within(
    builder: &mut Builder,
    machine: &Machine,
    distances: &str,
    scores: Scores,
) -> Result<Scores, ExportError> {
    let reach = machine.reach().map_err(|error| ExportError::CustomMetric { name: error.name })?;
    let Some(limit) = reach else { return Ok(scores) };
    let fall = fall(builder, limit, distances);
    let support = builder.apply("Sub", &[&scores.support, &fall]);
    let fallen = score::ln_psi(builder, machine.params().tail_model, &support);
    let zero = builder.number(0.0);
    let near = builder.apply("Equal", &[&fall, &zero]);
    let ln_probability = builder.apply("Where", &[&near, &scores.ln_probability, &fallen]);
    Ok(Scores { support, ln_probability })
}

/// Of shape (rows, 1): 0 within reach, which is where the ratio is at most 1.
fn fall(builder: &mut Builder, limit: f64, distances: &str) -> Name {
    let first = builder.constant("first", vec![1], Data::Integers(vec![0]));
    let axis = vec![Attribute::Integer("axis", 1)];
    let distance = builder.apply_with("Gather", &[distances, &first], axis);
    let (limit, one, slope) = (builder.number(limit), builder.number(1.0), builder.number(FALL));
    let ratio = builder.apply("Div", &[&distance, &limit]);
    let ratio = builder.apply("Max", &[&ratio, &one]);
    let ln = builder.apply("Log", &[&ratio]);
    builder.apply("Mul", &[&ln, &slope])
}
