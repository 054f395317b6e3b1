use evmachine_openworld::Pool;
use serde_json::json;

use crate::{start, strangers};

/// A pool that another process holds is busy: what does not write goes on.
#[test]
fn who_only_asks_does_not_wait_for_who_writes() {
    let running = start();
    let client = &running.client;
    client.predict(&strangers());
    let database = rusqlite::Connection::open(running.folder().join("pool.sqlite")).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let decided =
        client.post("/v1/predict", &json!({ "features": [[0.5, 0.5], [9.0, 9.0]], "keep": "none" })).ok();
    assert_eq!(decided["decisions"][0]["class"], "a");
    assert_eq!(client.get("/v1/status").ok()["waiting"], 24);
    assert_eq!(client.get("/v2/health/ready").status, 200);
    database.execute_batch("ROLLBACK").unwrap();
    drop(database);
    client.post("/v1/discard", &json!({ "samples": [1] })).ok();
    running.stop();
}

/// Another process learns; the server answers by what it made.
#[test]
fn a_version_made_elsewhere_is_taken_up() {
    let running = start();
    let client = &running.client;
    client.predict(&strangers());
    let mut pool = Pool::open(&running.folder()).unwrap();
    let run = evmachine::Run::new();
    let samples: Vec<i64> = (1..=12).collect();
    let target = evmachine_openworld::Target::Samples(&samples);
    pool.answer(&run, &target, evmachine_openworld::Answer::Label("top"), None).unwrap();
    let learned = pool.update(&run, None).unwrap();
    drop(pool);
    let start = std::time::Instant::now();
    while client.predict(&[[0.5, 30.5]])["model"] != json!(learned.version) {
        assert!(start.elapsed().as_secs() < 60);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(client.predict(&[[0.5, 30.5]])["decisions"][0]["class"], "top");
    running.stop();
}

/// A small file system of its own, in memory; `None` where this process may not make one.
#[cfg(target_os = "linux")]
fn small_disk(place: &std::path::Path) -> Option<()> {
    let mount = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=3m", "tmpfs"])
        .arg(place)
        .stderr(std::process::Stdio::null())
        .status()
        .ok()?;
    mount.success().then_some(())
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_and_one_that_cannot_be_written_are_errors_and_lose_nothing() {
    use evmachine_server::{Server, Settings};

    let place = tempfile::tempdir().unwrap();
    if small_disk(place.path()).is_none() {
        eprintln!("no file system could be mounted here: a full disk was not tried");
        return;
    }
    let remount = |options: &str| {
        let done =
            std::process::Command::new("mount").args(["-o", options]).arg(place.path()).status().unwrap();
        done.success()
    };
    let folder = place.path().join("pool");
    drop(Pool::create(&folder, &crate::model()).unwrap());
    let mut settings = Settings::new(folder.clone());
    settings.listen.set_port(0);
    let server = Server::start(&settings).unwrap();
    let client = crate::Client::new(server.address());
    let mut random = crate::Random(3);
    let mut kept = 0;
    // Long texts fill it.
    let text = "x".repeat(20_000);
    let full = (0..1000).find_map(|_| {
        let row = [60.0 + 40.0 * random.next(), 60.0 + 40.0 * random.next()];
        let reply = client.post("/v1/predict", &json!({ "features": [row], "texts": [text] }));
        kept += u64::from(reply.status == 200);
        (reply.status != 200).then_some(reply)
    });
    full.expect("it is full").problem(507);
    client.post("/v1/ignore", &json!({ "samples": [1] })).problem(507);
    let decided = client.post("/v1/predict", &json!({ "features": [[0.5, 0.5]] })).ok();
    assert_eq!(decided["decisions"][0]["class"], "a", "what is known is answered");
    assert_eq!(client.get("/v1/status").ok()["waiting"], kept);
    assert!(remount("remount,size=16m"));
    client.post("/v1/ignore", &json!({ "samples": [1] })).ok();
    server.stop();
    let log = folder.join("pool.sqlite-wal");
    assert!(!log.exists(), "the database is whole without its log");
    assert!(remount("remount,ro"));
    let refused = Server::start(&settings).map(Server::stop).unwrap_err().to_string();
    assert!(
        refused.contains("pool.sqlite cannot be written: it lies on a read-only file system"),
        "{refused}"
    );
    assert!(remount("remount,rw"));
    // The log of who was killed lies beside it, and lets it be read.
    let killed = rusqlite::Connection::open(folder.join("pool.sqlite")).unwrap();
    killed.execute_batch("UPDATE facts SET value = value").unwrap();
    std::fs::copy(&log, place.path().join("log")).unwrap();
    drop(killed);
    std::fs::rename(place.path().join("log"), &log).unwrap();
    assert!(remount("remount,ro"));
    let refused = Server::start(&settings).map(Server::stop).unwrap_err().to_string();
    assert!(refused.contains("cannot be written"), "{refused}");
    assert!(remount("remount,rw"));
    let findings = Pool::open(&folder).unwrap().check().unwrap();
    assert!(findings.iter().all(|finding| finding.harmless), "{findings:?}");
    let _ = std::process::Command::new("umount").arg("-l").arg(place.path()).status();
}
