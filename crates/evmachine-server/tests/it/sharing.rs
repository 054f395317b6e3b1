use evmachine_server::Keys;
use serde_json::{Value, json};

use crate::{Client, Running, start, start_with, strangers};

const ANNA: &str = "anna-0123456789abcdef";
const BORIS: &str = "boris-0123456789abcdef";

fn shared() -> (Running, Client, Client) {
    let text = format!("label anna {ANNA}\nlabel boris {BORIS}\n");
    let running = start_with(|settings| settings.keys = Keys::read(&text).unwrap());
    let (anna, boris) = (running.client.with("api-key", ANNA), running.client.with("api-key", BORIS));
    (running, anna, boris)
}

fn handed(client: &Client, count: usize) -> Value {
    client.post("/v1/groups/hand-out", &json!({ "count": count })).ok()
}

fn numbers(found: &Value) -> Vec<i64> {
    found["groups"].as_array().unwrap().iter().map(|group| group["number"].as_i64().unwrap()).collect()
}

/// 60 samples, each on its own.
fn scattered() -> Vec<[f32; 2]> {
    (0..60).map(|row| [100.0 + 50.0 * row as f32, 0.0]).collect()
}

#[test]
fn an_answer_means_what_was_seen() {
    let (running, anna, boris) = shared();
    anna.predict(&strangers());
    let seen = handed(&anna, 1)["groups"][0].clone();
    let samples = seen["samples"].as_array().unwrap();
    let some = json!({ "samples": samples[..2], "label": "wave", "new_class": true });
    boris.post("/v1/labels", &some).ok();
    // A list that is stale overwrites nothing.
    let late = json!({ "samples": samples, "group": seen["number"], "label": "leaf", "new_class": true });
    let problem = anna.post("/v1/labels", &late).problem(409);
    let expected = json!({ "sample": samples[0], "state": "labelled", "label": "wave", "person": "boris" });
    assert_eq!(problem["answered"][0], expected);
    assert_eq!(problem["answered"].as_array().unwrap().len(), 2);
    assert!(problem["detail"].as_str().unwrap().contains("by boris"), "{problem}");
    for verb in ["ignore", "discard"] {
        anna.post(&format!("/v1/{verb}"), &json!({ "samples": samples })).problem(409);
    }
    assert_eq!(anna.get("/v1/status").ok()["labelled"], json!({ "wave": 2 }));
    // What is left can be answered; and who means to replace an answer says so.
    let left =
        json!({ "samples": samples[2..], "group": seen["number"], "label": "leaf", "new_class": true });
    assert_eq!(anna.post("/v1/labels", &left).ok()["samples"], samples.len() - 2);
    let replaced = json!({ "samples": samples[..1], "label": "leaf", "replace": true });
    anna.post("/v1/labels", &replaced).ok();
    assert_eq!(anna.get("/v1/status").ok()["labelled"], json!({ "leaf": samples.len() - 1, "wave": 1 }));
    let gone = anna.post(&format!("/v1/groups/{}/skip", seen["number"]), &json!({})).problem(404);
    let words = gone["detail"].as_str().unwrap();
    assert!(words.contains("meanwhile") && !words.contains('`'), "no words of the command line: {words}");
    running.stop();
}

#[test]
fn two_people_get_different_groups() {
    let (running, anna, boris) = shared();
    anna.predict(&scattered());
    let (hers, his) = (handed(&anna, 10), handed(&boris, 10));
    assert!(numbers(&hers).iter().all(|group| !numbers(&his).contains(group)));
    assert_eq!(hers["groups"][0]["held_by"], "anna");
    assert_eq!(numbers(&handed(&anna, 10)), numbers(&hers), "who comes back finds them");
    // Nobody is left without work: what others have comes last.
    let all = numbers(&handed(&boris, 200));
    assert_eq!(all.len(), 60);
    assert!(numbers(&hers).contains(all.last().unwrap()));
    // Without keys, sittings are told apart.
    let open = start();
    open.client.predict(&scattered());
    let of = |sitting: &str| {
        numbers(&open.client.post("/v1/groups/hand-out", &json!({ "count": 10, "sitting": sitting })).ok())
    };
    let (one, other) = (of("one"), of("other"));
    assert!(one.iter().all(|group| !other.contains(group)));
    running.stop();
}

#[test]
fn the_queue_is_read_to_its_end() {
    let running = start();
    let client = &running.client;
    client.predict(&scattered());
    let mut seen = Vec::new();
    let mut after = String::new();
    loop {
        let found = client.get(&format!("/v1/groups?count=7{after}")).ok();
        assert_eq!(found["groups_left"], 60);
        seen.extend(numbers(&found));
        let Some(next) = found["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(seen.len(), 60);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 60);
    client.get("/v1/groups?after=x").problem(422);
    let some = client.get("/v1/groups?numbers=3,1,999").ok();
    assert_eq!(numbers(&some), [3, 1], "those that wait, as asked for");
    client.get("/v1/groups?numbers=x").problem(422);
}

#[test]
fn splits_merges_and_skips_are_undone() {
    let running = start();
    let client = &running.client;
    client.predict(&strangers());
    let queue = || {
        let found = client.post("/v1/groups/hand-out", &json!({})).ok();
        let groups = found["groups"].as_array().unwrap().clone();
        let of = |group: &Value| (group["number"].clone(), group["samples"].clone(), group["radius"].clone());
        groups.iter().map(of).collect::<Vec<_>>()
    };
    let before = queue();
    let first = &before[0].0;
    let distance = client.get(&format!("/v1/groups/{first}")).ok()["members"][5]["distance"].clone();
    for (path, body) in [
        (format!("/v1/groups/{first}/split"), json!({ "radius": distance })),
        ("/v1/groups/merge".to_owned(), json!({ "groups": [first, before[1].0] })),
        (format!("/v1/groups/{first}/skip"), json!({})),
    ] {
        let done = client.post(&path, &body).ok();
        let after = queue();
        assert_ne!(after, before, "{path}");
        let undone = client.post("/v1/undo", &json!({})).ok();
        assert_eq!(undone["undone"], done["event"], "{path}: it is the last thing that was done");
        assert_eq!(queue(), before, "{path}");
        client.post("/v1/undo", &json!({ "event": undone["event"] })).ok();
        assert_eq!(queue(), after, "{path}");
        client.post("/v1/undo", &json!({ "event": done["event"] })).ok();
    }
    running.stop();
}

#[test]
fn pictures_are_kept_by_what_they_are() {
    let pictures = ["iVBORw0KGgoAAAA=", "iVBORw0KGgoBBBA="];
    let started = pictures.map(|picture| {
        let running = start();
        let shown = json!({ "media_type": "image/png", "base64": picture });
        running.client.post("/v1/predict", &json!({ "features": [[30.5, 30.5]], "pictures": [shown] })).ok();
        running
    });
    // The first sample of either pool, at an address that leads to its own picture alone.
    let address = |running: &Running| running.client.get("/v1/samples/1").ok()["picture"].clone();
    let addresses = [address(&started[0]), address(&started[1])];
    assert_ne!(addresses[0], addresses[1]);
    let own = started[0].client.get(addresses[0].as_str().unwrap());
    assert!(own.header("cache-control").unwrap().contains("immutable"));
    started[1].client.get(addresses[0].as_str().unwrap()).problem(404);
    let tag = own.header("etag").unwrap();
    let unnamed = started[0].client.get("/v1/samples/1/picture");
    assert_eq!(
        (unnamed.header("etag"), unnamed.header("cache-control")),
        (Some(tag), Some("private, no-cache"))
    );
    let again = started[0].client.with("If-None-Match", tag);
    assert_eq!(
        (again.get("/v1/samples/1/picture").status, again.get("/v1/samples/1/picture").body.len()),
        (304, 0)
    );
    assert_eq!(started[1].client.with("If-None-Match", tag).get("/v1/samples/1/picture").status, 200);
    let member = started[0].client.get("/v1/groups").ok()["groups"][0]["members"][0].clone();
    assert_eq!(member["picture"], addresses[0]);
    // Bytes that are not what they are called.
    for (kind, base64, says) in [
        ("image/png", "R0lGODlhAAAA", "image/gif, not image/png"),
        ("image/png", "PGh0bWw+", "does not begin as image/png"),
    ] {
        let body = json!({ "features": [[1, 2], [30.5, 30.5]], "pictures": [null, { "media_type": kind, "base64": base64 }] });
        let problem = started[0].client.post("/v1/predict", &body).problem(422);
        assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
        assert!(problem["detail"].as_str().unwrap().starts_with("row 2"), "{problem}");
    }
}

/// A roll back is known to those who look at the queue when what waits has been decided anew.
#[test]
fn the_queue_says_when_it_is_up_to_date() {
    let running = start();
    let client = &running.client;
    client.predict(&strangers());
    let group = client.get("/v1/groups").ok()["groups"][0].clone();
    let named = json!({ "samples": group["samples"], "label": "top", "new_class": true });
    client.post("/v1/labels", &named).ok();
    assert_eq!(client.post("/v1/update", &json!({})).status, 202);
    assert_eq!(client.learned()["settled"], true);
    client.predict(&[[0.5, 30.6], [60.5, 60.5]]);
    client.post("/v1/versions/rollback", &json!({})).ok();
    let begun = std::time::Instant::now();
    while client.get("/v1/status").ok()["settled"] != true {
        assert!(begun.elapsed().as_secs() < 60);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let queue = client.get("/v1/groups").ok();
    assert_eq!(queue["settled"], true);
    let live = client.get("/v1/status").ok()["live"].clone();
    for sample in client.get("/v1/samples?state=waiting").ok()["samples"].as_array().unwrap() {
        assert_eq!(sample["model"], live, "{sample}");
    }
    running.stop();
}

#[test]
#[cfg(unix)]
fn a_pool_that_was_removed_is_neither_ready_nor_written() {
    let running = start();
    let client = &running.client;
    client.predict(&strangers());
    assert_eq!(client.get("/v2/health/ready").status, 200);
    std::fs::remove_dir_all(running.folder()).unwrap();
    client.get("/v2/health/ready").problem(503);
    client.post("/v1/ignore", &json!({ "samples": [1] })).problem(503);
    client.post("/v1/predict", &json!({ "features": [[30.5, 30.5]] })).problem(503);
    let known = client.post("/v1/predict", &json!({ "features": [[0.5, 0.5]] })).ok();
    assert_eq!(known["decisions"][0]["class"], "a", "what is known is answered");
}
