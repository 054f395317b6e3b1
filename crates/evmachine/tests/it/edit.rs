//! Corrections: with every point kept and whole tails, an edited model is the one of a fit to the corrected rows.

use evmachine::{Edit, Evm, Features, Labels, Params, RowNames, Run, TailModel, TailSize, Weight};
use proptest::prelude::*;

use crate::common::{Random, Set, any_metric, any_params, any_set};

/// What a model is made of, by class name, whatever its rows are numbered.
fn parts(evm: &Evm) -> Vec<(String, u64, usize, Vec<String>)> {
    let mut classes: Vec<_> = evm
        .classes()
        .enumerate()
        .map(|(number, class)| {
            let vectors = evm.extreme_vectors().filter(|vector| vector.class == number);
            let rows = vectors.map(|vector| format!("{:?} {:?} {}", vector.vector, vector.psi, vector.gain));
            (class.name.to_owned(), class.points_seen, class.tail_size, rows.collect())
        })
        .collect();
    classes.sort();
    classes
}

/// Keeps every point, with whole tails of a fixed size.
fn exact() -> impl Strategy<Value = Params> {
    let model = prop::sample::select(TailModel::ALL.to_vec());
    (any_metric(), model, 1usize..40, 0f64..1.0).prop_map(|(metric, tail_model, tail, pooling)| Params {
        metric,
        tail_model,
        tail_size: TailSize::Count(tail),
        pooling: if pooling < 0.5 { 0.0 } else { pooling },
        cover_threshold: 1.0,
        ..Params::paper()
    })
}

fn set_of(set: &Set, name: impl Fn(usize) -> Option<String>) -> Set {
    let rows: Vec<usize> = (0..set.len()).filter(|&row| name(row).is_some()).collect();
    let labels = Labels::new(rows.iter().filter_map(|&row| name(row))).unwrap();
    Set { features: set.features.select(&rows), labels }
}

/// A model of the set that has answered already or not, and so has its vectors laid out or not.
fn fitted(set: &Set, params: &Params, asked: bool) -> Evm {
    let evm = set.fit(params);
    if asked {
        evm.decide(&set.features).unwrap();
    }
    evm
}

fn some_rows(set: &Set, seed: u64, most: usize) -> Vec<u64> {
    let mut random = Random(seed);
    let mut rows: Vec<u64> = (0..most).map(|_| (random.next() * set.len() as f32) as u64).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// Tails are the same too if new rows are learned to the same effect.
fn same(edited: &mut Evm, fitted: &mut Evm) -> Result<(), TestCaseError> {
    prop_assert_eq!(parts(edited), parts(fitted));
    let d = edited.dimensions();
    let more =
        Features::new((0..6 * d).map(|i| 1.0 + (i % 5) as f32 * 0.9).collect::<Vec<f32>>(), d).unwrap();
    let labels = Labels::new(["new", "new", "newer", "class 0", "class 1", "newer"]).unwrap();
    edited.update(&more, &labels).unwrap();
    fitted.update(&more, &labels).unwrap();
    prop_assert_eq!(parts(edited), parts(fitted), "after an update");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn relabelled_rows_are_as_if_they_had_been_labelled_so(
        set in any_set(), params in exact(), seed in any::<u64>(), most in 1usize..6, new in any::<bool>(),
        asked in any::<bool>(),
    ) {
        let rows = some_rows(&set, seed, most);
        let class = if new { "another" } else { "class 1" };
        let mut edited = fitted(&set, &params, asked);
        edited.edit(&Edit::Relabel { rows: rows.clone(), class: class.to_owned() }).unwrap();
        let right = set_of(&set, |row| {
            Some(if rows.contains(&(row as u64)) { class.to_owned() } else { set.labels.name(row).to_owned() })
        });
        same(&mut edited, &mut right.fit(&params))?;
    }

    #[test]
    fn unlearned_rows_are_as_if_they_had_never_been_there(
        set in any_set(), params in exact(), seed in any::<u64>(), most in 1usize..6, asked in any::<bool>(),
    ) {
        let rows = some_rows(&set, seed, most);
        prop_assume!(rows.len() < set.len());
        let mut edited = fitted(&set, &params, asked);
        edited.edit(&Edit::Unlearn { rows: rows.clone() }).unwrap();
        let rest = set_of(&set, |row| (!rows.contains(&(row as u64))).then(|| set.labels.name(row).to_owned()));
        same(&mut edited, &mut rest.fit(&params))?;
    }

    #[test]
    fn classes_are_merged_split_and_renamed_as_if_they_had_been_so(
        set in any_set(), params in exact(), seed in any::<u64>(),
    ) {
        let fitted = set.fit(&params);
        let mut merged = fitted.clone();
        merged.edit(&Edit::Merge { class: "class 1".into(), into: "class 0".into() }).unwrap();
        let one = |name: &str| if name == "class 1" { "class 0".to_owned() } else { name.to_owned() };
        let right = set_of(&set, |row| Some(one(set.labels.name(row))));
        // One class alone guesses from within, and then there is nothing to compare tails of.
        prop_assert_eq!(parts(&merged), parts(&right.fit(&params)));

        // And back again, which is a split.
        let rows: Vec<u64> =
            (0..set.len()).filter(|&row| set.labels.name(row) == "class 1").map(|row| row as u64).collect();
        merged.edit(&Edit::Split { class: "class 0".into(), rows, into: "class 1".into() }).unwrap();
        prop_assert_eq!(parts(&merged), parts(&fitted));
        same(&mut merged, &mut fitted.clone())?;

        let mut renamed = fitted.clone();
        let name = format!("renamed {seed}");
        renamed.edit(&Edit::Rename { class: "class 0".into(), to: name.clone() }).unwrap();
        prop_assert_eq!(renamed.class_index(&name), fitted.class_index("class 0"));
        renamed.edit(&Edit::Rename { class: name, to: "class 0".into() }).unwrap();
        prop_assert!(renamed == fitted);
    }

    #[test]
    fn what_is_set_aside_comes_back_as_it_was(
        set in any_set(), params in exact(), seed in any::<u64>(), most in 1usize..6, asked in any::<bool>(),
    ) {
        let rows = some_rows(&set, seed, most);
        prop_assume!(rows.len() < set.len());
        let fitted = fitted(&set, &params, asked);
        let mut edited = fitted.clone();
        edited.edit(&Edit::SetAside { rows: rows.clone() }).unwrap();
        prop_assert_eq!(edited.rows_aside().len(), rows.len());
        let loaded = Evm::from_bytes(&edited.to_bytes().unwrap());
        if params.metric.name().starts_with("custom") {
            prop_assert!(loaded.is_err());
        } else {
            prop_assert!(loaded.unwrap() == edited);
        }
        if asked {
            edited.decide(&set.features).unwrap();
        }
        edited.edit(&Edit::Restore { rows }).unwrap();
        same(&mut edited, &mut fitted.clone())?;
    }

    #[test]
    fn ignored_samples_may_come_before_or_after(
        set in any_set(), params in exact(), seed in any::<u64>(), most in 1usize..6, asked in any::<bool>(),
    ) {
        let rows = some_rows(&set, seed, most);
        let rest = set_of(&set, |row| (!rows.contains(&(row as u64))).then(|| set.labels.name(row).to_owned()));
        prop_assume!(rest.len() > 0);
        let strangers = set.features.select(&rows.iter().map(|&row| row as usize).collect::<Vec<_>>());
        let (mut together, _) =
            Evm::fit_ignoring(&params, &rest.features, &rest.labels, &strangers).unwrap();
        let mut after = fitted(&rest, &params, asked);
        after.ignore(&strangers).unwrap();
        prop_assert!(together == after, "ignored at once or later");
        let mut edited = fitted(&set, &params, asked);
        edited.edit(&Edit::Ignore { rows: rows.clone() }).unwrap();
        prop_assert_eq!(parts(&edited), parts(&together), "known rows become ignored ones");
        prop_assert!(after.decide(&strangers).unwrap().iter().all(|decision| decision.class().is_none()));
        // Once they are named, they are a class of their own, as if they had been given as one.
        let mut named = after.clone();
        let report = named
            .edit(&Edit::Relabel { rows: after.ignored_sources().to_vec(), class: "named".to_owned() })
            .unwrap();
        prop_assert_eq!((report.rows, named.ignored_count()), (rows.len(), 0));
        let right = set_of(&set, |row| {
            Some(if rows.contains(&(row as u64)) { "named".to_owned() } else { set.labels.name(row).to_owned() })
        });
        prop_assert_eq!(parts(&named), parts(&right.fit(&params)), "strangers get a name");
        same(&mut edited, &mut together)?;
        // And none of them stays where they are unlearned.
        let strangers = after.ignored_sources().to_vec();
        after.edit(&Edit::Unlearn { rows: strangers }).unwrap();
        same(&mut after, &mut rest.fit(&params))?;
    }

    #[test]
    fn a_cover_leaves_no_training_row_beside_a_stranger(
        set in any_set(), params in any_params(), seed in any::<u64>(),
    ) {
        let mut random = Random(seed);
        let d = set.features.columns();
        let strangers = Features::new((0..3 * d).map(|_| 1.0 + 8.0 * random.next()).collect::<Vec<f32>>(), d).unwrap();
        let (evm, _) =
            Evm::fit_ignoring(&params, &set.features, &set.labels, &strangers).unwrap();
        for why in evm.explain(&set.features, 1).unwrap() {
            let stranger = why.ignored.unwrap();
            prop_assert!(!stranger.decides || stranger.distance == 0.0, "{why:?}");
        }
        prop_assert!(evm.decide(&strangers).unwrap().iter().all(|decision| decision.class().is_none()));
    }

    #[test]
    fn one_class_alone_learns_others_as_if_they_had_been_there(set in any_set(), params in exact()) {
        let first = set.labels.name(0).to_owned();
        let part = |own: bool| {
            let rows: Vec<usize> = (0..set.len()).filter(|&row| (set.labels.name(row) == first) == own).collect();
            set.rows(&rows)
        };
        let (own, others) = (part(true), part(false));
        let mut evm = own.fit(&params);
        prop_assert!(evm.is_alone());
        prop_assert_eq!(evm.decide(&own.features).unwrap()[0].class(), Some(0));
        evm.update(&others.features, &others.labels).unwrap();
        same(&mut evm, &mut set.fit(&params))?;
    }
}

/// Two clumps of the plane that touch.
fn clumps(rows: usize) -> (Features<'static>, Labels) {
    let mut random = Random(7);
    let values: Vec<f32> = (0..2 * rows)
        .flat_map(|row| [random.next() + if row < rows { 0.0 } else { 1.1 }, random.next()])
        .collect();
    let labels = Labels::new((0..2 * rows).map(|row| if row < rows { "a" } else { "b" })).unwrap();
    (Features::new(values, 2).unwrap(), labels)
}

#[test]
fn a_model_with_witnesses_and_a_threshold_follows_every_edit() {
    let mut random = Random(3);
    let values: Vec<f32> = (0..400)
        .flat_map(|row| [random.next() + (row % 4) as f32 * 1.2, random.next(), random.next()])
        .collect();
    let features = Features::new(values, 3).unwrap();
    let labels = Labels::new((0..400).map(|row| ["a", "b", "c", "d"][row % 4])).unwrap();
    let heard = Weight::Fixed(1.0);
    let params =
        Params { logit_weight: heard, probe_weight: heard, forest_weight: heard, ..Params::robust() };
    let (evm, _) = Evm::fit(&params, &features, &labels).unwrap();
    assert!(evm.shares().is_some() && evm.calibration().is_some());
    let row = |class: usize| evm.extreme_vectors().find(|vector| vector.class == class).unwrap().source;
    let rows: Vec<u64> =
        evm.extreme_vectors().filter(|vector| vector.class == 1).map(|vector| vector.source).collect();
    let edits = [
        Edit::Rename { class: "a".into(), to: "z".into() },
        Edit::Relabel { rows: vec![row(0)], class: "b".into() },
        Edit::Relabel { rows: vec![row(0)], class: "new".into() },
        Edit::Split { class: "b".into(), rows: rows[..rows.len() / 2].to_vec(), into: "e".into() },
        Edit::Merge { class: "c".into(), into: "d".into() },
        Edit::Unlearn { rows: vec![row(2)] },
        Edit::Unlearn { rows },
        Edit::Ignore { rows: vec![row(3)] },
    ];
    for edit in edits {
        let (edited, report) = evm.edited_with(&Run::new(), &edit).unwrap();
        let loaded = Evm::from_bytes(&edited.to_bytes().unwrap()).unwrap();
        assert!(loaded == edited, "{edit:?}");
        let names: Vec<&str> = edited.classes().map(|class| class.name).collect();
        let witnesses = edited.witnesses().unwrap();
        assert_eq!(witnesses.probe.unwrap().classes(), names.len(), "{edit:?}");
        let (_, machine) = witnesses.logits.unwrap();
        assert_eq!(witnesses.forest.unwrap().classes, names.len(), "{edit:?}");
        assert_eq!(machine.classes().map(|class| class.name).collect::<Vec<_>>(), names, "{edit:?}");
        let known = edited.decide(&features).unwrap().iter().filter(|known| known.class().is_some()).count();
        assert!(known > 300, "{known} of 400 are known after {edit:?}, {report:?}");
        let mut updated = edited.clone();
        updated.update(&features.select(&[0, 1, 2]), &Labels::new(["z", "b", "d"]).unwrap()).unwrap();
    }
}

#[test]
fn a_query_nearest_to_an_ignored_sample_is_unknown_and_explained() {
    let (features, labels) = clumps(40);
    let (mut evm, _) = Evm::fit(&Params::paper(), &features, &labels).unwrap();
    let query = Features::new(vec![0.5, 0.5], 2).unwrap();
    assert_eq!(evm.decide(&query).unwrap()[0].class(), Some(0));
    evm.ignore(&query).unwrap();
    assert_eq!((evm.ignored_count(), evm.points_seen(), evm.ignored_sources()), (1, 81, &[80][..]));
    evm.name_rows(80, 1, RowNames { ids: Some(vec!["17".to_owned()]), ..RowNames::default() }).unwrap();
    let decision = evm.decide(&query).unwrap()[0];
    assert_eq!((decision.class(), decision.psi()), (None, 0.0));
    let why = evm.explain(&query, 1).unwrap().remove(0);
    let ignored = why.ignored.unwrap();
    assert!(ignored.decides && ignored.distance == 0.0);
    assert_eq!(evm.origin(ignored.source).id, Some("17"));
    assert!(evm.decide(&features).unwrap().iter().filter(|known| known.class().is_some()).count() > 70);

    let (alone, report) = Evm::fit_ignoring(
        &Params::plain(),
        &features.select(&(0..40).collect::<Vec<_>>()),
        &Labels::new(vec!["a"; 40]).unwrap(),
        &features.select(&(40..80).collect::<Vec<_>>()),
    )
    .unwrap();
    assert_eq!((report.alone, alone.is_alone(), alone.classes().len()), (None, false, 1));
    let decisions = alone.decide(&features).unwrap();
    assert!(decisions[40..].iter().all(|decision| decision.class().is_none()));
    assert!(decisions[..40].iter().filter(|decision| decision.class().is_some()).count() > 30);
    assert!(Evm::from_bytes(&alone.to_bytes().unwrap()).unwrap() == alone);
}

#[test]
fn what_is_ignored_is_unknown_whatever_held_out_rows_say() {
    let (features, labels) = clumps(100);
    // Of the clumps themselves, so that many a held-out row lies nearest to one of them.
    let (ignored, learned): (Vec<usize>, Vec<usize>) = (0..200).partition(|row| row % 5 == 0);
    let names = Labels::new(learned.iter().map(|&row| labels.name(row))).unwrap();
    let ignored = features.select(&ignored);
    for params in [Params::plain(), Params::robust()] {
        let (evm, _) = Evm::fit_ignoring(&params, &features.select(&learned), &names, &ignored).unwrap();
        assert!(evm.calibration().is_some());
        assert!(evm.decide(&ignored).unwrap().iter().all(|decision| decision.class().is_none()));
        let far = Features::new(vec![1e6, 1e6], 2).unwrap();
        assert_eq!(evm.decide(&far).unwrap()[0].class(), None);
    }
}

#[test]
fn one_class_alone_recognises_its_own_and_not_what_lies_far_off() {
    let (features, _) = clumps(40);
    let own = features.select(&(0..40).collect::<Vec<_>>());
    for params in [Params::plain(), Params::paper(), Params::robust()] {
        let (evm, report) = Evm::fit(&params, &own, &Labels::new(vec!["a"; 40]).unwrap()).unwrap();
        assert_eq!(report.alone.as_deref(), Some("a"));
        let known = evm.decide(&own).unwrap().iter().filter(|known| known.class().is_some()).count();
        assert!(known >= 38, "{known}");
        let far = Features::new(vec![5.0, 5.0], 2).unwrap();
        assert_eq!(evm.decide(&far).unwrap()[0].class(), None);
        assert!(Evm::from_bytes(&evm.to_bytes().unwrap()).unwrap() == evm);
    }
    // The first enrolment of a face: a single row, which is all that is recognised.
    let one = features.select(&[0]);
    let (mut evm, _) = Evm::fit(&Params::plain(), &one, &Labels::new(["a"]).unwrap()).unwrap();
    assert_eq!(evm.decide(&features.select(&[0, 1])).unwrap()[0].class(), Some(0));
    assert_eq!(evm.decide(&features.select(&[0, 1])).unwrap()[1].class(), None);
    evm.update(&features.select(&[1, 60, 61]), &Labels::new(["a", "b", "b"]).unwrap()).unwrap();
    assert!(!evm.is_alone() && evm.decide(&features.select(&[1])).unwrap()[0].class() == Some(0));
}

#[test]
fn rows_are_found_by_id_and_number_and_names_last() {
    let (features, labels) = clumps(20);
    let all = Params { cover_threshold: 1.0, ..Params::paper() };
    let (mut evm, _) = Evm::fit(&all, &features, &labels).unwrap();
    let ids: Vec<String> = (0..40).map(|row| format!("id {}", row / 2)).collect();
    let numbers: Vec<u64> = (0..40).map(|row| 2 * row + 1).collect();
    let names = RowNames {
        batch: Some("first.csv".to_owned()),
        time: Some(1_700_000_000),
        numbers: Some(numbers),
        ids: Some(ids),
    };
    evm.name_rows(0, 40, names).unwrap();
    evm.update(&features.select(&[3]), &Labels::new(["a"]).unwrap()).unwrap();
    evm.name_rows(40, 1, RowNames { batch: Some("second.csv".to_owned()), ..RowNames::default() }).unwrap();
    let evm = Evm::from_bytes(&evm.to_bytes().unwrap()).unwrap();
    assert_eq!(evm.sources_with_id("id 3"), [6, 7]);
    assert_eq!(evm.sources_with_number(1, None), [0, 40]);
    assert_eq!(evm.sources_with_number(1, Some(2)), [40]);
    let origin = evm.origin(7);
    assert_eq!((origin.number, origin.id, origin.batch), (15, Some("id 3"), Some(1)));
    assert_eq!((origin.batch_name, origin.time), (Some("first.csv"), Some(1_700_000_000)));
    assert_eq!(evm.origin(40).batch_name, Some("second.csv"));
    let wrong = RowNames { ids: Some(vec![String::new()]), ..RowNames::default() };
    let mut evm = evm;
    let error = evm.name_rows(0, 40, wrong).unwrap_err();
    assert_eq!(error.to_string(), "1 ids for 40 rows; give one for each row, or none");
    assert!(evm.name_rows(40, 2, RowNames::default()).is_err(), "there is no row 41");
}

#[test]
fn what_cannot_be_edited_is_named_and_changes_nothing() {
    let (features, labels) = clumps(20);
    let (evm, _) = Evm::fit(&Params::paper(), &features, &labels).unwrap();
    let first = evm.extreme_vectors().next().unwrap().source;
    let dropped = (0..40).find(|row| evm.extreme_vectors().all(|vector| vector.source != *row)).unwrap();
    let of_b = evm.extreme_vectors().find(|vector| vector.class == 1).unwrap().source;
    let all_of_a: Vec<u64> =
        evm.extreme_vectors().filter(|vector| vector.class == 0).map(|vector| vector.source).collect();
    let message = |edit: Edit| {
        let mut edited = evm.clone();
        let error = edited.edit(&edit).unwrap_err().to_string();
        assert!(edited == evm, "{edit:?} changed the model");
        error
    };
    let unknown = message(Edit::Rename { class: "x".into(), to: "y".into() });
    assert_eq!(unknown, r#"the model has no class "x"; it knows "a", "b""#);
    let taken = message(Edit::Rename { class: "a".into(), to: "b".into() });
    assert_eq!(taken, r#"there is a class "b" already; merge the two, or choose another name"#);
    let gone = message(Edit::Unlearn { rows: vec![first, dropped] });
    assert!(gone.contains(&format!("1 of the 2 rows asked for, row {dropped}")), "{gone}");
    assert!(!gone.contains("--"), "the library knows no flags: {gone}");
    let never = message(Edit::Unlearn { rows: vec![first, 40, 41] });
    assert_eq!(never, "the model was given 40 rows in all, and never row 40, 41");
    let other = message(Edit::Split { class: "a".into(), rows: vec![of_b], into: "c".into() });
    assert_eq!(other, format!("1 of the rows are not of class \"a\", row {of_b}"));
    let nothing = message(Edit::Split { class: "a".into(), rows: all_of_a, into: "c".into() });
    assert_eq!(nothing, r#"all rows of class "a" are to leave it; rename it instead"#);
    let everything: Vec<u64> = evm.extreme_vectors().map(|vector| vector.source).collect();
    assert_eq!(message(Edit::Unlearn { rows: everything }), "no class would be left; a model needs a class");
    assert_eq!(
        message(Edit::Merge { class: "a".into(), into: "a".into() }),
        "class \"a\" cannot be merged with itself"
    );
    assert_eq!(
        message(Edit::Restore { rows: vec![first] }),
        format!("1 of the rows are not set aside, row {first}")
    );
    assert_eq!(message(Edit::Unlearn { rows: Vec::new() }), "no rows were given");
}
