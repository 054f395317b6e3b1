//! Distances of every query to every extreme vector, then every ignored sample and every denial, as `f64` of shape (rows, all).

use evmachine::{Machine, Metric};

use crate::ExportError;
use crate::builder::{Builder, Name};
use crate::message::{Attribute, Data, ElementType, Graph, Value};
use crate::space::{self, product, unit};

/// Squared distances below this share of the squared norms are rounding, and count as 0. Two vectors of `f32` that
/// are so close agree in all but the last bit.
const ROUNDING: f64 = 1e-13;
/// As in the library: below this cosine distance, the pair is measured by its difference.
const NEAR: f64 = 1.0 / 64.0;

pub(crate) fn distances(
    builder: &mut Builder,
    machine: &Machine,
    features: &str,
) -> Result<Name, ExportError> {
    let vectors = machine.extreme_vectors().map(|vector| vector.vector).chain(machine.ignored_vectors());
    let vectors = vectors.chain(machine.denials().map(|denial| denial.vector));
    let values: Vec<f32> = vectors.flatten().copied().collect();
    let shape = vec![values.len() / machine.dimensions(), machine.dimensions()];
    let metric = &machine.params().metric;
    if !matches!(metric, Metric::Euclidean | Metric::Cosine | Metric::Manhattan) {
        return Err(ExportError::CustomMetric { name: metric.name() });
    }
    let centre = centre(&values, machine.dimensions());
    let vectors = builder.constant("vectors", shape, Data::Floats(values));
    let vectors = builder.cast(&vectors, ElementType::Double);
    let queries = space::of_machine(builder, machine, features);
    Ok(match metric {
        Metric::Cosine => cosine(builder, &queries, &vectors),
        Metric::Manhattan => manhattan(builder, machine, &queries, &vectors),
        _ => {
            let centre = builder.row("centre", centre);
            let queries = builder.apply("Sub", &[&queries, &centre]);
            let vectors = builder.apply("Sub", &[&vectors, &centre]);
            let product = product(builder, &queries, &vectors);
            let squared = squared(builder, &queries, &vectors, &product);
            builder.apply("Sqrt", &[&squared])
        }
    })
}

/// The mean of the vectors. Distances do not depend on it; the digits that the norm expansion loses do.
fn centre(values: &[f32], dimensions: usize) -> Vec<f64> {
    let rows = (values.len() / dimensions).max(1) as f64;
    let mut sums = vec![0.0; dimensions];
    for row in values.chunks_exact(dimensions) {
        for (sum, &value) in sums.iter_mut().zip(row) {
            *sum += f64::from(value);
        }
    }
    sums.into_iter().map(|sum| sum / rows).collect()
}

/// `|a|^2 + |b|^2 - 2ab`
fn squared(builder: &mut Builder, queries: &str, vectors: &str, product: &str) -> Name {
    let of_queries = builder.reduce("ReduceSumSquare", queries, 1, true);
    let of_vectors = builder.reduce("ReduceSumSquare", vectors, 1, false);
    let norms = builder.apply("Add", &[&of_queries, &of_vectors]);
    let (two, zero, rounding) = (builder.number(2.0), builder.number(0.0), builder.number(ROUNDING));
    let twice = builder.apply("Mul", &[product, &two]);
    let squared = builder.apply("Sub", &[&norms, &twice]);
    let smallest = builder.apply("Mul", &[&norms, &rounding]);
    let vanishes = builder.apply("Less", &[&squared, &smallest]);
    builder.apply("Where", &[&vanishes, &zero, &squared])
}

/// `1 - ab` of unit vectors, or half their squared difference where they are near.
fn cosine(builder: &mut Builder, queries: &str, vectors: &str) -> Name {
    let unit = unit(builder, queries);
    let product = product(builder, &unit, vectors);
    let squared = squared(builder, &unit, vectors, &product);
    let (half, one, two, limit) =
        (builder.number(0.5), builder.number(1.0), builder.number(2.0), builder.number(NEAR));
    let close = builder.apply("Mul", &[&squared, &half]);
    let far = builder.apply("Sub", &[&one, &product]);
    let is_near = builder.apply("Less", &[&far, &limit]);
    let bounded = builder.apply("Min", &[&far, &two]);
    builder.apply("Where", &[&is_near, &close, &bounded])
}

/// Query by query, because no product of matrices gives it: a step takes as much memory as the extreme vectors.
fn manhattan(builder: &mut Builder, machine: &Machine, queries: &str, vectors: &str) -> Name {
    let mut step = Builder::new("step_");
    let difference = step.apply("Sub", &[vectors, "query"]);
    let magnitude = step.apply("Abs", &[&difference]);
    let sum = step.sum(&magnitude, 1);
    let body = Graph {
        name: "manhattan".to_owned(),
        inputs: vec![Value::new("query", ElementType::Double, vec![machine.dimensions().to_string()])],
        outputs: vec![Value::new(
            sum,
            ElementType::Double,
            vec![
                (machine.extreme_vector_count() + machine.ignored_count() + machine.denied_count())
                    .to_string(),
            ],
        )],
        nodes: step.nodes,
        tensors: step.tensors,
    };
    let attributes = vec![Attribute::Graph("body", body), Attribute::Integer("num_scan_inputs", 1)];
    builder.apply_with("Scan", &[queries], attributes)
}
