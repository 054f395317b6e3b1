//! The label, the probability and the scores of each query (Eq. 3).

use evmachine::Evm;

use crate::builder::Builder;
use crate::message::{Attribute, Data};
use crate::score::Scores;

pub(crate) fn decision(builder: &mut Builder, evm: &Evm, scores: &Scores, unknown_label: &str) {
    let attributes = vec![Attribute::Integer("axis", 1), Attribute::Integer("keepdims", 0)];
    // The first of equals, which is the class that was learned first.
    let best = builder.apply_with("ArgMax", &[&scores.support], attributes);
    let support = builder.reduce("ReduceMax", &scores.support, 1, false);
    let params = evm.params();
    let threshold = builder.number(params.tail_model.support_at(params.rejection_threshold));
    let accepted = builder.apply("GreaterOrEqual", &[&support, &threshold]);
    let classes = evm.classes().len();
    let unknown = builder.constant("unknown", Vec::new(), Data::Integers(vec![classes]));
    let position = builder.apply("Where", &[&accepted, &best, &unknown]);
    let names = evm.classes().map(|class| class.name.to_owned()).chain([unknown_label.to_owned()]).collect();
    let names = builder.constant("names", vec![classes + 1], Data::Strings(names));
    builder.apply_as("label", "Gather", &[&names, &position]);
    builder.apply_as("scores", "Exp", &[&scores.ln_probability]);
    // P rises with support, so the best class has the largest.
    let largest = builder.reduce("ReduceMax", &scores.ln_probability, 1, false);
    builder.apply_as("probability", "Exp", &[&largest]);
}
