//! Tuning on real data: a part of UCI Letter.

#![allow(clippy::disallowed_methods, reason = "a test has no run of its own")]
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

#[path = "../../evmachine/examples/letter/mod.rs"]
mod letter;

use std::ops::ControlFlow;

use evmachine::{Evm, Features, Labels, Params, Run, TailModel, TailSize};
use evmachine_eval::folds::FoldSizes;
use evmachine_eval::tune::Delta;
use evmachine_eval::{
    Answers, Evaluation, Objective, Space, TrialSearch, TuneError, TuneOptions, TuneProgress, Weights, tune,
};

fn data() -> (Features<'static>, Labels) {
    let (features, labels) = letter::read().unwrap();
    let rows: Vec<usize> = (0..4_000).collect();
    (features.select(&rows), labels.select(&rows))
}

fn options() -> TuneOptions {
    TuneOptions {
        space: Space {
            whitening: vec![0.0],
            smoothing: vec![(0.0, 10), (0.5, 5)],
            tail_fraction: vec![0.01, 0.05],
            pooling: vec![0.0, 0.5],
            multiplier: vec![0.5],
            n_fused: vec![1],
            standardize: vec![false],
            ..Space::full()
        },
        search: TrialSearch::Grid,
        sizes: FoldSizes { train: 1_500, test: 600 },
        ..TuneOptions::default()
    }
}

fn quietly(_: &TuneProgress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn the_winner_beats_the_paper_and_the_rivals_on_the_folds() {
    let (features, labels) = data();
    let tuned = tune(&features, &labels, &options(), &mut quietly).unwrap();
    assert_eq!(tuned.trials.len(), 2 * 2 * 2 * 2);
    assert!(tuned.best.mean > tuned.paper.mean, "{} {}", tuned.best.mean, tuned.paper.mean);
    assert!(tuned.best.mean > 0.8 && tuned.best.mean < 0.97, "{}", tuned.best.mean);
    assert!(tuned.best.mean >= tuned.robust.mean, "{} {}", tuned.best.mean, tuned.robust.mean);
    assert!(tuned.chosen.mean >= tuned.best.mean - 0.003, "smaller only where it costs little");
    assert!(tuned.winning_rival().is_none(), "{:?}", tuned.rivals);
    // Class means are no match for Letter's classes of several clumps.
    let mean = tuned.rivals.iter().find(|result| result.rival.name() == "nearest class mean").unwrap();
    assert!(mean.mean < tuned.best.mean - 0.2, "{}", mean.mean);
    assert!(tuned.sizes.is_sorted_by(|a, b| a.vector_ratio >= b.vector_ratio));
    let again = tune(&features, &labels, &options(), &mut quietly).unwrap();
    assert_eq!(again, tuned, "the same seed finds the same");
}

#[test]
fn a_trial_is_what_training_and_asking_would_give() {
    let (features, labels) = data();
    let space = Space { whitening: vec![0.0, 0.5], tail_model: vec![TailModel::Weibull], ..options().space };
    // The machine in feature space: with witnesses, a training run weighs them on rows of its own.
    let space = Space { weights: vec![Weights::NONE], ..space };
    let options = TuneOptions { space, folds: Some(3), ..options() };
    let tuned = tune(&features, &labels, &options, &mut quietly).unwrap();
    assert_eq!([tuned.trials[0].params.whitening, tuned.trials[11].params.whitening], [0.0, 0.5]);
    let folds = evmachine_eval::folds::folds(&labels, 3, options.sizes, options.seed).unwrap();
    for trial in [&tuned.trials[0], &tuned.trials[11], &tuned.paper] {
        for (fold, &expected) in folds.iter().zip(&trial.folds) {
            let train = (features.select(&fold.train), labels.select(&fold.train));
            let (model, _) = Evm::fit(&trial.params, &train.0, &train.1).unwrap();
            let rows = [fold.known.clone(), fold.unknown.clone()].concat();
            let answers =
                Answers::ask(&Run::new(), &model, &features.select(&rows), &labels.select(&rows)).unwrap();
            let found = Evaluation::new(&answers, train.1.names().len()).oscr.unwrap();
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
}

#[test]
fn at_most_the_asked_for_fraction_of_known_queries_is_rejected() {
    let (features, labels) = data();
    for rate in [0.01, 0.05, 0.2] {
        let options = TuneOptions {
            delta: Delta::MaxFalseUnknown(rate),
            space: Space { smoothing: vec![(0.5, 5)], pooling: vec![0.5], ..options().space },
            ..options()
        };
        let tuned = tune(&features, &labels, &options, &mut quietly).unwrap();
        // Held-out rows of other letters of the same kind: the rate carries over within a few points.
        let test: Vec<usize> = (10_000..14_000).collect();
        let (all, all_labels) = letter::read().unwrap();
        let (model, _) = Evm::fit(&tuned.params, &features, &labels).unwrap();
        let decisions = model.decide(&all.select(&test)).unwrap();
        let rejected =
            decisions.iter().filter(|decision| decision.class().is_none()).count() as f64 / 4_000.0;
        assert!(rejected <= rate + 0.02, "{rate}: {rejected}");
        assert_eq!(all_labels.names().len(), 26);
    }
}

#[test]
fn every_objective_and_the_search_run() {
    let (features, labels) = data();
    for objective in [Objective::F1, Objective::NormalizedAccuracy, Objective::AccuracyAtFalseUnknowns(0.05)]
    {
        let options = TuneOptions {
            objective,
            search: TrialSearch::Bayesian { trials: 6 },
            shrink: false,
            sizes: FoldSizes { train: 600, test: 300 },
            ..options()
        };
        let tuned = tune(&features, &labels, &options, &mut quietly).unwrap();
        assert_eq!(tuned.trials.len(), 6);
        let distinct = |a: usize| (0..a).all(|b| tuned.trials[a].params != tuned.trials[b].params);
        assert!((0..6).all(distinct), "nothing is tried twice");
        assert!(tuned.best.mean > 0.5 && tuned.best.mean <= 1.0, "{objective:?} {}", tuned.best.mean);
    }
}

#[test]
fn it_can_be_stopped_and_says_what_is_wrong() {
    let (features, labels) = data();
    let mut stop = |at: &TuneProgress<'_>| {
        assert!(at.total > 4 && at.rival.is_some());
        if at.done == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    assert_eq!(tune(&features, &labels, &options(), &mut stop), Err(TuneError::Stopped));
    let empty = TuneOptions { space: Space { pooling: Vec::new(), ..Space::full() }, ..options() };
    assert_eq!(tune(&features, &labels, &empty, &mut quietly), Err(TuneError::EmptySpace));
    let two = Labels::new((0..4_000).map(|row| if row % 2 == 0 { "a" } else { "b" })).unwrap();
    let error = tune(&features, &two, &options(), &mut quietly).unwrap_err();
    assert!(error.to_string().starts_with("2 classes are too few for 3 folds"), "{error}");
    let tiny = TuneOptions {
        base: Params { tail_size: TailSize::Count(3), n_fused: 1, ..Params::paper() },
        ..options()
    };
    let tuned = tune(&features, &labels, &tiny, &mut quietly).unwrap();
    let is_of_base = |params: &Params| params.tail_size == TailSize::Count(3);
    assert!(
        !tuned.trials.iter().any(|trial| is_of_base(&trial.params)),
        "what is searched replaces the base"
    );
    assert!(!is_of_base(&tuned.params), "{:?}", tuned.params);
    assert_eq!(tuned.best.mean, tune(&features, &labels, &options(), &mut quietly).unwrap().best.mean);
}

#[test]
fn with_few_classes_a_preset_is_trusted_unless_the_lead_is_clear() {
    let (features, labels) = data();
    let rows: Vec<usize> = (0..4_000).filter(|&row| "ABEP".contains(labels.name(row))).collect();
    let (features, labels) = (features.select(&rows), labels.select(&rows));
    let options = TuneOptions { search: TrialSearch::Bayesian { trials: 8 }, ..options() };
    let tuned = tune(&features, &labels, &options, &mut quietly).unwrap();
    assert_eq!(tuned.best.folds.len(), 4, "one class is left out in turn");
    let presets = tuned.robust.mean.max(tuned.paper.mean);
    assert!(tuned.best.mean >= presets, "{} {presets}", tuned.best.mean);
    let found = tuned.trials.iter().max_by(|a, b| a.mean.total_cmp(&b.mean)).unwrap();
    let preset = if tuned.best == tuned.paper { &tuned.paper } else { &tuned.robust };
    let lead = tuned.lead.unwrap();
    let leads: Vec<f64> = found.folds.iter().zip(&preset.folds).map(|(a, b)| a - b).collect();
    assert!((lead.mean - leads.iter().sum::<f64>() / 4.0).abs() < 1e-12, "{lead:?}");
    assert!(lead.counts_from >= 27.0 * lead.error - 1e-12, "{lead:?}");
    assert_eq!(lead.counts(), tuned.best == *found, "{lead:?}");
    let expected = Params { cover_loss: Params::robust().cover_loss, ..tuned.chosen.params.clone() };
    if tuned.chosen.params.max_extreme_vectors.is_none() {
        let expected = Params { strangers: tuned.params.strangers, ..expected };
        assert_eq!(tuned.params, expected, "the fit chooses its cover as others do");
    }
}

#[test]
fn the_rule_is_that_of_training_unless_another_is_asked_for() {
    assert_eq!(TuneOptions::default().delta, Delta::MaxFalseUnknown(0.05));
    assert_eq!(Delta::usual(Objective::Oscr), Delta::DEFAULT);
    assert_eq!(Delta::usual(Objective::F1), Delta::BestF1);
}

#[test]
fn a_size_that_is_asked_for_is_kept_to_and_unknown_rows_are_met() {
    let (features, labels) = data();
    let (all, _) = letter::read().unwrap();
    let strangers = all.select(&(5_000..5_200).collect::<Vec<_>>());
    let options = TuneOptions { max_size: Some(0.1), unknowns: Some(strangers), ..options() };
    let tuned = tune(&features, &labels, &options, &mut quietly).unwrap();
    assert!(tuned.chosen.vector_ratio <= 0.1 + 1e-9, "{}", tuned.chosen.vector_ratio);
    assert!(tuned.best.mean < 0.85, "letters of all kinds are among the unknown: {}", tuned.best.mean);
    assert_ne!(tuned.params.strangers, Params::paper().strangers, "measured on the folds");
    let none = TuneOptions { max_size: Some(0.0), ..options };
    assert_eq!(tune(&features, &labels, &none, &mut quietly), Err(TuneError::MaxSize { value: 0.0 }));
}

#[test]
fn the_confidence_of_the_base_is_that_of_the_result_whoever_wins() {
    let (features, labels) = data();
    let rows: Vec<usize> = (0..800).collect();
    let (features, labels) = (features.select(&rows), labels.select(&rows));
    let base = Params { confidence: 0.9, ..Params::robust() };
    let sizes = FoldSizes { train: 300, test: 100 };
    let options = TuneOptions {
        base,
        sizes,
        space: Space { tail_fraction: vec![0.02], ..options().space },
        shrink: false,
        delta: Delta::MaxFalseUnknown(0.05),
        ..options()
    };
    let tuned = tune(&features, &labels, &options, &mut quietly).unwrap();
    assert_eq!(tuned.params.confidence, 0.9);
}
