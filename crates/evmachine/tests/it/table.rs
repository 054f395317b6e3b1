//! Derived models and measured distances are those of training and asking anew.

use evmachine::tuning::{DeriveError, DistanceTable, TailFits, derive};
use evmachine::{Features, Params, Run, TailMemory, TailModel, TailSize};
use proptest::prelude::*;

use crate::common::{any_params, any_set};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_derived_model_is_the_trained_one(
        set in any_set(), params in any_params(), multiplier in 0.2f64..1.0, k in 1usize..4, size in 1usize..30,
        smoothing in prop::sample::select(vec![0.0, 0.6]),
    ) {
        let params = Params { smoothing, smoothing_neighbors: 3, ..params };
        let base = set.fit(&Params {
            metric: params.metric.clone(), whitening: params.whitening, tail_size: TailSize::Count(30),
            cover_threshold: 1.0,
            smoothing: params.smoothing, smoothing_neighbors: params.smoothing_neighbors, ..Params::paper()
        });
        let params = Params {
            tail_size: TailSize::Count(size), distance_multiplier: multiplier, n_fused: k,
            tail_memory: TailMemory::None, ..params
        };
        let derived = derive(&Run::new(), &base, &params, &set.features).unwrap();
        let trained = set.fit(&params);
        prop_assert_eq!(&derived, &trained);
        let queries: Vec<f32> = set.features.values().iter().map(|value| value + 0.3).collect();
        let queries = Features::new(queries, set.features.columns()).unwrap();
        let table = DistanceTable::measure(&Run::new(), base.machine(), &queries).unwrap();
        let measured = table.map_queries(derived.machine(), |_, scores| derived.decision(scores)).unwrap();
        prop_assert_eq!(measured, trained.decide(&queries).unwrap());
    }

    #[test]
    fn fits_serve_every_multiplier(set in any_set(), params in any_params(), multiplier in 0.2f64..1.0) {
        let base = set.fit(&Params {
            tail_size: TailSize::Count(20), cover_threshold: 1.0, ..params.clone()
        });
        let params = Params { tail_size: TailSize::Count(10), cover_threshold: 1.0, ..params };
        let fits = TailFits::new(&Run::new(), &base, &params).unwrap();
        let other = Params { distance_multiplier: multiplier, ..params };
        if !fits.serve(&other) {
            prop_assert_eq!(other.tail_model, TailModel::Libmr);
            let refused = fits.derive(&Run::new(), &base, &other, &set.features).unwrap_err();
            prop_assert_eq!(refused, DeriveError::NotDerivable);
            return Ok(());
        }
        let derived = fits.derive(&Run::new(), &base, &other, &set.features).unwrap();
        let trained = set.fit(&other);
        for (a, b) in derived.extreme_vectors().zip(trained.extreme_vectors()) {
            prop_assert!((a.psi.scale - b.psi.scale).abs() <= 1e-6 * b.psi.scale, "{a:?} {b:?}");
            prop_assert!((a.psi.shape - b.psi.shape).abs() <= 1e-6 * b.psi.shape, "{a:?} {b:?}");
        }
    }

    #[test]
    fn what_cannot_be_derived_is_refused(set in any_set(), params in any_params()) {
        let reduced = set.fit(&params);
        if reduced.vector_ratio() < 1.0 {
            let refused = derive(&Run::new(), &reduced, &params, &set.features).unwrap_err();
            prop_assert_eq!(refused, DeriveError::NotDerivable);
        }
        let small = set.fit(&Params { tail_size: TailSize::Count(1), cover_threshold: 1.0, ..params.clone() });
        let larger = Params { tail_size: TailSize::Count(2), ..params };
        if small.classes().any(|class| set.len() as u64 - class.points_seen > 1) {
            let refused = derive(&Run::new(), &small, &larger, &set.features).unwrap_err();
            prop_assert_eq!(refused, DeriveError::NotDerivable);
        }
    }
}
