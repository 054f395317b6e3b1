use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use evmachine_openworld::{Pool, State};
use evmachine_server::{Server, Settings};
use serde_json::{Value, json};

use crate::{Client, Random, model, strangers};

const FOLDER: &str = "EVMACHINE_TEST_SERVED";
const ADDRESS: &str = "serving at ";

/// The process that is killed. Without a folder it does nothing.
#[test]
fn server() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut settings = Settings::new(folder.into());
    settings.listen.set_port(0);
    let server = Server::start(&settings).unwrap();
    println!("\n{ADDRESS}{}", server.address());
    loop {
        std::thread::park();
    }
}

/// Starts a server, and returns it when it is ready, with how long that took.
fn serve(folder: &Path) -> (Child, Client, Duration) {
    let start = Instant::now();
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::server", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let address = lines.map_while(Result::ok).find_map(|line| Some(line.strip_prefix(ADDRESS)?.to_owned()));
    let client = Client::new(address.expect("it starts").parse().unwrap());
    while client.try_send("GET", "/v2/health/ready", b"").is_none_or(|reply| reply.status != 200) {
        assert!(start.elapsed() < Duration::from_secs(60), "it never became ready");
        std::thread::sleep(Duration::from_millis(5));
    }
    (process, client, start.elapsed())
}

/// What servers have said is done.
#[derive(Default)]
struct Said {
    added: Vec<(i64, String)>,
    labelled: Vec<i64>,
    versions: Vec<String>,
}

/// What goes on beside the killing.
#[derive(Default)]
struct Load {
    over: AtomicBool,
    in_flight: AtomicUsize,
    said: Mutex<Said>,
}

impl Load {
    /// Sends a request, and returns what was acknowledged.
    fn post(&self, client: &Client, path: &str, body: &Value) -> Option<Value> {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        let reply = client.with("Content-Type", "application/json").try_send(
            "POST",
            path,
            body.to_string().as_bytes(),
        );
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        reply.filter(|reply| (200..300).contains(&reply.status)).map(|reply| reply.json())
    }

    fn note(&self, note: impl FnOnce(&mut Said)) {
        note(&mut self.said.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Asks about strangers, and names every other one.
    fn predict(&self, client: &Client, name: &str) {
        let rows = strangers();
        for round in 0.. {
            if self.over.load(Ordering::SeqCst) {
                return;
            }
            let id = format!("{name}-{round}");
            let body = json!({ "features": [rows[round % rows.len()]], "ids": [id], "keep": "all" });
            let Some(decided) = self.post(client, "/v1/predict", &body) else { continue };
            let sample = decided["decisions"][0]["sample"].as_i64().unwrap();
            self.note(|said| said.added.push((sample, id)));
            if round % 2 == 0 {
                let body = json!({ "samples": [sample], "label": "c", "new_class": true });
                if self.post(client, "/v1/labels", &body).is_some() {
                    self.note(|said| said.labelled.push(sample));
                }
            }
        }
    }

    /// Learns again and again.
    fn update(&self, client: &Client) {
        while !self.over.load(Ordering::SeqCst) {
            self.post(client, "/v1/update", &json!({}));
            std::thread::sleep(Duration::from_millis(20));
            let status = client.try_send("GET", "/v1/status", b"").filter(|reply| reply.status == 200);
            if let Some(version) = status.and_then(|status| Some(status.json()["live"].as_str()?.to_owned()))
            {
                self.note(|said| said.versions.push(version));
            }
        }
    }
}

/// Kills servers at random moments under mixed load; after each, the next is ready, and at the end all is there that was said.
/// Only kills that hit work in flight count. Returns the longest time until one was ready.
fn kill(times: usize) -> Duration {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("pool");
    drop(Pool::create(&folder, &model()).unwrap());
    let mut random = Random(77);
    let mut slowest = Duration::ZERO;
    let mut said = Said::default();
    let (mut kills, mut starts) = (0, 0);
    while kills < times {
        starts += 1;
        let (mut process, client, ready) = serve(&folder);
        slowest = slowest.max(ready);
        let load = Load::default();
        let wait = Duration::from_millis(20 + (random.next() * 400.0) as u64);
        let hit = std::thread::scope(|scope| {
            for worker in 0..2 {
                let (load, client) = (&load, &client);
                scope.spawn(move || load.predict(client, &format!("{starts}-{worker}")));
            }
            scope.spawn(|| load.update(&client));
            std::thread::sleep(wait);
            let hit = load.in_flight.load(Ordering::SeqCst) > 0;
            process.kill().unwrap();
            process.wait().unwrap();
            load.over.store(true, Ordering::SeqCst);
            hit
        });
        kills += usize::from(hit);
        let new = load.said.into_inner().unwrap();
        said.added.extend(new.added);
        said.labelled.extend(new.labelled);
        said.versions.extend(new.versions);
        if kills % 10 == 0 || kills == times {
            assert_all_there(&folder, &said);
        }
    }
    eprintln!(
        "{kills} kills hit work in flight, of {starts}; {} samples, {} labels and {} sights of a live version are all there; \
         ready after {slowest:?} at most",
        said.added.len(),
        said.labelled.len(),
        said.versions.len()
    );
    assert!(said.added.len() > times, "there was no load");
    slowest
}

fn assert_all_there(folder: &Path, said: &Said) {
    let mut pool = Pool::open(folder).unwrap();
    let findings = pool.check().unwrap();
    assert!(findings.iter().all(|finding| finding.harmless), "{findings:?}");
    for (number, id) in &said.added {
        assert_eq!(pool.sample(*number).unwrap().id.as_ref(), Some(id));
    }
    for number in &said.labelled {
        let state = pool.sample(*number).unwrap().state;
        assert_eq!(state, State::Labelled { label: "c".to_owned() }, "sample {number}");
    }
    let versions = pool.versions().unwrap();
    for version in &said.versions {
        assert!(versions.iter().any(|found| found.hash == *version), "{version}");
    }
}

#[test]
fn what_was_acknowledged_survives_kills() {
    kill(8);
}

/// `cargo test -p evmachine-server --test it killed -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn what_was_acknowledged_survives_two_hundred_kills() {
    let slowest = kill(200);
    assert!(slowest < Duration::from_secs(5), "ready after {slowest:?}");
}
