//! The same answers as the processor's, on whatever device there is.
//!
//! All of it needs a device: `cargo xtask gpu` runs it, and fails where there is none.

use evmachine::{Evm, Features, Labels, Metric, Params, Run, TailMemory, TailModel, TailSize};
use evmachine_cuda::Cuda;

const NO_DEVICE: &str = "needs an NVIDIA device; `cargo xtask gpu` runs it";

/// Clusters of points, the same whenever they are drawn, and the class of each.
fn drawn(
    classes: usize,
    rows: usize,
    dimensions: usize,
    spread: f32,
    offset: f32,
) -> (Vec<f32>, Vec<String>) {
    let mut state = 0x9e37_79b9_7f4a_7c15u64 ^ (classes * 31 + rows * 7 + dimensions) as u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 + 0.5) / 16_777_216.0
    };
    let mut normal = || (-2.0 * uniform().ln()).sqrt() * (std::f32::consts::TAU * uniform()).cos();
    let centers: Vec<f32> = (0..classes * dimensions).map(|_| normal()).collect();
    let mut values = Vec::with_capacity(rows * dimensions);
    let mut labels = Vec::with_capacity(rows);
    for row in 0..rows {
        let class = row * 7919 % classes;
        values.extend(
            centers[class * dimensions..(class + 1) * dimensions]
                .iter()
                .map(|x| offset + x + spread * normal()),
        );
        labels.push(format!("class {class}"));
    }
    (values, labels)
}

struct Case {
    name: &'static str,
    classes: usize,
    rows: usize,
    dimensions: usize,
    spread: f32,
    offset: f32,
    params: Params,
}

fn paper(metric: Metric, tail_model: TailModel, tail: usize) -> Params {
    Params { metric, tail_model, tail_size: TailSize::Count(tail), ..Params::paper() }
}

/// Every way that the device has, at a size where it is taken.
fn cases() -> Vec<Case> {
    let case = |name, (classes, rows, dimensions), spread, params| Case {
        name,
        classes,
        rows,
        dimensions,
        spread,
        offset: 0.0,
        params,
    };
    vec![
        case("differences", (13, 3_001, 16), 0.7, paper(Metric::Euclidean, TailModel::Weibull, 75)),
        case("absolute differences", (13, 3_001, 40), 0.7, paper(Metric::Manhattan, TailModel::Gumbel, 75)),
        case("products", (7, 5_003, 65), 0.7, paper(Metric::Euclidean, TailModel::Libmr, 500)),
        case(
            "cosines, most of the negatives",
            (9, 4_100, 384),
            1.5,
            paper(Metric::Cosine, TailModel::Weibull, 3_000),
        ),
        case("more than there are", (3, 700, 33), 1.0, paper(Metric::Cosine, TailModel::Libmr, 10_000)),
        Case {
            offset: 300.0,
            ..case(
                "far from the origin",
                (5, 1_500, 64),
                0.5,
                paper(Metric::Euclidean, TailModel::Weibull, 100),
            )
        },
        Case {
            params: Params { tail_memory: TailMemory::Max, ..paper(Metric::Cosine, TailModel::Libmr, 200) },
            ..case("one value of each tail", (6, 2_000, 128), 1.0, Params::paper())
        },
        case("screened cosines", (40, 70_000, 64), 0.8, paper(Metric::Cosine, TailModel::Libmr, 300)),
        case("screened products", (40, 70_000, 48), 0.8, paper(Metric::Euclidean, TailModel::Weibull, 300)),
        case("the default", (11, 4_000, 96), 1.0, Params::default()),
    ]
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-5 * a.abs().max(b.abs()) || a == b
}

/// How many pairs of fits differ in shape or scale by more than 1e-5, and the worst.
fn compare(name: &str, here: &Evm, there: &Evm) {
    assert_eq!(here.extreme_vector_count(), there.extreme_vector_count(), "{name}: extreme vectors");
    let mut worst = 0.0f64;
    for (a, b) in here.extreme_vectors().zip(there.extreme_vectors()) {
        assert_eq!(
            (a.class, a.source),
            (b.class, b.source),
            "{name}: the same extreme vectors in the same order"
        );
        assert_eq!(a.psi.status, b.psi.status, "{name}: {a:?} {b:?}");
        worst =
            worst.max((a.psi.shape / b.psi.shape - 1.0).abs()).max((a.psi.scale / b.psi.scale - 1.0).abs());
        assert!(close(a.psi.shape, b.psi.shape) && close(a.psi.scale, b.psi.scale), "{name}: {a:?} {b:?}");
    }
    println!("{name}: {} extreme vectors, shapes and scales within {worst:.1e}", here.extreme_vector_count());
}

#[test]
#[ignore = "needs an NVIDIA device; `cargo xtask gpu` runs it"]
fn fits_covers_and_decisions_are_those_of_the_processor() {
    let device = Cuda::open(0).expect(NO_DEVICE);
    for case in cases() {
        let (values, labels) = drawn(case.classes, case.rows, case.dimensions, case.spread, case.offset);
        let features = Features::new(values, case.dimensions).unwrap();
        let labels = Labels::new(labels).unwrap();
        let (here, _) = Evm::fit(&case.params, &features, &labels).unwrap();
        let run = Run::new().device(&device);
        let (there, report) = Evm::fit_with(&run, &case.params, &features, &labels).unwrap();
        assert!(report.plans.iter().any(|plan| plan.to_string().contains("on the device")), "{}", case.name);
        compare(case.name, &here, &there);
        let (again, _) = Evm::fit_with(&run, &case.params, &features, &labels).unwrap();
        assert_eq!(there, again, "{}: the same bytes again", case.name);

        let (queries, _) = drawn(case.classes + 3, 2_000, case.dimensions, case.spread * 1.5, case.offset);
        let queries = Features::new(queries, case.dimensions).unwrap();
        let (a, b) = (here.decide(&queries).unwrap(), here.decide_with(&run, &queries).unwrap());
        let differ = a.iter().zip(&b).filter(|(a, b)| a.class() != b.class() || a.best() != b.best()).count();
        assert_eq!(differ, 0, "{}: decisions", case.name);
        for (a, b) in a.iter().zip(&b) {
            let (a, b) = (a.score().support, b.score().support);
            assert!((a - b).abs() <= 1e-4 * (1.0 + a.abs()) || a == b, "{}: {a} {b}", case.name);
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA device; `cargo xtask gpu` runs it"]
fn batches_are_learned_as_on_the_processor() {
    let device = Cuda::open(0).expect(NO_DEVICE);
    let run = Run::new().device(&device);
    for memory in [TailMemory::Full, TailMemory::Max] {
        let params = Params { tail_memory: memory, ..paper(Metric::Cosine, TailModel::Libmr, 120) };
        let (values, labels) = drawn(12, 3_000, 48, 0.9, 0.0);
        let half = 1_500;
        let part = |range: std::ops::Range<usize>| {
            let features = Features::new(values[range.start * 48..range.end * 48].to_vec(), 48).unwrap();
            (features, Labels::new(labels[range].to_vec()).unwrap())
        };
        let (first, second) = (part(0..half), part(half..3_000));
        let (mut here, _) = Evm::fit(&params, &first.0, &first.1).unwrap();
        let (mut there, _) = Evm::fit_with(&run, &params, &first.0, &first.1).unwrap();
        here.update(&second.0, &second.1).unwrap();
        there.update_with(&run, &second.0, &second.1).unwrap();
        compare("an update", &here, &there);
    }
}

#[test]
#[ignore = "needs an NVIDIA device; `cargo xtask gpu` runs it"]
fn a_call_that_is_stopped_ends_and_the_next_one_works() {
    use std::ops::ControlFlow;
    let device = Cuda::open(0).expect(NO_DEVICE);
    let (values, labels) = drawn(5, 1_000, 48, 0.9, 0.0);
    let (features, labels) = (Features::new(values, 48).unwrap(), Labels::new(labels).unwrap());
    let stop = |_: evmachine::Stage, _: u64, _: u64| ControlFlow::Break(());
    let run = Run::new().device(&device).observer(&stop);
    let stopped = Evm::fit_with(&run, &Params::paper(), &features, &labels);
    assert_eq!(stopped.unwrap_err(), evmachine::FitError::Stopped);
    Evm::fit_with(&Run::new().device(&device), &Params::paper(), &features, &labels).unwrap();
}

#[test]
fn what_is_missing_is_named() {
    if Cuda::count() > 0 {
        return;
    }
    let error = Cuda::open(0).unwrap_err().to_string();
    assert!(error.contains("not found") || error.contains("there is no cuda:0"), "{error}");
    assert!(error.contains("device cpu") || error.contains("0 devices"), "{error}");
}
