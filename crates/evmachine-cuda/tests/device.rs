//! The same answers as the processor's, on whatever device there is.
//!
//! All of it needs a device: `cargo xtask gpu` runs it, and fails where there is none.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use cudarc::driver::{CudaContext, DevicePtr};
use evmachine::device::{CoverClass, CoverWork, Device, DeviceError, Source};
use evmachine::{Evm, Features, Labels, Metric, Params, Run, TailMemory, TailModel, TailSize, Weight};
use evmachine_cuda::{Cuda, Reader};

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
        case("the default", (11, 4_000, 96), 1.0, Params::plain()),
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

/// The share of queries that two models call by another name, and the largest difference of their supports.
fn differences(here: &Evm, there: &Evm, queries: &Features<'_>) -> (f64, f64) {
    let (a, b) = (here.decide(queries).unwrap(), there.decide(queries).unwrap());
    let differ = a.iter().zip(&b).filter(|(a, b)| a.class() != b.class()).count();
    let apart = a.iter().zip(&b).map(|(a, b)| (a.support() - b.support()).abs()).fold(0.0, f64::max);
    (differ as f64 / a.len() as f64, apart)
}

/// Whitening, smoothing, probes and the machine over logits, at sizes at which every kernel takes several turns.
#[test]
#[ignore = "needs an NVIDIA device; `cargo xtask gpu` runs it"]
fn the_default_is_learned_as_on_the_processor() {
    let device = Cuda::open(0).expect(NO_DEVICE);
    let run = Run::new().device(&device);
    let heard = |metric: Metric| Params {
        probe_weight: Weight::Fixed(1.0),
        logit_weight: Weight::Fixed(0.5),
        forest_weight: Weight::Fixed(0.0),
        ..Params::robust_for(metric)
    };
    let smoothed =
        |neighbors, params: Params| Params { smoothing: 0.7, smoothing_neighbors: neighbors, ..params };
    let cases = [
        ("cosine, several spans of rows", (37, 40_001, 65), heard(Metric::Cosine)),
        ("large classes, many neighbours", (3, 9_001, 33), smoothed(700, heard(Metric::Euclidean))),
        ("more neighbours than rows of a class", (300, 2_400, 40), smoothed(50, heard(Metric::Cosine))),
        ("integer columns, where neighbours tie", (5, 3_000, 16), smoothed(4, heard(Metric::Euclidean))),
        ("as it comes", (20, 6_000, 384), Params::robust_for(Metric::Cosine)),
    ];
    for (name, (classes, rows, dimensions), params) in cases {
        let (mut values, labels) = drawn(classes, rows, dimensions, 1.2, 0.0);
        if name.starts_with("integer") {
            for value in &mut values {
                *value = (*value * 2.0).round();
            }
        }
        let (features, labels) = (Features::new(values, dimensions).unwrap(), Labels::new(labels).unwrap());
        let (here, _) = Evm::fit(&params, &features, &labels).unwrap();
        let (there, _) = Evm::fit_with(&run, &params, &features, &labels).unwrap();
        let (again, _) = Evm::fit_with(&run, &params, &features, &labels).unwrap();
        assert!(there == again, "{name}: the same bytes again");
        let queries = Features::new(drawn(classes + 3, 4_000, dimensions, 1.5, 0.0).0, dimensions).unwrap();
        let (share, apart) = differences(&here, &there, &queries);
        println!("{name}: {share} of the queries have another name, supports within {apart:.1e}");
        assert!(share <= 0.002, "{name}: {share}");
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
    assert_eq!(stopped.unwrap_err(), evmachine::FitError::Run(evmachine::RunError::Stopped));
    Evm::fit_with(&Run::new().device(&device), &Params::paper(), &features, &labels).unwrap();
}

/// A model of its own for each seed, and queries for it.
fn model(seed: usize) -> (Evm, Features<'static>) {
    let (values, labels) = drawn(5 + seed, 1_200 + 10 * seed, 48, 0.9, 0.0);
    let (features, labels) = (Features::new(values, 48).unwrap(), Labels::new(labels).unwrap());
    let (model, _) = Evm::fit(&paper(Metric::Cosine, TailModel::Libmr, 100), &features, &labels).unwrap();
    (model, Features::new(drawn(9 + seed, 300, 48, 1.2, 0.0).0, 48).unwrap())
}

fn assert_decides(model: &Evm, queries: &Features<'_>, run: &Run<'_>, what: &str) {
    let (here, there) = (model.decide(queries).unwrap(), model.decide_with(run, queries).unwrap());
    for (row, (here, there)) in here.iter().zip(&there).enumerate() {
        assert_eq!((here.class(), here.best()), (there.class(), there.best()), "{what}, row {row}");
        let (a, b) = (here.score().support, there.score().support);
        assert!((a - b).abs() <= 1e-4 * (1.0 + a.abs()) || a == b, "{what}, row {row}: {a} {b}");
    }
}

#[test]
#[ignore = "needs an NVIDIA device; `cargo xtask gpu` runs it"]
fn queries_of_many_parts_and_buffers_come_out_in_order() {
    let device = Cuda::open(0).expect(NO_DEVICE);
    let run = Run::new().device(&device);
    let (count, d) = (150_000, 300);
    let (values, labels) = drawn(8, 2_000, d, 1.0, 0.0);
    let (features, labels) = (Features::new(values, d).unwrap(), Labels::new(labels).unwrap());
    for metric in [Metric::Cosine, Metric::Euclidean] {
        let params = paper(metric, TailModel::Weibull, 100);
        let (model, _) = Evm::fit(&params, &features, &labels).unwrap();
        let queries = Features::new(drawn(11, count, d, 1.5, 0.0).0, d).unwrap();
        let decisions = model.decide_with(&run, &queries).unwrap();
        let probabilities = model.probabilities_with(&run, &queries).unwrap();
        assert_eq!((decisions.len(), probabilities.len()), (count, count * 8));
        let sample: Vec<usize> = (0..count).step_by(97).chain([65_535, 65_536, 131_071, 131_072]).collect();
        let few = queries.select(&sample);
        let (here, classes) = (model.decide(&few).unwrap(), model.probabilities(&few).unwrap());
        for (at, &row) in sample.iter().enumerate() {
            assert_eq!((here[at].class(), here[at].best()), (decisions[row].class(), decisions[row].best()));
            for (a, b) in classes[at * 8..][..8].iter().zip(&probabilities[row * 8..][..8]) {
                assert!((a - b).abs() < 1e-4, "row {row}: {a} {b}");
            }
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA device; `cargo xtask gpu` runs it"]
fn models_that_stay_on_the_device_are_told_apart() {
    let device = Cuda::open(0).expect(NO_DEVICE);
    let run = Run::new().device(&device);
    let mut models: Vec<(Evm, Features<'static>)> = (0..3).map(model).collect();
    for turn in 0..4 {
        for (number, (model, queries)) in models.iter().enumerate() {
            assert_decides(model, queries, &run, &format!("turn {turn}, model {number}"));
        }
        // One goes, and another may lie where it lay.
        models.remove(0);
        models.push(model(3 + turn));
    }
    let (evm, queries) = &mut models[0];
    let (values, labels) = drawn(4, 500, 48, 0.9, 0.0);
    evm.update(&Features::new(values, 48).unwrap(), &Labels::new(labels).unwrap()).unwrap();
    assert_decides(evm, queries, &run, "learned more");
    device.release().unwrap();
    assert_decides(evm, queries, &run, "released");
}

#[test]
#[ignore = "needs an NVIDIA device; `cargo xtask gpu` runs it"]
fn calls_from_many_threads_neither_wait_for_themselves_nor_disturb_each_other() {
    use rayon::prelude::*;
    let device = Cuda::open(0).expect(NO_DEVICE);
    let run = Run::new().device(&device);
    let params = paper(Metric::Cosine, TailModel::Libmr, 100);
    let sets: Vec<(Features<'static>, Labels)> = (0..12)
        .map(|seed| {
            let (values, labels) = drawn(4 + seed % 3, 6_000, 400, 0.9, 0.0);
            (Features::new(values, 400).unwrap(), Labels::new(labels).unwrap())
        })
        .collect();
    let fit = |(features, labels): &(Features<'static>, Labels)| {
        let (model, _) = Evm::fit_with(&run, &params, features, labels).unwrap();
        let decisions = model.decide_with(&run, features).unwrap();
        (model, decisions.iter().map(|decision| decision.score().support).collect::<Vec<f64>>())
    };
    let alone: Vec<_> = sets.iter().map(fit).collect();
    let together: Vec<_> = sets.par_iter().map(fit).collect();
    assert!(alone == together, "the same bytes, whoever else is at work");
}

#[test]
#[ignore = "needs an NVIDIA device; `cargo xtask gpu` runs it"]
fn what_does_not_fit_the_memory_is_an_error_and_the_next_call_works() {
    struct Zeros(usize);
    impl Source for Zeros {
        fn count(&self) -> usize {
            self.0
        }
        fn write(&self, _: usize, out: &mut [f32]) {
            out.fill(0.0);
        }
    }
    let device = Cuda::open(0).expect(NO_DEVICE);
    // Two bits for each of 4 million squared pairs are 4 TB.
    let points = Zeros(4_000_000);
    let class = CoverClass { points: &points, targets: None, radii: vec![0.0; points.0], limits: None };
    let watch = |_: usize| std::ops::ControlFlow::Continue(());
    let work = CoverWork { metric: &Metric::Euclidean, dimensions: 1, classes: &[class], watch: &watch };
    match device.covers(&work).unwrap_err() {
        DeviceError::Memory { wanted, free, .. } => assert!(wanted > free && free > 0, "{wanted} {free}"),
        other => panic!("{other}"),
    }
    assert!(device.failed().is_none(), "whoever asked for the device by name is told");
    let (evm, queries) = model(0);
    assert_decides(&evm, &queries, &Run::new().device(&device), "after that");
}

#[test]
#[ignore = "needs an NVIDIA device; `cargo xtask gpu` runs it"]
fn what_lies_on_the_device_is_read_whole() {
    // More than two buffers, and not a whole number of them.
    let bytes: Vec<u8> = (0..77_000_003u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let reader = Reader::open(0).expect(NO_DEVICE);
    assert_ne!(reader.stream(), 0);
    let stream = CudaContext::new(0).unwrap().default_stream();
    let there = stream.clone_htod(&bytes).unwrap();
    stream.synchronize().unwrap();
    let mut read = vec![0; bytes.len()];
    // SAFETY: so many bytes lie there, and whoever wrote them has finished.
    #[allow(unsafe_code)]
    unsafe { reader.read(there.device_ptr(&stream).0, &mut read) }.unwrap();
    assert!(read == bytes);
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
