//! Denials: a query that is nearest to one of them is not of its class, as in the library's `denied`.

use evmachine::Machine;

use crate::builder::{Builder, Name};
use crate::message::{Attribute, Data, ElementType};
use crate::score::Scores;

/// The scores, without support for the classes of which a denial is no farther than every extreme vector.
pub(crate) fn without(
    builder: &mut Builder,
    machine: &Machine,
    distances: &str,
    denied: Option<Name>,
    scores: Scores,
) -> Scores {
    let Some(denied) = denied else { return scores };
    let mut counts = vec![0usize; machine.classes().len()];
    machine.denials().for_each(|denial| counts[denial.class] += 1);
    let sizes: Vec<usize> = counts.iter().copied().filter(|count| *count > 0).collect();
    let axis = || vec![Attribute::Integer("axis", 1)];
    let split = builder.constant("denied", vec![sizes.len()], Data::Integers(sizes.clone()));
    let parts = builder.apply_many("Split", &[&denied, &split], axis(), sizes.len());
    // As 32-bit numbers, which the library compares: equal distances differ in the last bits of 64.
    let mut nearest = |distances: &str| {
        let found = builder.reduce("ReduceMin", distances, 1, true);
        builder.cast(&found, ElementType::Float)
    };
    let known = nearest(distances);
    let parts: Vec<Name> = parts.iter().map(|part| nearest(part)).collect();
    let mut parts = parts.iter();
    let mut decided: Vec<Name> = Vec::new();
    for count in counts {
        let part = if count > 0 { parts.next() } else { None };
        decided.push(match part {
            Some(part) => builder.apply("LessOrEqual", &[part, &known]),
            None => builder.apply("Less", &[&known, &known]),
        });
    }
    let decided: Vec<&str> = decided.iter().map(String::as_str).collect();
    let decided = builder.apply_with("Concat", &decided, axis());
    let nothing = builder.number(f64::NEG_INFINITY);
    Scores {
        support: builder.apply("Where", &[&decided, &nothing, &scores.support]),
        ln_probability: builder.apply("Where", &[&decided, &nothing, &scores.ln_probability]),
    }
}
