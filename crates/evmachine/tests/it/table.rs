//! Derived models and measured distances are those of training and asking anew.

use evmachine::{Features, FitError, Params, TailMemory, TailSize};
use proptest::prelude::*;

use crate::common::{any_params, any_set};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_derived_model_is_the_trained_one(
        set in any_set(), params in any_params(), multiplier in 0.2f64..1.0, k in 1usize..4, size in 1usize..30,
    ) {
        let base = set.fit(&Params {
            metric: params.metric.clone(), tail_size: TailSize::Count(30), cover_threshold: 1.0, ..Params::default()
        });
        let params = Params {
            tail_size: TailSize::Count(size), distance_multiplier: multiplier, n_fused: k,
            tail_memory: TailMemory::None, ..params
        };
        let (derived, trained) = (base.derive(&params).unwrap(), set.fit(&params));
        prop_assert_eq!(&derived, &trained);
        let queries: Vec<f32> = set.features.values().iter().map(|value| value + 0.3).collect();
        let queries = Features::new(queries, set.features.columns()).unwrap();
        let table = base.measure(&queries).unwrap();
        let measured = derived.for_each_measured(&table, |_, scores| derived.decision(scores));
        prop_assert_eq!(measured, trained.decide(&queries).unwrap());
    }

    #[test]
    fn what_cannot_be_derived_is_refused(set in any_set(), params in any_params()) {
        let reduced = set.fit(&params);
        if reduced.vector_ratio() < 1.0 {
            prop_assert_eq!(reduced.derive(&params).unwrap_err(), FitError::NotDerivable);
        }
        let small = set.fit(&Params { tail_size: TailSize::Count(1), cover_threshold: 1.0, ..params.clone() });
        let larger = Params { tail_size: TailSize::Count(2), ..params };
        if small.classes().any(|class| set.len() as u64 - class.points_seen > 1) {
            prop_assert_eq!(small.derive(&larger).unwrap_err(), FitError::NotDerivable);
        }
    }
}
