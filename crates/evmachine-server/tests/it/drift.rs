//! Drift of what is asked, and answers for tracks.

use evmachine::{Evm, Features, Labels, Params, Rejection};
use serde_json::{Value, json};

use crate::{Client, Random, clump, start, start_of};

/// Two clumps of 1,500 rows each, of which a tenth is held out.
fn model() -> Evm {
    let mut random = Random(3);
    let rows = [clump(&mut random, 0.0, 0.0, 1_500), clump(&mut random, 5.0, 0.0, 1_500)].concat();
    let labels = Labels::new((0..3_000).map(|row| if row < 1_500 { "a" } else { "b" })).unwrap();
    let params = Params { rejection_threshold: Rejection::FalseUnknown(0.05), ..Params::paper() };
    Evm::fit(&params, &Features::new(rows.concat(), 2).unwrap(), &labels).unwrap().0
}

/// Rows of both clumps in turn, moved to the side.
fn ask(client: &Client, seed: u64, count: usize, by: f32) {
    let mut random = Random(seed);
    let rows: Vec<[f32; 2]> =
        (0..count).map(|row| [random.next() + (row % 2) as f32 * 5.0 + by, random.next()]).collect();
    client.post("/v1/predict", &json!({ "features": rows, "keep": "none" })).ok();
}

fn metric(client: &Client, name: &str) -> Option<f64> {
    let metrics = client.get("/metrics");
    metrics.text().lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

#[test]
fn drift_is_watched_named_and_kept_over_a_restart() {
    let mut running = start_of(&model(), |_| {});
    ask(&running.client, 5, 600, 0.0);
    let drift = running.client.get("/v1/drift").ok();
    assert_eq!(
        (&drift["rows"], &drift["basis"], &drift["alarm"]),
        (&json!(600), &json!("held_out"), &Value::Null)
    );
    assert!(drift["reference_rows"].as_u64() > Some(200), "{drift}");
    assert_eq!(metric(&running.client, "evmachine_drift_alarm"), Some(0.0));
    running.restart();
    let client = &running.client;
    assert_eq!(client.get("/v1/drift").ok()["rows"], 600, "it goes on where it was");
    ask(client, 6, 400, 0.6);
    let drift = client.get("/v1/drift").ok();
    assert_eq!(drift["rows"], 1_000);
    assert!(drift["alarm"]["row"].as_u64() > Some(600), "{drift}");
    assert_eq!(drift["cause"]["kind"], "moved", "{drift}");
    assert!(drift["text"].as_str().unwrap().contains("all vectors moved by"), "{drift}");
    assert_eq!(client.get("/v1/status").ok()["drift"], drift["alarm"]);
    assert_eq!(metric(client, "evmachine_drift_alarm"), Some(1.0));
    assert!(metric(client, "evmachine_drift_evidence") >= Some(1.0));
    assert_eq!(metric(client, "evmachine_drift_cause{kind=\"moved\"}"), Some(1.0));
    assert_eq!(metric(client, "evmachine_drift_cause{kind=\"encoder\"}"), Some(0.0));
    running.stop();
}

#[test]
fn rows_of_a_track_get_one_answer() {
    let running = start();
    let client = &running.client;
    let rows = json!([[0.5, 0.5], [30.0, 30.0], [0.6, 0.4], [31.0, 30.0], [0.4, 0.5]]);
    let tracks = ["left", "far", "left", "far", "left"];
    let answered =
        client.post("/v1/predict", &json!({ "features": rows, "tracks": tracks, "keep": "none" })).ok();
    assert_eq!(answered["decisions"].as_array().unwrap().len(), 5);
    let found = &answered["tracks"];
    assert_eq!(
        (&found[0]["track"], &found[0]["class"], &found[0]["rows"]),
        (&json!("left"), &json!("a"), &json!(3))
    );
    assert_eq!(
        (&found[1]["track"], &found[1]["known"], &found[1]["disagree"]),
        (&json!("far"), &json!(false), &json!([]))
    );
    let without = client.post("/v1/predict", &json!({ "features": rows, "keep": "none" })).ok();
    assert_eq!(without.get("tracks"), None);
    let problem = client.post("/v1/predict", &json!({ "features": rows, "tracks": ["left"] })).problem(422);
    assert_eq!(problem["detail"], "1 tracks for 5 rows; give one for each row");
    running.stop();
}
