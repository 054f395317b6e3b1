//! The reasons of a decision add up.

use evmachine::{Evm, Features, Params};
use proptest::prelude::*;

use crate::common::{any_params, any_set};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_speakers_are_those_who_decided(set in any_set(), params in any_params(), k in 1usize..4) {
        let evm = set.fit(&Params { n_fused: k, ..params });
        let decisions = evm.decide(&set.features).unwrap();
        for (why, decision) in evm.explain(&set.features, 2).unwrap().iter().zip(&decisions) {
            prop_assert_eq!(&why.decision, decision);
            prop_assert_eq!(why.classes.len(), 2);
            prop_assert_eq!(why.classes[0].class, decision.best());
            prop_assert!(why.classes[0].probability >= why.classes[1].probability);
            for class in &why.classes {
                let size = evm.classes().nth(class.class).unwrap().extreme_vectors;
                prop_assert_eq!(class.extreme_vectors.len(), k.min(size));
                let mean = class.extreme_vectors.iter().map(|speaker| speaker.psi).sum::<f64>() / class.extreme_vectors.len() as f64;
                prop_assert!((mean - class.probability).abs() < 1e-9);
                prop_assert!(class.extreme_vectors.is_sorted_by(|a, b| a.psi >= b.psi));
                for speaker in &class.extreme_vectors {
                    let vector = evm.extreme_vectors().nth(speaker.extreme_vector).unwrap();
                    prop_assert_eq!(vector.class, class.class);
                    prop_assert_eq!(vector.source, speaker.source);
                }
            }
        }
    }
}

#[test]
fn a_query_changes_sides_where_the_explanation_says() {
    let features = Features::new(vec![0.0, 0.4, 0.9, 10.0, 10.3, 11.0], 1).unwrap();
    let labels = evmachine::Labels::new(["a", "a", "a", "b", "b", "b"]).unwrap();
    let (evm, _) = Evm::fit(&Params::paper(), &features, &labels).unwrap();
    let ask = |x: f64| {
        let query = Features::new(vec![x as f32], 1).unwrap();
        let why = evm.explain(&query, 1).unwrap().remove(0);
        (why.decision.class(), why.distance_to_boundary)
    };
    // Far out on the left the way in is to the right; inside, the way out of a is to the left.
    let (class, way_in) = ask(-20.0);
    assert_eq!(class, None);
    assert_eq!(ask(-20.0 + way_in + 1e-3).0, Some(0));
    assert_eq!(ask(-20.0 + way_in - 1e-3).0, None);
    let (class, way_out) = ask(-1.0);
    assert_eq!(class, Some(0));
    assert_eq!(ask(-1.0 - way_out + 1e-3).0, Some(0));
    assert_eq!(ask(-1.0 - way_out - 1e-3).0, None);
}
