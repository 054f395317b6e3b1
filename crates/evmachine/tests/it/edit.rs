//! Corrections: with every point kept and whole tails, an edited model is the one of a fit to the corrected rows.

use evmachine::{
    Edit, Evm, Features, Labels, Params, Run, TailModel, TailSize,
};
use proptest::prelude::*;

use crate::common::{Random, Set, any_metric, any_set};

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
    let more = Features::new((0..6 * d).map(|i| 1.0 + (i % 5) as f32 * 0.9).collect::<Vec<f32>>(), d).unwrap();
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
    ) {
        let rows = some_rows(&set, seed, most);
        let class = if new { "another" } else { "class 1" };
        let mut edited = set.fit(&params);
        edited.edit(&Edit::Relabel { rows: rows.clone(), class: class.to_owned() }).unwrap();
        let right = set_of(&set, |row| {
            Some(if rows.contains(&(row as u64)) { class.to_owned() } else { set.labels.name(row).to_owned() })
        });
        same(&mut edited, &mut right.fit(&params))?;
    }

    #[test]
    fn unlearned_rows_are_as_if_they_had_never_been_there(
        set in any_set(), params in exact(), seed in any::<u64>(), most in 1usize..6,
    ) {
        let rows = some_rows(&set, seed, most);
        prop_assume!(rows.len() < set.len());
        let mut edited = set.fit(&params);
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
        set in any_set(), params in exact(), seed in any::<u64>(), most in 1usize..6,
    ) {
        let rows = some_rows(&set, seed, most);
        prop_assume!(rows.len() < set.len());
        let fitted = set.fit(&params);
        let mut edited = fitted.clone();
        edited.edit(&Edit::SetAside { rows: rows.clone() }).unwrap();
        prop_assert_eq!(edited.rows_aside().len(), rows.len());
        let loaded = Evm::from_bytes(&edited.to_bytes().unwrap());
        if params.metric.name().starts_with("custom") {
            prop_assert!(loaded.is_err());
        } else {
            prop_assert!(loaded.unwrap() == edited);
        }
        edited.edit(&Edit::Restore { rows }).unwrap();
        same(&mut edited, &mut fitted.clone())?;
    }

    #[test]
    fn ignored_samples_may_come_before_or_after(
        set in any_set(), params in exact(), seed in any::<u64>(), most in 1usize..6,
    ) {
        let rows = some_rows(&set, seed, most);
        let rest = set_of(&set, |row| (!rows.contains(&(row as u64))).then(|| set.labels.name(row).to_owned()));
        prop_assume!(rest.len() > 0);
        let strangers = set.features.select(&rows.iter().map(|&row| row as usize).collect::<Vec<_>>());
        let (mut together, _) =
            Evm::fit_ignoring(&Run::new(), &params, &rest.features, &rest.labels, &strangers).unwrap();
        let mut after = rest.fit(&params);
        after.ignore(&strangers).unwrap();
        prop_assert!(together == after, "ignored at once or later");
        let mut edited = set.fit(&params);
        edited.edit(&Edit::Ignore { rows: rows.clone() }).unwrap();
        prop_assert_eq!(parts(&edited), parts(&together), "known rows become ignored ones");
        prop_assert!(after.decide(&strangers).unwrap().iter().all(|decision| decision.class().is_none()));
        same(&mut edited, &mut together)?;
        // And none of them stays where they are unlearned.
        let strangers = after.ignored_sources().to_vec();
        after.edit(&Edit::Unlearn { rows: strangers }).unwrap();
        same(&mut after, &mut rest.fit(&params))?;
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
