//! The pool from outside, in one test binary:
//!
//! - `life`: add, next, answer, update, promote, backup, restore, check;
//! - `enrolment`: what a rule of the pool holds back;
//! - `laws`: undoing anything gives the former state;
//! - `killed`: what was acknowledged survives processes that are killed;
//! - `migrate`: the pool over the vectors of another encoder;
//! - `faults`: several processes at once, damage, disks that cannot be written.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

mod enrolment;
mod faults;
mod killed;
mod laws;
mod life;
mod migrate;

use std::path::{Path, PathBuf};

use evmachine::{Evm, Features, Labels, Params, Run};
use evmachine_openworld::{Outcome, Pool, SampleId, Which};
use tempfile::TempDir;

/// The same numbers for the same seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// From 0 up to, but not, 1.
    pub(crate) fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / 16_777_216.0
    }
}

/// Points in a square of width 1.
pub(crate) fn clump(random: &mut Random, x: f32, y: f32, rows: usize) -> Vec<f32> {
    (0..rows).flat_map(|_| [x + random.next(), y + random.next()]).collect()
}

/// Two known clumps.
pub(crate) fn model() -> Evm {
    let mut random = Random(11);
    let train = [clump(&mut random, 0.0, 0.0, 20), clump(&mut random, 5.0, 0.0, 20)].concat();
    let labels = Labels::new((0..40).map(|row| if row < 20 { "a" } else { "b" })).unwrap();
    Evm::fit(&Params::paper(), &Features::new(train, 2).unwrap(), &labels).unwrap().0
}

/// Three clumps that nobody knows: 12, 8 and 4 points; and 6 that are known.
pub(crate) fn stream() -> Features<'static> {
    let mut random = Random(5);
    let places = [(0.0, 30.0, 12), (30.0, 30.0, 8), (30.0, 0.0, 4), (0.0, 0.0, 6)];
    let values = places.map(|(x, y, rows)| clump(&mut random, x, y, rows)).concat();
    Features::new(values, 2).unwrap()
}

/// A folder of its own for each test, and a pool in it.
pub(crate) fn place() -> (TempDir, Pool) {
    let place = tempfile::tempdir().unwrap();
    let pool = Pool::create(&folder(&place), &model()).unwrap();
    (place, pool)
}

pub(crate) fn folder(place: &TempDir) -> PathBuf {
    place.path().join("pool")
}

pub(crate) fn fill(pool: &mut Pool) -> Vec<SampleId> {
    let outcomes = pool.add(&Run::new(), &stream(), &[], Which::Unknown).unwrap();
    outcomes.iter().filter_map(Outcome::sample).collect()
}

pub(crate) fn assert_sound(folder: &Path) {
    let findings = Pool::open(folder).unwrap().check().unwrap();
    assert!(findings.iter().all(|finding| finding.harmless), "{findings:?}");
}
