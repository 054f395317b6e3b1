//! The server from outside, over HTTP, in one test binary:
//!
//! - `life`: ask, group, name, part, learn, doubt, undo, go back, copy;
//! - `closely`: a sample with its neighbours, history and notes, and what is recognised;
//! - `classes`: what a class is made of, and corrections of it;
//! - `enrolment`: what a rule of the pool holds back;
//! - `search`: samples by what is known of them;
//! - `bodies`: what is sent in other forms, and what cannot be read;
//! - `inference`: the Open Inference Protocol and Label Studio;
//! - `sharing`: several people at one pool: who answers what, and what is undone;
//! - `opinions`: second opinions, and who is at work;
//! - `safety`: keys, roles, limits, hosts and origins;
//! - `attacks`: every route with every method, host, origin, site, content type and key, against a table of what is allowed;
//! - `killed`: what was acknowledged survives servers that are killed;
//! - `faults`: disks that cannot be written;
//! - `drift`: drift of what is asked, and answers for tracks;
//! - `device`: a device that decides, and one that fails.

#![allow(clippy::disallowed_methods, reason = "no flags say where this is to run")]
#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

mod attacks;
mod bodies;
mod classes;
mod client;
mod closely;
mod device;
mod drift;
mod enrolment;
mod faults;
mod inference;
mod killed;
mod life;
mod opinions;
mod safety;
mod search;
mod sharing;

use std::path::PathBuf;

use evmachine::{Evm, Features, Labels, Params, Rejection};
use evmachine_openworld::Pool;
use evmachine_server::{Server, Settings};
use tempfile::TempDir;

pub(crate) use client::Client;

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
pub(crate) fn clump(random: &mut Random, x: f32, y: f32, rows: usize) -> Vec<[f32; 2]> {
    (0..rows).map(|_| [x + random.next(), y + random.next()]).collect()
}

/// Two known clumps, `a` around (0.5, 0.5) and `b` around (5.5, 0.5).
pub(crate) fn model() -> Evm {
    model_by(Params::paper().rejection_threshold)
}

/// The same, with another rule.
pub(crate) fn model_by(rejection_threshold: Rejection) -> Evm {
    let mut random = Random(11);
    let rows = [clump(&mut random, 0.0, 0.0, 20), clump(&mut random, 5.0, 0.0, 20)].concat();
    let labels = Labels::new((0..40).map(|row| if row < 20 { "a" } else { "b" })).unwrap();
    let features = Features::new(rows.concat(), 2).unwrap();
    let params = Params { cover_threshold: 1.0, rejection_threshold, ..Params::paper() };
    Evm::fit(&params, &features, &labels).unwrap().0
}

/// Three clumps that nobody knows: 12, 8 and 4 points.
pub(crate) fn strangers() -> Vec<[f32; 2]> {
    let mut random = Random(5);
    let places = [(0.0, 30.0, 12), (30.0, 30.0, 8), (30.0, 0.0, 4)];
    places.into_iter().flat_map(|(x, y, rows)| clump(&mut random, x, y, rows)).collect()
}

/// A server of its own for each test; it ends with it.
pub(crate) struct Running {
    pub(crate) place: TempDir,
    server: Option<Server>,
    pub(crate) client: Client,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }
}

impl Running {
    pub(crate) fn folder(&self) -> PathBuf {
        self.place.path().join("pool")
    }

    /// Ends the server, and starts another over the same pool.
    pub(crate) fn restart(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
        let mut settings = Settings::new(self.folder());
        settings.listen.set_port(0);
        let server = Server::start(&settings).unwrap();
        self.client = Client::new(server.address());
        self.server = Some(server);
    }

    /// Ends the server, and finds its pool sound.
    pub(crate) fn stop(mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
        let findings = Pool::open(&self.folder()).unwrap().check().unwrap();
        assert!(findings.iter().all(|finding| finding.harmless), "{findings:?}");
    }
}

pub(crate) fn start() -> Running {
    start_with(|_| {})
}

pub(crate) fn start_with(change: impl FnOnce(&mut Settings)) -> Running {
    start_of(&model(), change)
}

pub(crate) fn start_of(model: &Evm, change: impl FnOnce(&mut Settings)) -> Running {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("pool");
    drop(Pool::create(&folder, model).unwrap());
    let mut settings = Settings::new(folder);
    settings.listen.set_port(0);
    change(&mut settings);
    let server = Server::start(&settings).unwrap();
    let client = Client::new(server.address());
    Running { place, server: Some(server), client }
}
