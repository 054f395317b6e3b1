//! Fits that keep the fewest rows that cost next to nothing.

use evmachine::{Evm, Features, Labels, Metric, Params, Weight};

use crate::common::Random;

/// Clumps of twelve classes in eight dimensions, so close that some rows lie among others.
fn drawn(rows: usize, seed: u64) -> (Features<'static>, Labels) {
    let mut random = Random(seed);
    let (mut values, mut names) = (Vec::new(), Vec::new());
    for row in 0..rows {
        let class = (row * 5) % 12;
        names.push(format!("{class}"));
        for k in 0..8 {
            let centre = ((class * (2 * k + 3)) % 11) as f32;
            values.push(centre - 9.5 + 3.0 * (random.next() + random.next() + random.next()));
        }
    }
    (Features::new(values, 8).unwrap(), Labels::new(names).unwrap())
}

#[test]
fn fewer_rows_answer_alike() {
    let (features, labels) = drawn(4_000, 1);
    let (queries, truth) = drawn(2_000, 2);
    for metric in [Metric::Euclidean, Metric::Cosine] {
        let params = Params::robust_for(metric);
        let (few, report) = Evm::fit(&params, &features, &labels).unwrap();
        let (all, _) = Evm::fit(&params.keeping_all(), &features, &labels).unwrap();
        assert_eq!(all.extreme_vector_count(), report.rows);
        assert!(few.params().cover_threshold < 1.0 && few.params().cover_loss > 0.0);
        assert!(few.vector_ratio() < 0.7, "{}", few.vector_ratio());
        let right = |evm: &Evm| {
            let decisions = evm.decide(&queries).unwrap();
            let named = decisions
                .iter()
                .enumerate()
                .filter(|(row, decision)| evm.name_of(decision).is_some_and(|name| name == truth.name(*row)));
            named.count() as f64 / 2_000.0
        };
        let (with_few, with_all) = (right(&few), right(&all));
        assert!(with_few > with_all - 0.02, "{with_few} {with_all}");
        // The threshold is that of the covered model: 5 % are promised.
        let rejected = few.decide(&queries).unwrap().iter().filter(|found| found.class().is_none()).count();
        assert!((40..200).contains(&rejected), "{rejected} of 2,000");
        // What was chosen is kept by updates, and by a fit with the parameters of the model.
        let mut later = few.clone();
        let (more, names) = drawn(600, 3);
        later.update(&more, &names).unwrap();
        assert_eq!(later.params().cover_threshold, few.params().cover_threshold);
        assert!(later.vector_ratio() < 0.7);
        let (again, _) = Evm::fit(few.params(), &features, &labels).unwrap();
        assert!(again.to_bytes().unwrap() == few.to_bytes().unwrap());
        assert_eq!(Evm::from_bytes(&few.to_bytes().unwrap()).unwrap(), few);
    }
}

#[test]
fn a_machine_without_witnesses_is_made_compact_too() {
    let (features, labels) = drawn(3_000, 4);
    let nothing = Weight::Fixed(0.0);
    let params =
        Params { logit_weight: nothing, probe_weight: nothing, forest_weight: nothing, ..Params::robust() };
    let (evm, _) = Evm::fit(&params, &features, &labels).unwrap();
    assert!(evm.vector_ratio() < 0.7, "{}", evm.vector_ratio());
}

#[test]
fn few_rows_few_classes_and_whoever_names_a_threshold_keep_what_was_said() {
    let (features, labels) = drawn(1_900, 5);
    let ratio = |params: &Params, features: &Features<'_>, labels: &Labels| {
        Evm::fit(params, features, labels).unwrap().0.vector_ratio()
    };
    assert_eq!(ratio(&Params::robust(), &features, &labels), 1.0, "2,000 rows are few");
    let (features, labels) = drawn(3_000, 6);
    let two: Vec<usize> = (0..3_000).filter(|&row| labels.ids()[row] < 2).collect();
    let pair = (features.select(&two), labels.select(&two));
    let many = (0..3).flat_map(|_| pair.0.values().to_vec()).collect::<Vec<f32>>();
    let names = (0..3).flat_map(|_| (0..two.len()).map(|row| pair.1.name(row).to_owned()));
    let (many, names) = (Features::new(many, 8).unwrap(), Labels::new(names).unwrap());
    assert_eq!(ratio(&Params::robust(), &many, &names), 1.0, "of two classes none can be left out");
    let values = serde_json::json!({"cover_threshold": 1.0});
    let named = Params::robust().with(values.as_object().cloned().unwrap()).unwrap();
    assert_eq!(ratio(&named, &features, &labels), 1.0, "a threshold of 1 that is named keeps every row");
}
