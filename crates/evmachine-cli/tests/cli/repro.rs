//! The paper's experiments, on small parts of their data.

use crate::{Place, fixture};

#[test]
fn the_first_figure_is_drawn_and_its_queries_are_rejected() {
    let place = Place::new();
    place.ok(&["repro", "teaser"]);
    for name in ["summary.md", "plane.svg", "plane.png"] {
        assert!(place.path("repro/runs/teaser").join(name).exists(), "{name}");
    }
    assert!(place.read("repro/runs/teaser/summary.md").contains("3 of 3 queries are unknown"));
}

#[test]
fn an_experiment_is_run_once_and_read_back_after_that() {
    let place = Place::new();
    let command = ["repro", "oletter", "--systems", "evm", "--folds", "1", "--every", "25", "-o", "runs"];
    place.ok(&command);
    let first = place.read("runs/runs.csv");
    assert_eq!(first.lines().count(), 1 + 5 * 12, "five EVMs, 0 to 11 unknown letters");
    place.ok(&command);
    assert_eq!(place.read("runs/runs.csv"), first, "times included");
    let summary = place.read("runs/summary.md");
    assert!(summary.contains("| EVM, tuned |") && summary.contains("--systems evm"), "{summary}");
    let other = ["repro", "oletter", "--systems", "evm", "--folds", "2", "--every", "25", "-o", "runs"];
    let error = place.fails(2, &other);
    assert!(error.contains("runs holds a run with other settings"), "{error}");
}

#[test]
fn the_open_world_runs_on_files_and_on_drawn_features() {
    let place = Place::new();
    let small = ["--trials", "2", "--increment", "2", "--unknown-step", "2", "--rank", "4"];
    let drawn = ["--synthetic", "--classes", "10", "--points", "12", "--tests", "4", "--dimensions", "64"];
    place.ok(&[&["repro", "openworld", "--initial", "6"][..], &drawn, &small].concat());
    let log = place.read("repro/runs/openworld-synthetic/runs.csv");
    // Known 6, 8, 10; unknown 0, 2, 4, then 0, 2, then 0; five systems.
    assert_eq!(log.lines().count(), 1 + 5 * 6, "{log}");
    let letters = fixture("letters.csv");
    let error = place.fails(3, &["repro", "openworld", &letters, "--label", "class", "--initial", "6"]);
    assert!(error.contains("4 classes are too few: 6 are needed"), "{error}");
}

#[test]
fn impossible_flags_are_refused() {
    let place = Place::new();
    let error = place.fails(2, &["repro", "oletter", "--folds", "0"]);
    assert!(error.contains("--folds 0: at least 1 is needed"), "{error}");
    let error = place.fails(2, &["repro", "openworld", "--synthetic", "--metric", "chebyshev"]);
    assert!(error.contains("none of euclidean, cosine, manhattan"), "{error}");
    place.fails(2, &["repro", "openworld"]);
}
