//! Queries on their way into the space of the extreme vectors, and into that of a probe; as `f64`, rounded to `f32`
//! wherever the library keeps `f32`.

use evmachine::{Evm, Machine, Metric, Probe};

use crate::builder::{Builder, Name};
use crate::message::{Attribute, Data, ElementType};

/// As in the library: the first value of a row that is all zeros where it needs a direction.
const NO_DIRECTION: f32 = 1e-30;
/// As in the library: logits are cut off here, so that they can be features.
const LARGEST_LOGIT: f64 = 1e12;

/// Missing values filled, where the model does so.
pub(crate) fn filled(builder: &mut Builder, evm: &Evm, features: &str) -> Name {
    let Some(numbers) = evm.fill_values() else { return features.to_owned() };
    let numbers = builder.constant("fill", vec![numbers.len()], Data::Floats(numbers.to_vec()));
    let missing = builder.apply("IsNaN", &[features]);
    builder.apply("Where", &[&missing, &numbers, features])
}

/// Standardised and whitened, as far as the model does so. Not yet of unit length for cosine.
pub(crate) fn of_machine(builder: &mut Builder, machine: &Machine, features: &str) -> Name {
    let standardized = standardized(builder, machine, features);
    whitened(builder, machine, standardized)
}

/// What a probe of the model is asked: the features themselves, of unit length for cosine.
pub(crate) fn of_probe(builder: &mut Builder, evm: &Evm, features: &str) -> Name {
    if evm.params().metric == Metric::Cosine { unit(builder, features) } else { features.to_owned() }
}

/// Logits of shape (rows, classes), for rows from [`of_probe`].
pub(crate) fn logits(builder: &mut Builder, probe: &Probe, rows: &str) -> Name {
    let shape = vec![probe.classes(), probe.dimensions()];
    let weights = builder.constant("weights", shape, Data::Doubles(probe.weights()));
    let intercepts = builder.row("intercepts", probe.intercepts());
    let product = product(builder, rows, &weights);
    builder.apply("Add", &[&product, &intercepts])
}

/// Logits as the features of a machine.
pub(crate) fn of_logits(builder: &mut Builder, logits: &str, columns: usize) -> Name {
    let (least, most) = (builder.number(-LARGEST_LOGIT), builder.number(LARGEST_LOGIT));
    let above = builder.apply("Max", &[logits, &least]);
    let bounded = builder.apply("Min", &[&above, &most]);
    let bounded = rounded(builder, &bounded);
    directed(builder, &bounded, columns)
}

fn standardized(builder: &mut Builder, machine: &Machine, features: &str) -> Name {
    let Some((mean, deviation)) = machine.standard_columns() else { return features.to_owned() };
    let mean = builder.row("mean", mean.to_vec());
    let deviation = builder.row("deviation", deviation.to_vec());
    let centred = builder.apply("Sub", &[features, &mean]);
    let scaled = builder.apply("Div", &[&centred, &deviation]);
    let scaled = rounded(builder, &scaled);
    directed(builder, &scaled, machine.dimensions())
}

/// `W x`, x being of unit length for cosine, where the model whitens.
fn whitened(builder: &mut Builder, machine: &Machine, queries: Name) -> Name {
    let Some(matrix) = machine.whitening_matrix() else { return queries };
    let queries = if machine.params().metric == Metric::Cosine { unit(builder, &queries) } else { queries };
    let d = machine.dimensions();
    let matrix = builder.constant("whitening", vec![d, d], Data::Floats(matrix));
    let matrix = builder.cast(&matrix, ElementType::Double);
    let whitened = product(builder, &queries, &matrix);
    rounded(builder, &whitened)
}

/// Rows of zeros with a first value that gives them a direction.
fn directed(builder: &mut Builder, rows: &str, columns: usize) -> Name {
    let magnitudes = builder.apply("Abs", &[rows]);
    let largest = builder.reduce("ReduceMax", &magnitudes, 1, true);
    let zero = builder.number(0.0);
    let nothing = builder.apply("Equal", &[&largest, &zero]);
    let mut direction = vec![0.0; columns];
    direction[0] = f64::from(NO_DIRECTION);
    let direction = builder.row("direction", direction);
    builder.apply("Where", &[&nothing, &direction, rows])
}

pub(crate) fn unit(builder: &mut Builder, queries: &str) -> Name {
    let squares = builder.reduce("ReduceSumSquare", queries, 1, true);
    let norms = builder.apply("Sqrt", &[&squares]);
    let unit = builder.apply("Div", &[queries, &norms]);
    rounded(builder, &unit)
}

/// Rounded to `f32`, as the library's vectors are.
fn rounded(builder: &mut Builder, values: &str) -> Name {
    let narrow = builder.cast(values, ElementType::Float);
    builder.cast(&narrow, ElementType::Double)
}

/// The scalar product of every row on the left with every row on the right.
pub(crate) fn product(builder: &mut Builder, left: &str, right: &str) -> Name {
    let across = builder.apply_with("Transpose", &[right], vec![Attribute::Integers("perm", vec![1, 0])]);
    builder.apply("MatMul", &[left, &across])
}
