//! The experiments on small parts of their data: what they log, what they claim, and that they go on where they ended.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use evmachine::{Features, Labels};
use evmachine_repro::oletter::{self, Row, Rule, Selection};
use evmachine_repro::synthetic::Synthetic;
use evmachine_repro::{ReproError, Watch, budget, openworld, parameters, svm_grid};

fn letter() -> (Features<'static>, Labels) {
    evmachine_console::letter::read().unwrap_or_else(|failure| panic!("{}", failure.message))
}

fn go_on(_: &str, _: usize, _: usize) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn rows(folder: &std::path::Path) -> Vec<Row> {
    let mut reader = csv::Reader::from_path(folder.join("runs.csv")).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

/// What does not depend on the clock.
fn figures(rows: &[Row]) -> Vec<(String, usize, f64, usize)> {
    rows.iter().map(|row| (row.system.clone(), row.unknown, row.f1, row.vectors)).collect()
}

#[test]
fn a_stopped_run_goes_on_and_ends_as_if_it_had_not_been_stopped() {
    let (features, labels) = letter();
    let settings =
        oletter::Settings { folds: 2, every: 25, systems: Selection::Evm, ..oletter::Settings::default() };
    let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    oletter::run(whole.path(), &features, &labels, &settings, &Watch::new(&go_on)).unwrap();
    let told = AtomicUsize::new(0);
    // The search is told of each of its trials, every system once a fold.
    let stop = |what: &str, _: usize, _: usize| {
        let system = what.starts_with("draw");
        let told = told.fetch_add(usize::from(system), Ordering::Relaxed);
        if system && told == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let stopped = oletter::run(parts.path(), &features, &labels, &settings, &Watch::new(&stop));
    assert!(matches!(stopped, Err(ReproError::Stopped)));
    assert_eq!(rows(parts.path()).len(), 5 * 2 * 12, "both rules");
    oletter::run(parts.path(), &features, &labels, &settings, &Watch::new(&go_on)).unwrap();
    assert_eq!(figures(&rows(parts.path())), figures(&rows(whole.path())));
}

#[test]
fn every_system_takes_part_and_beats_chance() {
    let (features, labels) = letter();
    let settings = oletter::Settings { folds: 1, every: 12, ..oletter::Settings::default() };
    let folder = tempfile::tempdir().unwrap();
    let section = oletter::run(folder.path(), &features, &labels, &settings, &Watch::new(&go_on)).unwrap();
    let rows = rows(folder.path());
    // Six systems give probabilities besides the Platt SVM, whose threshold is not validated; nine do not.
    let of = |rule: Rule| rows.iter().filter(|row| row.rule == rule).count();
    assert_eq!((of(Rule::Formula), of(Rule::Validated)), (8 * 12, 15 * 12));
    for row in &rows {
        assert!((0.0..=1.0).contains(&row.f1) && row.vectors > 0, "{row:?}");
        // One letter in fifteen would be right by chance.
        let least = match row.system.as_str() {
            "1-vs-Set machine" => 0.07,
            "W-SVM" => 0.2,
            _ => 0.3,
        };
        assert!(row.f1 > least, "{row:?}");
        assert_eq!(row.unknown_accuracy.is_some(), row.unknown > 0);
    }
    assert_eq!((section.claims.len(), section.figures.len()), (7, 2));
    section.write(folder.path()).unwrap();
    let files =
        ["summary.md", "letters.csv", "vectors.csv", "svm-grid/grid.csv", "f1-paper.svg", "f1-validated.png"];
    for name in files {
        assert!(folder.path().join(name).exists(), "{name}");
    }
}

#[test]
fn fewer_points_are_less_accurate_and_all_of_them_are_kept_at_threshold_1() {
    let (features, labels) = letter();
    let folder = tempfile::tempdir().unwrap();
    let settings = budget::Settings { every: 15, ..budget::Settings::default() };
    let section = budget::run(folder.path(), &features, &labels, &settings, &Watch::new(&go_on)).unwrap();
    let row = &section.tables[0].rows[0];
    let accuracy = |cell: usize| row[cell].parse::<f64>().unwrap();
    assert!(accuracy(1) < accuracy(4) && accuracy(4) < accuracy(10), "{row:?}");
    assert_eq!(section.tables[1].rows.len(), 8, "tail sizes and k, on training rows");
    let log = std::fs::read_to_string(folder.path().join("runs.csv")).unwrap();
    assert!(log.contains("weibull,threshold,1.0,1067,1.0,"), "{log}");
}

#[test]
fn given_shapes_run_through_the_same_protocol() {
    let (features, labels) = letter();
    let folder = tempfile::tempdir().unwrap();
    let settings = parameters::Settings { folds: 1, every: 25, ..parameters::Settings::default() };
    let section = parameters::run(folder.path(), &features, &labels, &settings, &Watch::new(&go_on)).unwrap();
    assert_eq!(rows(folder.path()).len(), 3 * 2 * 12);
    assert_eq!((section.figures.len(), section.tables[0].rows.len()), (2, 6));
}

#[test]
fn a_misspelt_metric_is_no_other_metric() {
    let drawn = Synthetic { classes: 8, points: 4, tests: 2, dimensions: 8, ..Synthetic::default() };
    let settings = openworld::Settings {
        name: "drawn".to_owned(),
        source: "--synthetic".to_owned(),
        initial: 6,
        increment: 2,
        most: 8,
        unknown_step: 2,
        most_unknown: 4,
        metric: "euclidian".to_owned(),
        rank: 4,
        trials: 1,
        seed: 1,
        synthetic: Some(drawn),
        systems: openworld::Selection::All,
    };
    let folder = tempfile::tempdir().unwrap();
    let data = drawn.draw().unwrap();
    let error = openworld::run(folder.path(), &data, &settings, &Watch::new(&go_on)).unwrap_err();
    assert_eq!(error.to_string(), "euclidian is no metric; give one of euclidean, cosine, manhattan");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was begun");
}

#[test]
fn what_cannot_be_read_is_not_begun_anew() {
    let (features, labels) = letter();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("settings.json")).unwrap();
    let settings = budget::Settings { every: 500, ..budget::Settings::default() };
    let error = budget::run(folder.path(), &features, &labels, &settings, &Watch::new(&go_on)).unwrap_err();
    assert!(matches!(error, ReproError::File { .. }), "{error}");
}

#[test]
fn the_grid_is_searched_and_read_back() {
    let (features, labels) = letter();
    let folder = tempfile::tempdir().unwrap();
    let settings = svm_grid::Settings { rows: 120, ..svm_grid::Settings::default() };
    let first = svm_grid::run(folder.path(), &features, &labels, &settings, &Watch::new(&go_on)).unwrap();
    let again = svm_grid::run(folder.path(), &features, &labels, &settings, &Watch::new(&go_on)).unwrap();
    assert_eq!(first.markdown(), again.markdown());
    let grid = std::fs::read_to_string(folder.path().join("grid.csv")).unwrap();
    assert_eq!(grid.lines().count(), 111);
    // What is compared must differ, or nothing is chosen.
    for table in &first.tables[1..] {
        let f1 = if table.header.len() == 2 { 1 } else { 2 };
        let best: f64 = table.rows.iter().map(|row| row[f1].parse().unwrap()).fold(0.0, f64::max);
        assert!(best > 0.1, "{table:?}");
    }
}
