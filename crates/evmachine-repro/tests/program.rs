//! The program from outside, through the real binary, on small parts of the data.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

const EXPERIMENTS: [&str; 7] = ["all", "teaser", "oletter", "openworld", "budget", "parameters", "svm-grid"];

/// A folder of its own for each test, with the binary to run in it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The exit code, the standard output and the standard error.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evmachine-repro"));
        command.args(arguments).current_dir(self.0.path()).env("NO_COLOR", "1").env("COLUMNS", "100");
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let (code, said, error) = self.run(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {error}");
        said
    }

    fn fails(&self, expected: i32, arguments: &[&str]) -> String {
        let (code, _, error) = self.run(arguments);
        assert_eq!(code, Some(expected), "{arguments:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
        error
    }
}

#[test]
fn help_is_as_it_was_approved_and_has_examples() {
    let place = Place::new();
    insta::assert_snapshot!("help", place.ok(&["--help"]));
    for experiment in EXPERIMENTS {
        let help = place.ok(&[experiment, "--help"]);
        assert!(help.contains(&format!("Example: evmachine-repro {experiment}")), "{help}");
        insta::assert_snapshot!(format!("help_{experiment}"), help);
    }
}

#[test]
fn the_first_figure_is_drawn_and_its_queries_are_rejected() {
    let place = Place::new();
    place.ok(&["teaser"]);
    for name in ["summary.md", "plane.svg", "plane.png"] {
        assert!(place.path("repro/runs/teaser").join(name).exists(), "{name}");
    }
    assert!(place.read("repro/runs/teaser/summary.md").contains("3 of 3 queries are unknown"));
}

#[test]
fn an_experiment_is_run_once_and_read_back_after_that() {
    let place = Place::new();
    let command = ["oletter", "--systems", "evm", "--folds", "1", "--every", "25", "-o", "runs"];
    place.ok(&command);
    let first = place.read("runs/runs.csv");
    assert_eq!(first.lines().count(), 1 + 5 * 2 * 12, "five EVMs, two rules, 0 to 11 unknown letters");
    place.ok(&command);
    assert_eq!(place.read("runs/runs.csv"), first, "times included");
    let summary = place.read("runs/summary.md");
    assert!(summary.contains("| EVM, tuned |") && summary.contains("--systems evm"), "{summary}");
    let other = ["oletter", "--systems", "evm", "--folds", "2", "--every", "25", "-o", "runs"];
    let error = place.fails(2, &other);
    assert!(error.contains("runs holds a run with other settings"), "{error}");
}

#[test]
fn the_open_world_runs_on_files_and_on_drawn_features() {
    let place = Place::new();
    let small = ["--trials", "2", "--increment", "2", "--unknown-step", "2", "--rank", "4"];
    let drawn = ["--synthetic", "--classes", "10", "--points", "12", "--tests", "4", "--dimensions", "64"];
    place.ok(&[&["openworld", "--initial", "6"][..], &drawn, &small].concat());
    let log = place.read("repro/runs/openworld-synthetic/runs.csv");
    // Known 6, 8, 10; unknown 0, 2, 4, then 0, 2, then 0; ten systems.
    assert_eq!(log.lines().count(), 1 + 10 * 6, "{log}");
    let summary = place.read("repro/runs/openworld-synthetic/summary.md");
    let again = "openworld --synthetic --classes 10 --points 12 --tests 4 --dimensions 64 --metric cosine --initial 6 \
                 --increment 2 --most 10 --unknown-step 2 --most-unknown 200 --rank 4 --trials 2 --seed 1`";
    assert!(summary.contains(again), "{summary}");
    let rows: Vec<String> = (0..40).map(|row| format!("{},{row},{}", row % 4, row * row % 7)).collect();
    std::fs::write(place.path("letters.csv"), rows.join("\n")).unwrap();
    let error = place.fails(3, &["openworld", "letters.csv", "--label", "0", "--initial", "6"]);
    assert!(error.contains("4 classes are too few: 6 are needed"), "{error}");
}

#[test]
fn impossible_flags_are_refused() {
    let place = Place::new();
    let error = place.fails(2, &["oletter", "--folds", "0"]);
    assert!(error.contains("--folds 0: at least 1 is needed"), "{error}");
    let error = place.fails(2, &["openworld", "--synthetic", "--metric", "chebyshev"]);
    assert!(error.contains("none of euclidean, cosine, manhattan"), "{error}");
    place.fails(2, &["openworld"]);
}
