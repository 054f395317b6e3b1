//! Support and ln P of every class, from distances: the formulas of the library's `psi` and `decision`.

use evmachine::{Machine, PsiModel, TailModel};

use crate::ExportError;
use crate::builder::{Builder, Name};
use crate::message::{Attribute, Data};
use crate::{denied, distance, ignored, reach};

/// Both of shape (rows, classes).
pub(crate) struct Scores {
    pub(crate) support: Name,
    pub(crate) ln_probability: Name,
}

/// Below this support, `1 - e^(-e^s)` loses digits that its series keeps.
const SMALL: f64 = -15.0;

/// The scores of one machine by itself, in the space of its extreme vectors.
pub(crate) fn machine(
    builder: &mut Builder,
    machine: &Machine,
    features: &str,
) -> Result<Scores, ExportError> {
    let distances = distance::distances(builder, machine, features)?;
    let (distances, strangers, denied) = ignored::apart(builder, machine, distances);
    let scores = scores(builder, machine, &distances);
    let scores = reach::within(builder, machine, &distances, scores)?;
    let scores = ignored::beside(builder, machine, &distances, strangers, scores);
    Ok(denied::without(builder, machine, &distances, denied, scores))
}

fn scores(builder: &mut Builder, machine: &Machine, distances: &str) -> Scores {
    let model = machine.params().tail_model;
    let support = support(builder, model, &machine.pooled_psi().collect::<Vec<_>>(), distances);
    let sizes: Vec<usize> = machine.classes().map(|class| class.extreme_vectors).collect();
    let split = builder.constant("sizes", vec![sizes.len()], Data::Integers(sizes.clone()));
    let axis = || vec![Attribute::Integer("axis", 1)];
    let parts = builder.apply_many("Split", &[&support, &split], axis(), sizes.len());
    let fused = machine.params().n_fused.min(sizes.iter().copied().max().unwrap_or(1));
    if fused > 1 {
        return mean(builder, model, &parts, &sizes, fused);
    }
    let best: Vec<Name> = parts.iter().map(|part| builder.reduce("ReduceMax", part, 1, true)).collect();
    let best: Vec<&str> = best.iter().map(String::as_str).collect();
    let support = builder.apply_with("Concat", &best, axis());
    let ln_probability = ln_psi(builder, model, &support);
    Scores { support, ln_probability }
}

/// Support of every extreme vector. A zero tail has a scale of 0 and is a step at distance 0.
fn support(builder: &mut Builder, model: TailModel, curves: &[PsiModel], distances: &str) -> Name {
    const TINY: f64 = 1e-300;
    let each = |value: fn(&PsiModel) -> f64| curves.iter().map(value).collect::<Vec<f64>>();
    let shape = each(|psi| psi.shape);
    match model {
        TailModel::Weibull => {
            let inverse = builder.row("inverse_scale", each(|psi| 1.0 / psi.scale.max(TINY)));
            let factor = builder.row("factor", shape.iter().map(|shape| -shape).collect());
            let ratio = builder.apply("Mul", &[distances, &inverse]);
            let ln = builder.apply("Log", &[&ratio]);
            builder.apply("Mul", &[&ln, &factor])
        }
        TailModel::Libmr => {
            let end = builder.row("end", each(|psi| if psi.scale == 0.0 { TINY } else { 1.0 + psi.shift }));
            let inverse = each(|psi| if psi.scale == 0.0 { 10.0 / TINY } else { 1.0 / psi.scale });
            let inverse = builder.row("inverse_scale", inverse);
            let (factor, zero) = (builder.row("factor", shape), builder.number(0.0));
            let left = builder.apply("Sub", &[&end, distances]);
            let left = builder.apply("Max", &[&left, &zero]);
            let ratio = builder.apply("Mul", &[&left, &inverse]);
            let ln = builder.apply("Log", &[&ratio]);
            builder.apply("Mul", &[&ln, &factor])
        }
        TailModel::Gumbel => {
            let inverse = builder.row("inverse_scale", each(|psi| 1.0 / psi.scale.max(TINY)));
            let (factor, one) = (builder.row("factor", shape), builder.number(1.0));
            let ratio = builder.apply("Mul", &[distances, &inverse]);
            let left = builder.apply("Sub", &[&one, &ratio]);
            builder.apply("Mul", &[&left, &factor])
        }
    }
}

/// ln psi at a support.
pub(crate) fn ln_psi(builder: &mut Builder, model: TailModel, support: &str) -> Name {
    if model == TailModel::Weibull {
        let turned = builder.apply("Neg", &[support]);
        let power = builder.apply("Exp", &[&turned]);
        return builder.apply("Neg", &[&power]);
    }
    let power = builder.apply("Exp", &[support]);
    let turned = builder.apply("Neg", &[&power]);
    let outside = builder.apply("Exp", &[&turned]);
    let (one, half, limit) = (builder.number(1.0), builder.number(0.5), builder.number(SMALL));
    let inside = builder.apply("Sub", &[&one, &outside]);
    let ln = builder.apply("Log", &[&inside]);
    let second = builder.apply("Mul", &[&power, &half]);
    let series = builder.apply("Sub", &[support, &second]);
    let small = builder.apply("Less", &[support, &limit]);
    builder.apply("Where", &[&small, &series, &ln])
}

/// The support at which ln psi has the value; the inverse of [`ln_psi`].
fn support_of_ln(builder: &mut Builder, model: TailModel, ln_probability: &str) -> Name {
    if model == TailModel::Weibull {
        let turned = builder.apply("Neg", &[ln_probability]);
        let ln = builder.apply("Log", &[&turned]);
        return builder.apply("Neg", &[&ln]);
    }
    let probability = builder.apply("Exp", &[ln_probability]);
    let (one, half, limit) = (builder.number(1.0), builder.number(0.5), builder.number(SMALL));
    let outside = builder.apply("Sub", &[&one, &probability]);
    let ln = builder.apply("Log", &[&outside]);
    let turned = builder.apply("Neg", &[&ln]);
    let direct = builder.apply("Log", &[&turned]);
    let second = builder.apply("Mul", &[&probability, &half]);
    let series = builder.apply("Add", &[ln_probability, &second]);
    let small = builder.apply("Less", &[ln_probability, &limit]);
    builder.apply("Where", &[&small, &series, &direct])
}

/// The mean of the `fused` largest psi of each class, or of all where there are fewer: log-sum-exp over a table of
/// shape (rows, classes, fused), in which what a small class lacks has support -inf, and so psi 0.
fn mean(builder: &mut Builder, model: TailModel, parts: &[Name], sizes: &[usize], fused: usize) -> Scores {
    let nothing = builder.number(f64::NEG_INFINITY);
    let mut columns = Vec::with_capacity(parts.len());
    for (part, &size) in parts.iter().zip(sizes) {
        let count = fused.min(size);
        let k = builder.constant("k", vec![1], Data::Integers(vec![count]));
        let axis = vec![Attribute::Integer("axis", 1)];
        let largest = builder.apply_many("TopK", &[part, &k], axis, 2).swap_remove(0);
        columns.push(if count == fused {
            largest
        } else {
            let widths = Data::Integers(vec![0, 0, 0, (fused - count)]);
            let widths = builder.constant("pad", vec![4], widths);
            builder.apply("Pad", &[&largest, &widths, &nothing])
        });
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let flat = builder.apply_with("Concat", &columns, vec![Attribute::Integer("axis", 1)]);
    // 0 keeps the number of rows.
    let shape = builder.constant("shape", vec![3], Data::Integers(vec![0, parts.len(), fused]));
    let table = builder.apply("Reshape", &[&flat, &shape]);

    let ln = ln_psi(builder, model, &table);
    let largest = builder.reduce("ReduceMax", &ln, 2, true);
    let relative = builder.apply("Sub", &[&ln, &largest]);
    let relative = builder.apply("Exp", &[&relative]);
    let sum = builder.sum(&relative, 2);
    let counts = builder.row("counts", sizes.iter().map(|&size| fused.min(size) as f64).collect());
    let mean = builder.apply("Div", &[&sum, &counts]);
    let ln_mean = builder.apply("Log", &[&mean]);
    let largest = builder.reduce("ReduceMax", &ln, 2, false);
    let fused_ln = builder.apply("Add", &[&largest, &ln_mean]);
    let fused_support = support_of_ln(builder, model, &fused_ln);

    // Where one psi decides, or the largest has underflowed in its logarithm too, it speaks alone.
    let first = builder.reduce("ReduceMax", &table, 2, false);
    let single = sizes.iter().map(|&size| size == 1).collect();
    let single = builder.constant("single", vec![sizes.len()], Data::Bools(single));
    let vanished = builder.apply("IsInf", &[&largest]);
    let alone = builder.apply("Or", &[&vanished, &single]);
    Scores {
        support: builder.apply("Where", &[&alone, &first, &fused_support]),
        ln_probability: builder.apply("Where", &[&alone, &largest, &fused_ln]),
    }
}
