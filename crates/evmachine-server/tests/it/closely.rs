use serde_json::{Value, json};

use crate::{start, strangers};

/// What was learned is near what it was learned from, and never its own neighbour.
#[test]
fn a_sample_is_seen_with_its_nearest_training_rows() {
    let running = start();
    let client = &running.client;
    let texts: Vec<String> = (0..24).map(|row| format!("text {row}")).collect();
    client.post("/v1/predict", &json!({ "features": strangers(), "texts": texts })).ok();
    let near = client.get("/v1/samples/1/neighbors?count=3").ok();
    let rows = near["rows"].as_array().unwrap();
    let distances: Vec<f64> = rows.iter().map(|row| row["distance"].as_f64().unwrap()).collect();
    assert!(distances.len() == 3 && distances.is_sorted(), "{near}");
    assert!(
        rows.iter().all(|row| row["class"] == "a" && row["sample"].is_null()),
        "the clump a is nearest: {near}"
    );
    let named: Vec<i64> = (1..=12).collect();
    client.post("/v1/labels", &json!({ "samples": named, "label": "top", "new_class": true })).ok();
    assert_eq!(client.post("/v1/update", &json!({})).status, 202);
    client.learned();
    let near = client.get("/v1/samples/1/neighbors?count=50").ok();
    let rows = near["rows"].as_array().unwrap();
    let own: Vec<&Value> = rows.iter().filter(|row| row["class"] == "top").collect();
    assert!(!own.is_empty() && rows[0]["class"] == "top", "{near}");
    for row in &own {
        let sample = row["sample"].as_i64().unwrap();
        assert!(sample != 1 && named.contains(&sample), "never itself: {row}");
        assert_eq!(row["text"], format!("text {}", sample - 1));
    }
    client.get("/v1/samples/999/neighbors").problem(404);
}

#[test]
fn a_sample_has_a_history_and_notes() {
    let running = start();
    let client = &running.client;
    client.predict(&strangers());
    client.post("/v1/labels", &json!({ "samples": [1, 2], "label": "a", "person": "Ada" })).ok();
    let event = client.post("/v1/ignore", &json!({ "samples": [1], "replace": true })).ok()["event"].clone();
    client.post("/v1/undo", &json!({ "event": event })).ok();
    let history = client.get("/v1/samples/1/history").ok();
    let told: Vec<(Value, Value)> = history["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| (event["kind"].clone(), event["in_force"].clone()))
        .collect();
    assert_eq!(told, [(json!("ignored"), json!(false)), (json!("labelled"), json!(true))]);
    assert_eq!(client.get("/v1/samples/3/history").ok()["events"], json!([]));
    let note = json!({ "text": "  is that really one?\nAsk Boris. ", "person": "Ada" });
    let left = client.post("/v1/samples/1/notes", &note).ok();
    assert_eq!((&left["text"], &left["person"]), (&json!("is that really one?\nAsk Boris."), &json!("Ada")));
    assert_eq!(client.get("/v1/samples/1/history").ok()["notes"], json!([left]));
    for text in ["", " \n ", "a\u{1b}[31m", &"x".repeat(2001)] {
        client.post("/v1/samples/1/notes", &json!({ "text": text })).problem(422);
    }
    client.post("/v1/samples/999/notes", &json!({ "text": "a" })).problem(404);
    client.get("/v1/samples/999/history").problem(404);
    assert_eq!(client.get("/v1/status").ok()["waiting"], 22, "notes answer nothing");
    running.stop();
}

/// After learning, what waits and is known is offered class by class, the most doubtful first, and accepted by an answer.
#[test]
fn what_is_recognised_is_offered_and_accepted() {
    let running = start();
    let client = &running.client;
    client.predict(&strangers());
    assert_eq!(client.get("/v1/recognised").ok()["classes"], json!([]));
    client
        .post("/v1/labels", &json!({ "samples": [1, 2, 3, 4, 5, 6], "label": "top", "new_class": true }))
        .ok();
    assert_eq!(client.post("/v1/update", &json!({})).status, 202);
    client.learned();
    let found = client.get("/v1/recognised").ok();
    assert_eq!((&found["settled"], &found["classes"][0]["class"]), (&json!(true), &json!("top")));
    let offered = client.get("/v1/recognised/samples?class=top").ok();
    let samples: Vec<i64> = serde_json::from_value(offered["samples"].clone()).unwrap();
    assert_eq!(found["classes"][0]["samples"], samples.len());
    assert!(!samples.is_empty() && samples.iter().all(|sample| (7..=12).contains(sample)), "{offered}");
    let shown = offered["shown"].as_array().unwrap();
    let supports: Vec<f64> = shown.iter().map(|sample| sample["support"].as_f64().unwrap()).collect();
    assert!(supports.is_sorted() && supports[0] >= 0.0, "{supports:?}");
    assert_eq!(found["classes"][0]["least_support"], supports[0]);
    client.post("/v1/labels", &json!({ "samples": samples, "label": "top" })).ok();
    assert_eq!(client.get("/v1/recognised").ok()["classes"], json!([]));
    assert_eq!(client.get("/v1/recognised/samples?class=top").ok()["samples"], json!([]));
    running.stop();
}
