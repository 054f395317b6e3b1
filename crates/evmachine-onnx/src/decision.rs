//! The label, the supports, the p-value, the probability and the scores of each query (Eq. 3).

use evmachine::{Evm, PValueSteps};

use crate::builder::{Builder, Name};
use crate::message::{Attribute, Data};
use crate::score::{self, Scores};

/// Columns of classes are in an order of positions in the model.
pub(crate) fn decision(
    builder: &mut Builder,
    evm: &Evm,
    scores: &Scores,
    unknown_label: &str,
    order: &[usize],
) {
    let attributes = vec![Attribute::Integer("axis", 1), Attribute::Integer("keepdims", 0)];
    // The first of equals, which is the class that was learned first.
    let best = builder.apply_with("ArgMax", &[&scores.support], attributes);
    let Score { support, ln_probability } = best_score(builder, evm, scores);
    let classes = evm.classes().len();
    let thresholds = builder.row("thresholds", (0..classes).map(|class| evm.threshold_of(class)).collect());
    let threshold = builder.apply("Gather", &[&thresholds, &best]);
    let mut accepted = builder.apply("GreaterOrEqual", &[&support, &threshold]);
    if evm.denied_count() > 0 {
        // At no threshold is a query of the only class that it cannot be.
        let least = builder.number(f64::MIN);
        let supported = builder.apply("GreaterOrEqual", &[&support, &least]);
        accepted = builder.apply("And", &[&accepted, &supported]);
    }
    let supports = supports(builder, &scores.support, &support, &threshold, &accepted);
    in_order(builder, "supports", &supports, order);
    if let Some(steps) = evm.p_value_steps() {
        p_value(builder, &support, steps);
    }
    let unknown = builder.constant("unknown", Vec::new(), Data::Integers(vec![classes]));
    let position = builder.apply("Where", &[&accepted, &best, &unknown]);
    let names = evm.classes().map(|class| class.name.to_owned()).chain([unknown_label.to_owned()]).collect();
    let names = builder.constant("names", vec![classes + 1], Data::Strings(names));
    builder.apply_as("label", "Gather", &[&names, &position]);
    let scores = builder.apply("Exp", &[&scores.ln_probability]);
    in_order(builder, "scores", &scores, order);
    builder.apply_as("probability", "Exp", &[&ln_probability]);
}

/// The share of calibrating rows that score no higher, as the library's `p_value` has it. Takes 8 bytes for each row and calibrating row.
fn p_value(builder: &mut Builder, support: &str, steps: PValueSteps) {
    let axes = builder.constant("axes", vec![1], Data::Integers(vec![1]));
    let scores = builder.row("calibrating", steps.scores);
    let shares = builder.row("calibrating_shares", steps.shares);
    let column = builder.apply("Unsqueeze", &[support, &axes]);
    let reached = builder.apply("GreaterOrEqual", &[&column, &scores]);
    // A product would do, but runtimes refuse one of no rows.
    let zero = builder.number(0.0);
    let reached = builder.apply("Where", &[&reached, &shares, &zero]);
    let below = builder.sum(&reached, 1);
    let least = builder.number(steps.least);
    let share = builder.apply("Add", &[&below, &least]);
    let refused = builder.apply("IsNaN", &[support]);
    builder.apply_as("p_value", "Where", &[&refused, support, &share]);
}

/// An output whose columns are classes, in an order.
fn in_order(builder: &mut Builder, output: &str, value: &str, order: &[usize]) {
    if order.is_sorted() {
        builder.apply_as(output, "Identity", &[value]);
        return;
    }
    let order = builder.constant("order", vec![order.len()], Data::Integers(order.to_vec()));
    builder.apply_as_with(output, "Gather", &[value, &order], vec![Attribute::Integer("axis", 1)]);
}

/// How far each class lies above the threshold, as the library's `supports_of` has it: the best class as far as its score, which is
/// `decided` here, and the others as much below that as they are below the best one.
fn supports(builder: &mut Builder, all: &str, decided: &str, threshold: &str, accepted: &str) -> Name {
    let (zero, below) = (builder.number(0.0), builder.number(-f64::MIN_POSITIVE));
    let lead = above(builder, decided, threshold);
    // Rounding does not come between the sign and the decision.
    let (known, unknown) = (builder.apply("Max", &[&lead, &zero]), builder.apply("Min", &[&lead, &below]));
    let lead = builder.apply("Where", &[accepted, &known, &unknown]);
    let axes = builder.constant("axes", vec![1], Data::Integers(vec![1]));
    let [lead, threshold] = [&lead, threshold].map(|value| builder.apply("Unsqueeze", &[value, &axes]));
    let best = builder.reduce("ReduceMax", all, 1, true);
    let behind = builder.apply("Sub", &[all, &best]);
    let others = builder.apply("Add", &[&lead, &behind]);
    // An infinite lead says nothing of the others.
    let endless = builder.apply("IsInf", &[&lead]);
    let alone = above(builder, all, &threshold);
    let others = builder.apply("Where", &[&endless, &alone, &others]);
    let is_best = builder.apply("Equal", &[all, &best]);
    builder.apply("Where", &[&is_best, &lead, &others])
}

/// How far a value lies above another; 0 where both are the same infinity.
fn above(builder: &mut Builder, value: &str, other: &str) -> Name {
    let zero = builder.number(0.0);
    let (same, difference) = (builder.apply("Equal", &[value, other]), builder.apply("Sub", &[value, other]));
    builder.apply("Where", &[&same, &zero, &difference])
}

/// Of the best class, both of shape (rows).
struct Score {
    support: Name,
    ln_probability: Name,
}

/// The score that delta is compared with: that of the best class, raised by `contrast` times its lead over the second,
/// and by `background` times the support of the median class.
fn best_score(builder: &mut Builder, evm: &Evm, scores: &Scores) -> Score {
    let support = builder.reduce("ReduceMax", &scores.support, 1, false);
    // P rises with support, so the best class has the largest.
    let ln_probability = builder.reduce("ReduceMax", &scores.ln_probability, 1, false);
    let params = evm.params();
    let classes = evm.classes().len();
    let mut raises = Vec::new();
    if params.contrast > 0.0 && classes > 1 {
        let second = nth_largest(builder, &scores.support, 1);
        let lead = builder.apply("Sub", &[&support, &second]);
        raises.push(raise(builder, params.contrast, &lead));
    }
    if params.background > 0.0 && classes > 1 {
        // From below it is number classes / 2.
        let median = nth_largest(builder, &scores.support, classes - 1 - classes / 2);
        raises.push(raise(builder, params.background, &median));
    }
    let Some(raise) = raises.into_iter().reduce(|all, next| builder.apply("Add", &[&all, &next])) else {
        return Score { support, ln_probability };
    };
    let raised = builder.apply("Add", &[&support, &raise]);
    let raised_ln = score::ln_psi(builder, params.tail_model, &raised);
    let zero = builder.number(0.0);
    let as_it_is = builder.apply("Equal", &[&raise, &zero]);
    Score {
        ln_probability: builder.apply("Where", &[&as_it_is, &ln_probability, &raised_ln]),
        support: raised,
    }
}

/// Of each row, the value that `n` others come before.
fn nth_largest(builder: &mut Builder, values: &str, n: usize) -> Name {
    let count = builder.constant("k", vec![1], Data::Integers(vec![n + 1]));
    let axis = || vec![Attribute::Integer("axis", 1)];
    let largest = builder.apply_many("TopK", &[values, &count], axis(), 2).swap_remove(0);
    let last = builder.constant("last", Vec::new(), Data::Integers(vec![n]));
    builder.apply_with("Gather", &[&largest, &last], axis())
}

/// Weight times value; nothing where the value is not finite, as where the query is an extreme vector.
fn raise(builder: &mut Builder, weight: f64, value: &str) -> Name {
    let (weight, zero) = (builder.number(weight), builder.number(0.0));
    let raise = builder.apply("Mul", &[value, &weight]);
    let (infinite, none) = (builder.apply("IsInf", &[value]), builder.apply("IsNaN", &[value]));
    let nothing = builder.apply("Or", &[&infinite, &none]);
    builder.apply("Where", &[&nothing, &zero, &raise])
}
