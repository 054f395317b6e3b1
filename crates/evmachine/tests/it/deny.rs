//! "Not her": vectors that are not of a class shape its margins, are never answered with it, and leave nothing behind.

use evmachine::{
    Budget, ClassScore, Cover, Edit, EditError, Evm, Features, Labels, Metric, Params, Rejection, RowNames,
    TailMemory, TailModel, TailSize, Weight,
};
use proptest::prelude::*;

use crate::common::{Random, Set, any_metric, any_params, any_set};

/// By row of training, the vector and its Psi-model, of one class or of all others.
fn fits(evm: &Evm, class: &str, own: bool) -> Vec<String> {
    let vectors = evm.extreme_vectors().filter(|vector| (evm.class_name(vector.class) == class) == own);
    let mut rows: Vec<(u64, String)> =
        vectors.map(|vector| (vector.source, format!("{:?} {:?}", vector.vector, vector.psi))).collect();
    rows.sort();
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Keeps every point, with whole tails of a fixed size.
fn exact() -> impl Strategy<Value = Params> {
    let model = prop::sample::select(TailModel::ALL.to_vec());
    (any_metric(), model, 1usize..40).prop_map(|(metric, tail_model, tail)| Params {
        metric,
        tail_model,
        tail_size: TailSize::Count(tail),
        cover_threshold: 1.0,
        ..Params::paper()
    })
}

/// Rows beside those of the set and among them.
fn vectors(set: &Set, seed: u64, count: usize) -> Features<'static> {
    let (mut random, d) = (Random(seed), set.features.columns());
    let rows = (0..count).flat_map(|row| match row % 2 {
        0 => (0..d).map(|_| 1.0 + 8.0 * random.next()).collect::<Vec<f32>>(),
        _ => set.features.row((random.next() * set.len() as f32) as usize).to_vec(),
    });
    Features::new(rows.collect::<Vec<f32>>(), d).unwrap()
}

fn joined(set: &Set, more: &Features<'_>, name: &str) -> Set {
    let values = [set.features.values(), more.values()].concat();
    let names = (0..set.len()).map(|row| set.labels.name(row).to_owned());
    let names = names.chain((0..more.rows()).map(|_| name.to_owned()));
    Set {
        features: Features::new(values, set.features.columns()).unwrap(),
        labels: Labels::new(names).unwrap(),
    }
}

fn sources(evm: &Evm) -> Vec<u64> {
    evm.denials().map(|denial| denial.source).collect()
}

/// Whether no row is answered with the class, and each is answered as the other classes say.
fn is_denied(evm: &Evm, rows: &Features<'_>, class: &str) -> Result<(), TestCaseError> {
    let number = evm.class_index(class).unwrap();
    let all = evm.map_queries(rows, |_, scores| scores.to_vec()).unwrap();
    for (decision, scores) in evm.decide(rows).unwrap().iter().zip(&all) {
        prop_assert_ne!(decision.class(), Some(number));
        prop_assert_eq!(scores[number].support, f64::NEG_INFINITY);
        let others: Vec<ClassScore> =
            scores.iter().enumerate().filter(|(at, _)| *at != number).map(|(_, score)| *score).collect();
        if !others.is_empty() && evm.params().background == 0.0 {
            prop_assert_eq!(decision.score().support, evm.decision(&others).score().support);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_psi_models_are_those_of_a_fit_that_had_it_as_a_negative_of_the_class(
        set in any_set(), params in exact(), seed in any::<u64>(), count in 1usize..6, asked in any::<bool>(),
    ) {
        let denied = vectors(&set, seed, count);
        let plain = set.fit(&params);
        let mut evm = plain.clone();
        if asked {
            evm.decide(&set.features).unwrap();
        }
        evm.deny(&denied, "class 1").unwrap();
        let negative = joined(&set, &denied, "negatives").fit(&params);
        prop_assert_eq!(fits(&evm, "class 1", true), fits(&negative, "class 1", true));
        prop_assert_eq!(fits(&evm, "class 1", false), fits(&plain, "class 1", false), "the others are as they were");
        is_denied(&evm, &denied, "class 1")?;
    }

    #[test]
    fn denied_before_an_update_or_after_it_is_the_same(
        set in any_set(), params in exact(), seed in any::<u64>(), count in 1usize..6,
    ) {
        let (first, rest): (Vec<usize>, Vec<usize>) = (0..set.len()).partition(|row| row % 3 < 2 || *row < 5);
        prop_assume!(!rest.is_empty());
        let denied = vectors(&set, seed, count);
        let (first, rest) = (set.rows(&first), set.rows(&rest));
        let (mut before, mut after) = (first.fit(&params), first.fit(&params));
        before.deny(&denied, "class 0").unwrap();
        before.update(&rest.features, &rest.labels).unwrap();
        after.update(&rest.features, &rest.labels).unwrap();
        after.deny(&denied, "class 0").unwrap();
        let unsourced = |evm: &Evm| [fits(evm, "class 0", true), fits(evm, "class 0", false)];
        prop_assert_eq!(unsourced(&before), unsourced(&after));
        is_denied(&before, &denied, "class 0")?;
    }

    #[test]
    fn undone_it_leaves_no_byte_behind_whatever_the_model_remembers(
        set in any_set(), params in any_params(), seed in any::<u64>(), count in 1usize..6,
        memory in prop::sample::select(vec![TailMemory::Full, TailMemory::Max, TailMemory::None]),
    ) {
        let denied = vectors(&set, seed, count);
        let params = Params { tail_memory: memory, ..params };
        let plain = set.fit(&params);
        let bytes = plain.to_bytes().unwrap();
        let mut evm = plain.clone();
        evm.deny(&denied, "class 0").unwrap();
        let ids = (0..count).map(|row| format!("wrong {row}")).collect();
        let names = RowNames { ids: Some(ids), batch: Some("today".to_owned()), ..RowNames::default() };
        evm.name_rows(plain.points_seen(), count as u64, names).unwrap();
        is_denied(&evm, &denied, "class 0")?;
        evm.deny(&denied, "class 1").unwrap();
        is_denied(&evm, &denied, "class 1")?;
        if !evm.params().metric.name().starts_with("custom") {
            evm = Evm::from_bytes(&evm.to_bytes().unwrap()).unwrap();
        }
        evm.edit(&Edit::Unlearn { rows: sources(&evm) }).unwrap();
        prop_assert!(evm == plain && evm.to_bytes().unwrap() == bytes);
    }

    #[test]
    fn one_class_alone_has_its_denials_to_measure_margins_against(
        set in any_set(), params in exact(), seed in any::<u64>(), count in 1usize..6,
    ) {
        let own: Vec<usize> = (0..set.len()).filter(|&row| set.labels.name(row) == "class 0").collect();
        let own = set.rows(&own);
        let denied = vectors(&set, seed, count);
        let plain = own.fit(&params);
        let mut evm = plain.clone();
        evm.deny(&denied, "class 0").unwrap();
        let negative = joined(&own, &denied, "negatives").fit(&params);
        prop_assert_eq!(fits(&evm, "class 0", true), fits(&negative, "class 0", true));
        prop_assert!(evm.decide(&denied).unwrap().iter().all(|decision| decision.class().is_none()));
        evm.edit(&Edit::Unlearn { rows: sources(&evm) }).unwrap();
        prop_assert!(evm == plain);
    }

    #[test]
    fn a_denial_that_gets_a_name_is_a_row_of_that_class(
        set in any_set(), params in exact(), seed in any::<u64>(), count in 1usize..4, ignored in any::<bool>(),
    ) {
        let denied = vectors(&set, seed, count);
        let mut evm = set.fit(&params);
        evm.deny(&denied, "class 0").unwrap();
        let rows = sources(&evm);
        let right = if ignored {
            evm.edit(&Edit::Ignore { rows }).unwrap();
            let mut right = set.fit(&params);
            right.ignore(&denied).unwrap();
            right
        } else {
            evm.edit(&Edit::Relabel { rows, class: "class 1".to_owned() }).unwrap();
            joined(&set, &denied, "class 1").fit(&params)
        };
        prop_assert_eq!(evm.denied_count(), 0);
        for own in [true, false] {
            prop_assert_eq!(fits(&evm, "class 1", own), fits(&right, "class 1", own));
        }
    }
}

/// Four classes that overlap, with enough rows for witnesses and a threshold.
fn overlapping(rows: usize) -> Set {
    let mut random = Random(3);
    let values =
        (0..rows).flat_map(|row| [random.next() + (row % 4) as f32 * 0.7, random.next(), random.next()]);
    let features = Features::new(values.collect::<Vec<f32>>(), 3).unwrap();
    Set { features, labels: Labels::new((0..rows).map(|row| ["a", "b", "c", "d"][row % 4])).unwrap() }
}

#[test]
fn under_every_witness_and_threshold_it_is_never_answered_so_and_stays_that_way() {
    let set = overlapping(400);
    let cosine = Params::robust_for(Metric::Cosine);
    let probe =
        Params { probe_weight: Weight::Fixed(4.0), contrast: 0.5, background: 0.2, ..Params::robust() };
    let all = [Params::paper(), Params::plain(), Params::robust(), cosine, probe];
    for (params, rule) in all.into_iter().flat_map(|params| {
        [Rejection::Probability(0.0), Rejection::FalseUnknown(0.1), Rejection::FalseUnknownPerClass(0.1)]
            .map(|rule| (params.clone(), rule))
    }) {
        let params = Params { rejection_threshold: rule, n_fused: 2, ..params };
        let (plain, _) = Evm::fit(&params, &set.features, &set.labels).unwrap();
        let bytes = plain.to_bytes().unwrap();
        // Training rows of the class itself, and a row beside them.
        let rows = [set.features.row(0), set.features.row(4), &[0.4, 0.5, 0.5]].concat();
        let rows = Features::new(rows, 3).unwrap();
        let mut evm = plain.clone();
        evm.deny(&rows, "a").unwrap();
        is_denied(&evm, &rows, "a").unwrap();
        let loaded = Evm::from_bytes(&evm.to_bytes().unwrap()).unwrap();
        assert!(loaded == evm && loaded.decide(&set.features).unwrap() == evm.decide(&set.features).unwrap());

        let mut undone = loaded;
        undone.edit(&Edit::Unlearn { rows: sources(&evm) }).unwrap();
        assert!(undone.to_bytes().unwrap() == bytes, "{params:?}");

        let mut later = evm.clone();
        later.forget_class("d").unwrap();
        later.reduce(&Cover::within(Budget::PerClass(20))).unwrap();
        let more = Labels::new(["a", "b", "e", "e"]).unwrap();
        later.update(&set.features.select(&[40, 41, 43, 47]), &more).unwrap();
        let row = later.extreme_vectors().find(|vector| vector.class == 1).unwrap().source;
        later.edit(&Edit::Relabel { rows: vec![row], class: "c".to_owned() }).unwrap();
        later.edit(&Edit::Rename { class: "a".to_owned(), to: "z".to_owned() }).unwrap();
        let later = Evm::from_bytes(&later.to_bytes().unwrap()).unwrap();
        assert_eq!(later.denied_count(), 3);
        assert!(later.decide(&rows).unwrap().iter().all(|decision| later.name_of(decision) != Some("z")));
        let mut merged = later.clone();
        merged.edit(&Edit::Merge { class: "z".to_owned(), into: "b".to_owned() }).unwrap();
        assert_eq!(merged.denied_count(), 3);
        assert!(merged.decide(&rows).unwrap().iter().all(|decision| merged.name_of(decision) != Some("b")));
    }
}

#[test]
fn a_denial_is_explained_named_and_no_row_of_a_class() {
    let set = overlapping(80);
    let params = Params { cover_threshold: 1.0, ..Params::paper() };
    let (mut evm, _) = Evm::fit(&params, &set.features, &set.labels).unwrap();
    let query = Features::new(vec![0.4, 0.5, 0.5], 3).unwrap();
    assert_eq!(evm.explain(&query, 1).unwrap()[0].denied, []);
    let report = evm.deny(&query, "a").unwrap();
    assert_eq!((report.rows, report.recalibrated, evm.denied_count(), evm.points_seen()), (1, false, 1, 81));
    assert!(report.refitted > 0);
    evm.name_rows(80, 1, RowNames { ids: Some(vec!["17".to_owned()]), ..RowNames::default() }).unwrap();
    let why = evm.reasons(&query, 1, evmachine::Prior::EVEN).unwrap().remove(0);
    let [denied] = &why.denied[..] else { panic!("{why:?}") };
    assert_eq!((denied.class.as_str(), denied.row.id.as_deref()), ("a", Some("17")));
    assert!(denied.decides && denied.distance == 0.0);
    let far = evm.explain(&Features::new(vec![2.5, 0.5, 0.5], 3).unwrap(), 1).unwrap().remove(0);
    assert!(!far.denied[0].decides && far.denied[0].distance > 1.0);
    assert_eq!(evm.sources_with_id("17"), [80]);

    assert_eq!(evm.edited(&Edit::SetAside { rows: vec![80] }), Err(EditError::Denials { rows: vec![80] }));
    let split = Edit::Split { class: "a".to_owned(), rows: vec![80], into: "new".to_owned() };
    assert!(matches!(evm.edited(&split), Err(EditError::OtherClass { .. })));
    let nobody = evm.clone().deny(&query, "nobody");
    assert!(matches!(nobody, Err(EditError::UnknownClass { .. })), "{nobody:?}");
    let nothing = Features::new(Vec::new(), 3).unwrap();
    assert_eq!(evm.clone().deny(&nothing, "a"), Err(EditError::NoRows));
    let narrow = Features::new(vec![1.0], 1).unwrap();
    assert!(matches!(evm.clone().deny(&narrow, "a"), Err(EditError::Run(_))));
}
