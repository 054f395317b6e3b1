//! The label, the probability and the scores of each query (Eq. 3).

use evmachine::Evm;

use crate::builder::{Builder, Name};
use crate::message::{Attribute, Data};
use crate::score::{self, Scores};

pub(crate) fn decision(builder: &mut Builder, evm: &Evm, scores: &Scores, unknown_label: &str) {
    let attributes = vec![Attribute::Integer("axis", 1), Attribute::Integer("keepdims", 0)];
    // The first of equals, which is the class that was learned first.
    let best = builder.apply_with("ArgMax", &[&scores.support], attributes);
    let Score { support, ln_probability } = best_score(builder, evm, scores);
    let classes = evm.classes().len();
    let thresholds = builder.row("thresholds", (0..classes).map(|class| evm.threshold_of(class)).collect());
    let threshold = builder.apply("Gather", &[&thresholds, &best]);
    let accepted = builder.apply("GreaterOrEqual", &[&support, &threshold]);
    let unknown = builder.constant("unknown", Vec::new(), Data::Integers(vec![classes]));
    let position = builder.apply("Where", &[&accepted, &best, &unknown]);
    let names = evm.classes().map(|class| class.name.to_owned()).chain([unknown_label.to_owned()]).collect();
    let names = builder.constant("names", vec![classes + 1], Data::Strings(names));
    builder.apply_as("label", "Gather", &[&names, &position]);
    builder.apply_as("scores", "Exp", &[&scores.ln_probability]);
    builder.apply_as("probability", "Exp", &[&ln_probability]);
}

/// Of the best class, both of shape (rows).
struct Score {
    support: Name,
    ln_probability: Name,
}

/// The score that delta is compared with: that of the best class, raised by `contrast` times its lead over the second
/// where that is finite.
fn best_score(builder: &mut Builder, evm: &Evm, scores: &Scores) -> Score {
    let support = builder.reduce("ReduceMax", &scores.support, 1, false);
    // P rises with support, so the best class has the largest.
    let ln_probability = builder.reduce("ReduceMax", &scores.ln_probability, 1, false);
    let params = evm.params();
    if params.contrast == 0.0 {
        return Score { support, ln_probability };
    }
    let two = builder.constant("k", vec![1], Data::Integers(vec![2]));
    let axis = || vec![Attribute::Integer("axis", 1)];
    let best_two = builder.apply_many("TopK", &[&scores.support, &two], axis(), 2).swap_remove(0);
    let mut pair = builder.apply_many("Split", &[&best_two], axis(), 2).into_iter();
    let (first, second) = (pair.next().unwrap_or_default(), pair.next().unwrap_or_default());
    let lead = builder.apply("Sub", &[&first, &second]);
    let one = builder.constant("axes", vec![1], Data::Integers(vec![1]));
    let lead = builder.apply("Squeeze", &[&lead, &one]);
    let contrast = builder.number(params.contrast);
    let raise = builder.apply("Mul", &[&lead, &contrast]);
    let raised = builder.apply("Add", &[&support, &raise]);
    let raised_ln = score::ln_psi(builder, params.tail_model, &raised);
    let (infinite, none) = (builder.apply("IsInf", &[&lead]), builder.apply("IsNaN", &[&lead]));
    let as_it_is = builder.apply("Or", &[&infinite, &none]);
    Score {
        support: builder.apply("Where", &[&as_it_is, &support, &raised]),
        ln_probability: builder.apply("Where", &[&as_it_is, &ln_probability, &raised_ln]),
    }
}
