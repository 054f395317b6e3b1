//! The program from outside, through the real binary, in one test binary:
//!
//! - `help`: what every command says of itself;
//! - `formats`: train, predict, evaluate on real files of every format;
//! - `input`: rows, columns, labels and several files, as people and attackers bring them;
//! - `train`: train, tune;
//! - `evaluate`: predict, evaluate;
//! - `changes`: calibrate, set, update, forget, reduce;
//! - `plot`: plot;
//! - `inspect`: inspect, export, demo;
//! - `promises`: what decisions are made by and what they promise;
//! - `encoder`: the encoder of a model, and migrate;
//! - `edit`: corrections of a model, and the names of its rows;
//! - `suspects`: rows whose labels are in doubt;
//! - `drift`: drift of a stream, and answers for tracks;
//! - `pool`: unknowns that wait on disk, answers, versions;
//! - `serve`: what a server says before it serves;
//! - `files`: what becomes of the files that commands write;
//! - `large`: data larger than memory, and runs that go on;
//! - `output`: what arrives at the standard output, and what a terminal gets to see;
//! - `errors`: bad usage, bad data, bad models: message and exit code;
//! - `streams`: pipes, large files, interruption.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

mod changes;
mod drift;
mod edit;
mod encoder;
mod errors;
mod evaluate;
mod files;
mod formats;
mod help;
mod input;
mod inspect;
mod large;
mod output;
mod plot;
mod pool;
mod promises;
mod serve;
mod streams;
mod suspects;
mod train;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder of its own for each test, with the binary to run in it.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evmachine"));
        command.args(arguments).current_dir(self.0.path()).env("NO_COLOR", "1").env("COLUMNS", "100");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs what must succeed and returns its standard output.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs what must fail with that code, says nothing on the standard output and does not panic; returns what it
    /// says on the standard error.
    pub(crate) fn fails(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
        assert!(output.stdout.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
        error
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// 160 letters A to D in one of the formats, with a header where the format has one.
pub(crate) fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    path.to_str().unwrap().to_owned()
}

/// A model of those letters.
pub(crate) fn trained(place: &Place) {
    place.ok(&["train", &fixture("letters.csv"), "--label", "class", "-o", "model.safetensors"]);
}

/// The letters of these classes, as CSV.
pub(crate) fn keep(classes: &[&str]) -> String {
    let text = std::fs::read_to_string(fixture("letters.csv")).unwrap();
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let kept: Vec<&str> = lines.filter(|line| classes.iter().any(|class| line.starts_with(class))).collect();
    format!("{header}\n{}\n", kept.join("\n"))
}
