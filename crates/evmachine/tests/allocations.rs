//! A decider takes memory for its first queries alone. A test of its own, because all allocations of the program are counted.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use evmachine::{Evm, Features, Labels, Metric, Params, Weight};

fn drawn(rows: usize, dimensions: usize) -> Features<'static> {
    let mut state = 5u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 16_777_216.0
    };
    let values: Vec<f32> =
        (0..rows * dimensions).map(|at| (at / dimensions % 6) as f32 + 3.0 * next()).collect();
    Features::new(values, dimensions).unwrap()
}

#[test]
fn nothing_is_allocated_after_the_first_queries() {
    let features = drawn(2_400, 40);
    let labels = Labels::new((0..2_400).map(|row| format!("{}", row % 6))).unwrap();
    let heard = |params: Params| Params {
        probe_weight: Weight::Fixed(1.0),
        logit_weight: Weight::Fixed(0.5),
        forest_weight: Weight::Fixed(0.5),
        background: 0.2,
        ..params
    };
    let queries = drawn(200, 40);
    for (name, params) in [
        ("plain", Params::plain()),
        ("robust", Params::robust_for(Metric::Cosine)),
        ("all witnesses", heard(Params::robust_for(Metric::Euclidean))),
    ] {
        let (evm, _) = Evm::fit(&params, &features, &labels).unwrap();
        let mut decider = evm.decider().unwrap();
        let ask = |decider: &mut evmachine::Decider<'_>| {
            queries.iter().filter(|query| decider.decide(query).unwrap().class().is_some()).count()
        };
        let known = ask(&mut decider);
        assert!(known > 0, "{name}: some are known");
        let counted = allocation_counter::measure(|| assert_eq!(ask(&mut decider), known));
        assert_eq!((counted.count_total, counted.bytes_total), (0, 0), "{name}");
    }
}
