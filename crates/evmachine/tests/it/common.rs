//! Random training sets for the laws: classes as clumps, on a grid so that ties, duplicates and zero margins
//! come up all the time, or off it.

use evmachine::{Distance, Evm, Features, Labels, Metric, Params, TailModel, TailSize};
use proptest::prelude::*;

#[derive(Debug, Clone)]
pub(crate) struct Set {
    pub(crate) features: Features<'static>,
    pub(crate) labels: Labels,
}

impl Set {
    pub(crate) fn fit(&self, params: &Params) -> Evm {
        Evm::fit(params, &self.features, &self.labels).unwrap().0
    }

    pub(crate) fn rows(&self, rows: &[usize]) -> Self {
        Self { features: self.features.select(rows), labels: self.labels.select(rows) }
    }

    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }
}

/// Values are nowhere all zero, so that cosine can be used.
pub(crate) fn any_set() -> impl Strategy<Value = Set> {
    (2usize..5, 1usize..4, 4usize..60, any::<bool>(), any::<u64>()).prop_map(
        |(classes, dimensions, rows, grid, seed)| {
            let mut random = Random(seed);
            let mut values = Vec::new();
            let mut names = Vec::new();
            for row in 0..rows {
                // The first rows make sure that every class occurs.
                let class = if row < classes { row } else { (random.next() * classes as f32) as usize };
                names.push(format!("class {class}"));
                for _ in 0..dimensions {
                    let value = 1.0 + class as f32 * 1.5 + random.next() * 3.0;
                    values.push(if grid { value.round() } else { value });
                }
            }
            Set { features: Features::new(values, dimensions).unwrap(), labels: Labels::new(names).unwrap() }
        },
    )
}

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / 16_777_216.0
    }
}

#[derive(Debug)]
struct Chebyshev;

impl Distance for Chebyshev {
    fn name(&self) -> &'static str {
        "chebyshev"
    }
    fn distance(&self, a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }
}

pub(crate) fn any_metric() -> impl Strategy<Value = Metric> {
    prop::sample::select(vec![
        Metric::Euclidean,
        Metric::Cosine,
        Metric::Manhattan,
        Metric::custom(Chebyshev),
    ])
}

pub(crate) fn any_params() -> impl Strategy<Value = Params> {
    let tail_size = prop_oneof![
        Just(TailSize::Auto),
        (1usize..40).prop_map(TailSize::Count),
        (0.01f64..1.0).prop_map(TailSize::Fraction)
    ];
    let whitening = prop::sample::select(vec![0.0, 0.0, 0.3, 1.0]);
    let tail_model = prop::sample::select(TailModel::ALL.to_vec());
    (any_metric(), tail_model, tail_size, 0.05f64..0.62, 0f64..1.0, whitening).prop_map(
        |(metric, tail_model, tail_size, cover_threshold, pooling, whitening)| Params {
            whitening: if matches!(metric, Metric::Euclidean | Metric::Cosine) { whitening } else { 0.0 },
            metric,
            tail_model,
            tail_size,
            cover_threshold,
            pooling: if pooling < 0.5 { 0.0 } else { pooling },
            ..Params::paper()
        },
    )
}
