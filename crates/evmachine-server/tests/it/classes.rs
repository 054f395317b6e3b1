use serde_json::{Value, json};

use crate::{Client, start, strangers};

fn names(client: &Client) -> Vec<String> {
    let found = client.get("/v1/classes").ok();
    found["classes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|class| class["name"].as_str().unwrap().to_owned())
        .collect()
}

fn sources(client: &Client, class: &str) -> Vec<u64> {
    let found = client.get(&format!("/v1/classes/rows?class={class}&count=500")).ok();
    assert_eq!(found["vectors"], found["rows"].as_array().unwrap().len());
    found["rows"].as_array().unwrap().iter().map(|row| row["source"].as_u64().unwrap()).collect()
}

#[test]
fn a_class_is_shown_and_a_row_of_another_one_in_it_is_found() {
    let running = start();
    let client = &running.client;
    assert_eq!(names(client), ["a", "b"]);
    let (a, b) = (sources(client, "a"), sources(client, "b"));
    assert_eq!((a.len(), b.len()), (20, 20));
    let doubtful = |class: &str| -> Vec<Value> {
        let found = client.get(&format!("/v1/classes/rows?class={class}")).ok();
        let rows = found["rows"].as_array().unwrap().iter().filter(|row| row["claimed_by"].is_string());
        rows.map(|row| json!([row["source"], row["claimed_by"]])).collect()
    };
    assert_eq!(doubtful("a"), Vec::<Value>::new());
    // A row of the middle of b that somebody calls a.
    client.post("/v1/classes/move", &json!({ "rows": [b[3]], "to": "a" })).ok();
    assert_eq!(doubtful("a"), [json!([b[3], "b"])]);
    client.get("/v1/classes/rows?class=none").problem(404);
}

/// Each correction is a version of its own, and undoing it gives back the one before.
#[test]
fn classes_are_renamed_merged_split_and_removed() {
    let running = start();
    let client = &running.client;
    client.predict(&strangers());
    let first = client.get("/v1/status").ok()["live"].clone();
    let undo = |event: &Value| {
        client.post("/v1/undo", &json!({ "event": event })).ok();
        assert_eq!(names(client), ["a", "b"]);
        assert_eq!(client.get("/v1/status").ok()["live"], first);
    };
    let class_of = |row: [f32; 2]| client.predict(&[row])["decisions"][0]["class"].clone();
    let renamed = client.post("/v1/classes/rename", &json!({ "class": "a", "to": "left" })).ok();
    assert_eq!(
        (names(client), class_of([0.5, 0.5])),
        (vec!["left".to_owned(), "b".to_owned()], json!("left"))
    );
    undo(&renamed["event"]);
    let merged = client.post("/v1/classes/merge", &json!({ "class": "a", "into": "b" })).ok();
    assert_eq!((names(client), class_of([0.5, 0.5])), (vec!["b".to_owned()], json!("b")));
    client.post("/v1/classes/remove", &json!({ "class": "b" })).problem(409);
    undo(&merged["event"]);
    let rows = sources(client, "a")[..8].to_vec();
    let slip = client.post("/v1/classes/move", &json!({ "rows": rows, "to": "B" })).problem(409);
    assert_eq!(slip["known"], json!(["b"]));
    let split = client.post("/v1/classes/move", &json!({ "rows": rows, "to": "part" })).ok();
    assert_eq!(names(client), ["a", "b", "part"]);
    assert_eq!((sources(client, "part").len(), sources(client, "a").len()), (8, 12));
    undo(&split["event"]);
    let removed = client.post("/v1/classes/remove", &json!({ "class": "a" })).ok();
    assert_eq!((names(client), class_of([0.5, 0.5])), (vec!["b".to_owned()], Value::Null));
    undo(&removed["event"]);
    for (path, body, status) in [
        ("rename", json!({ "class": "none", "to": "c" }), 404),
        ("rename", json!({ "class": "a", "to": "b" }), 409),
        ("rename", json!({ "class": "a", "to": "unknown" }), 422),
        ("merge", json!({ "class": "a", "into": "none" }), 404),
        ("merge", json!({ "class": "a", "into": "a" }), 422),
        ("move", json!({ "rows": [999_999], "to": "b" }), 422),
        ("move", json!({ "rows": [], "to": "b" }), 422),
        ("remove", json!({ "class": "none" }), 404),
    ] {
        client.post(&format!("/v1/classes/{path}"), &body).problem(status);
    }
    assert_eq!(client.get("/v1/status").ok()["live"], first);
    running.stop();
}

/// A name that waits to be learned would bring a class back that was renamed.
#[test]
fn a_class_with_labels_that_are_not_learned_stays_as_it_is() {
    let running = start();
    let client = &running.client;
    client.predict(&strangers());
    client.post("/v1/labels", &json!({ "samples": [1, 2], "label": "a" })).ok();
    for (path, body) in [
        ("rename", json!({ "class": "a", "to": "c" })),
        ("merge", json!({ "class": "a", "into": "b" })),
        ("remove", json!({ "class": "a" })),
    ] {
        let problem = client.post(&format!("/v1/classes/{path}"), &body).problem(409);
        assert!(problem["detail"].as_str().unwrap().starts_with("2 samples are named \"a\""), "{problem}");
    }
    client.post("/v1/classes/rename", &json!({ "class": "b", "to": "c" })).ok();
    assert_eq!(client.get("/v1/classes").ok()["classes"][0]["to_learn"], 2);
}
