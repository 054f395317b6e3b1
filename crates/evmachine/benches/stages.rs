//! Each stage of the road, sizes in the names. `cargo bench -p evmachine`.

#![allow(missing_docs, reason = "criterion's macros make public items")]
#![allow(clippy::unwrap_used, reason = "a benchmark ends where something unexpected happens")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use evmachine::tuning::DistanceTable;
use evmachine::{
    Budget, Evm, Features, Labels, Metric, Params, PsiModel, Reduction, Run, TailModel, TailSize,
};

/// Classes as Gaussian-like clumps around random centres.
fn clumps(rows: usize, dimensions: usize, classes: usize, seed: u64) -> (Features<'static>, Labels) {
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 16_777_216.0 - 0.5
    };
    let centres: Vec<f32> = (0..classes * dimensions).map(|_| random() * 2.0).collect();
    let mut values = Vec::with_capacity(rows * dimensions);
    for row in 0..rows {
        let centre = &centres[row % classes * dimensions..][..dimensions];
        values.extend(centre.iter().map(|centre| centre + random() + random() + random()));
    }
    let labels = Labels::new((0..rows).map(|row| (row % classes).to_string())).unwrap();
    (Features::new(values, dimensions).unwrap(), labels)
}

fn all(tail: usize) -> Params {
    Params { tail_size: TailSize::Count(tail), cover_threshold: 1.0, ..Params::paper() }
}

/// A full table of distances: the kernel and its epilogue, every value kept.
fn distances(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("distances");
    for (rows, d) in [(4_000, 16), (4_000, 128), (2_000, 1_024)] {
        let (features, labels) = clumps(rows, d, 20, 1);
        for metric in [Metric::Euclidean, Metric::Cosine, Metric::Manhattan] {
            let params = Params { metric: metric.clone(), ..all(20) };
            let (evm, _) = Evm::fit(&params, &features, &labels).unwrap();
            group.throughput(Throughput::Elements((rows * rows * d) as u64));
            let name = BenchmarkId::new(metric.name(), format!("{rows}x{rows}x{d}"));
            let run = Run::new();
            group.bench_function(name, |bencher| {
                bencher.iter(|| DistanceTable::measure(&run, evm.machine(), black_box(&features)).unwrap());
            });
        }
    }
    group.finish();
}

/// What short tails in few dimensions cost, by rows and dimensions.
fn few_dimensions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("few_dimensions");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).warm_up_time(Duration::from_millis(300));
    for rows in [10_000, 20_000, 100_000] {
        for d in [2, 3, 4, 8, 16] {
            let (features, labels) = clumps(rows, d, 20, 3);
            group.bench_function(format!("{rows}x{d}"), |bencher| {
                bencher.iter(|| Evm::fit(&all(75), black_box(&features), &labels).unwrap());
            });
        }
    }
    group.finish();
}

/// What it saves to compute each distance once.
fn savings(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("savings");
    group.sample_size(10);
    for d in [8, 32, 128, 512] {
        let (features, labels) = clumps(8_000, d, 20, 3);
        for (name, memory) in [("once", 1 << 30), ("twice", 0)] {
            group.bench_function(BenchmarkId::new(name, format!("8000x{d}")), |bencher| {
                let run = Run::new().memory(memory);
                bencher.iter(|| Evm::fit_with(&run, &all(75), black_box(&features), &labels).unwrap());
            });
        }
    }
    group.finish();
}

/// The covariance, its factor and inverse against a fit without them; then queries, whitened and not.
fn whitening(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("whitening");
    group.sample_size(10);
    for d in [384, 1_280, 4_096] {
        let (features, labels) = clumps(1_000, d, 20, 1);
        for whitening in [0.0, 0.5] {
            let params =
                Params { whitening, max_extreme_vectors: Some(Budget::PerClass(5)), ..Params::paper() };
            group.bench_function(
                BenchmarkId::new(format!("fit_{whitening}"), format!("1000x{d}")),
                |bencher| {
                    bencher.iter(|| Evm::fit(&params, black_box(&features), &labels).unwrap());
                },
            );
            let (evm, _) = Evm::fit(&params, &features, &labels).unwrap();
            let name = BenchmarkId::new(format!("queries_{whitening}"), format!("1000x{d}"));
            group.bench_function(name, |bencher| bencher.iter(|| evm.decide(black_box(&features)).unwrap()));
        }
    }
    group.finish();
}

/// Distances, selection and fits; with threshold 1 there is no cover.
fn tails(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tails_and_fits");
    group.sample_size(10);
    for (rows, d, tail) in [(8_000, 16, 75), (8_000, 16, 1_000), (4_000, 384, 75), (4_000, 384, 2_000)] {
        let (features, labels) = clumps(rows, d, 20, 2);
        let name = format!("{rows}x{d}_tail_{tail}");
        group.bench_function(name, |bencher| {
            bencher.iter(|| Evm::fit(&all(tail), black_box(&features), &labels).unwrap());
        });
    }
    group.finish();
}

fn fits(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("weibull_fit");
    for count in [75usize, 1_000, 33_998] {
        let margins: Vec<f64> = (1..=count).map(|i| 1.0 + (i as f64 / count as f64).powf(0.3)).collect();
        group.throughput(Throughput::Elements(count as u64));
        for model in TailModel::ALL {
            let name = BenchmarkId::new(format!("{model:?}"), count);
            group.bench_function(name, |bencher| {
                bencher.iter(|| PsiModel::fit(model, black_box(&margins)).unwrap());
            });
        }
    }
    group.finish();
}

fn cover(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cover");
    group.sample_size(10);
    let (features, labels) = clumps(8_000, 16, 4, 3);
    let (full, _) = Evm::fit(&all(75), &features, &labels).unwrap();
    let base = all(75);
    let choices = [
        ("threshold_0.5", Params { cover_threshold: 0.5, ..base.clone() }),
        ("per_class_200", Params { max_extreme_vectors: Some(Budget::PerClass(200)), ..base.clone() }),
        (
            "weighted_per_class_200",
            Params {
                max_extreme_vectors: Some(Budget::PerClass(200)),
                reduction: Reduction::WeightedMaxK,
                ..base.clone()
            },
        ),
    ];
    for (name, params) in choices {
        group.bench_function(format!("4_classes_of_2000x16_{name}"), |bencher| {
            bencher.iter(|| full.clone().reduce(black_box(&params.cover())).unwrap());
        });
    }
    group.finish();
}

fn fit_update_predict(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("evm");
    group.sample_size(10);
    let params = Params { tail_size: TailSize::Count(75), ..Params::paper() };
    let (features, labels) = clumps(15_000, 16, 26, 4);
    group.bench_function("fit_15000x16_tail_75", |bencher| {
        bencher.iter(|| Evm::fit(&params, black_box(&features), &labels).unwrap());
    });
    let (evm, _) = Evm::fit(&params, &features, &labels).unwrap();
    let (queries, _) = clumps(5_000, 16, 26, 5);
    group.bench_function(format!("predict_5000x16_against_{}", evm.extreme_vector_count()), |bencher| {
        bencher.iter(|| evm.decide(black_box(&queries)).unwrap());
    });
    let (new, _) = clumps(500, 16, 1, 6);
    let names = Labels::new(vec!["new"; 500]).unwrap();
    group.bench_function("update_500x16_of_a_new_class", |bencher| {
        bencher.iter(|| evm.clone().update(black_box(&new), &names).unwrap());
    });
    group.finish();
}

criterion_group!(
    stages,
    distances,
    whitening,
    tails,
    few_dimensions,
    savings,
    fits,
    cover,
    fit_update_predict
);
criterion_main!(stages);
