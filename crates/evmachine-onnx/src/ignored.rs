//! Ignored samples: a query that is nearest to one of them is unknown, as in the library's `ignored`.

use evmachine::Machine;

use crate::builder::{Builder, Name};
use crate::message::{Attribute, Data, ElementType};
use crate::score::{self, Scores};

/// What supports fall by.
const FALL: f64 = 1e9;
/// From where they fall at most.
const MOST_SUPPORT: f64 = 1e8;

/// Distances to extreme vectors, and to ignored samples and denials where there are any, of those to all of them.
pub(crate) fn apart(
    builder: &mut Builder,
    machine: &Machine,
    distances: Name,
) -> (Name, Option<Name>, Option<Name>) {
    let others = [machine.ignored_count(), machine.denied_count()];
    let sizes: Vec<usize> = others.iter().copied().filter(|count| *count > 0).collect();
    if sizes.is_empty() {
        return (distances, None, None);
    }
    let sizes = [&[machine.extreme_vector_count()], &sizes[..]].concat();
    let count = sizes.len();
    let sizes = builder.constant("apart", vec![count], Data::Integers(sizes));
    let axis = vec![Attribute::Integer("axis", 1)];
    let mut parts = builder.apply_many("Split", &[&distances, &sizes], axis, count).into_iter();
    let known = parts.next().unwrap_or_default();
    let [ignored, denied] = others.map(|count| if count > 0 { parts.next() } else { None });
    (known, ignored, denied)
}

/// The scores, fallen where no extreme vector is nearer than an ignored sample.
pub(crate) fn beside(
    builder: &mut Builder,
    machine: &Machine,
    distances: &str,
    ignored: Option<Name>,
    scores: Scores,
) -> Scores {
    let Some(ignored) = ignored else { return scores };
    // As 32-bit numbers, which the library compares: equal distances differ in the last bits of 64.
    let mut nearest = |distances: &str| {
        let found = builder.reduce("ReduceMin", distances, 1, true);
        builder.cast(&found, ElementType::Float)
    };
    let (known, stranger) = (nearest(distances), nearest(&ignored));
    let decides = builder.apply("LessOrEqual", &[&stranger, &known]);
    let (fall, most) = (builder.number(FALL), builder.number(MOST_SUPPORT));
    let bounded = builder.apply("Min", &[&scores.support, &most]);
    let fallen = builder.apply("Sub", &[&bounded, &fall]);
    let fallen_ln = score::ln_psi(builder, machine.params().tail_model, &fallen);
    Scores {
        support: builder.apply("Where", &[&decides, &fallen, &scores.support]),
        ln_probability: builder.apply("Where", &[&decides, &fallen_ln, &scores.ln_probability]),
    }
}
