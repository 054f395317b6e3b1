use evmachine_server::Keys;
use serde_json::{Value, json};

use crate::{Client, Running, start_with, strangers};

const ANNA: &str = "label-key-of-anna-0001";
const BORIS: &str = "label-key-of-boris-002";

fn two_people() -> (Running, Client, Client) {
    let keys = Keys::read(&format!("label anna {ANNA}\nlabel boris {BORIS}\n")).unwrap();
    let running = start_with(|settings| settings.keys = keys);
    let (anna, boris) = (running.client.with("api-key", ANNA), running.client.with("api-key", BORIS));
    anna.predict(&strangers());
    (running, anna, boris)
}

fn wanted(client: &Client) -> Vec<i64> {
    let found = client.get("/v1/opinions").ok();
    found["samples"].as_array().unwrap().iter().map(|sample| sample["number"].as_i64().unwrap()).collect()
}

fn differing(client: &Client) -> Vec<Value> {
    let found = client.get("/v1/disagreements").ok();
    let list = found["disagreements"].as_array().unwrap().iter();
    list.map(|one| json!([one["sample"]["number"], one["sample"]["label"], one["opinion"]])).collect()
}

#[test]
fn a_second_opinion_is_somebody_elses_and_changes_nothing() {
    let (running, anna, boris) = two_people();
    anna.post("/v1/opinions/ask", &json!({ "samples": [1] })).problem(409);
    anna.post("/v1/labels", &json!({ "samples": [1, 2, 3], "label": "top", "new_class": true })).ok();
    let asked = anna.post("/v1/opinions/ask", &json!({ "samples": [1, 2, 3] })).ok()["event"].clone();
    assert_eq!((wanted(&anna), wanted(&boris)), (vec![], vec![1, 2, 3]), "who answered is not asked");
    let shown = boris.get("/v1/opinions").ok();
    assert!(
        shown["samples"][0].get("label").is_none() && shown["samples"][0].get("class").is_none(),
        "{shown}"
    );
    anna.post("/v1/opinions", &json!({ "samples": [1], "label": "top" })).problem(409);
    let slip = boris.post("/v1/opinions", &json!({ "samples": [1], "label": "tpo" })).problem(409);
    assert_eq!(slip["known"], json!(["top"]));
    boris.post("/v1/opinions", &json!({ "samples": [1], "label": "top" })).ok();
    let other = boris.post("/v1/opinions", &json!({ "samples": [2], "label": "a" })).ok()["event"].clone();
    boris.post("/v1/opinions", &json!({ "samples": [3] })).ok();
    assert_eq!(wanted(&boris), Vec::<i64>::new());
    assert_eq!(anna.get("/v1/samples/2").ok()["label"], "top", "the answer stays");
    assert_eq!(differing(&anna), [json!([2, "top", "a"]), json!([3, "top", null])]);
    let agreement = anna.get("/v1/disagreements").ok()["agreement"].clone();
    assert_eq!(agreement, json!([{ "class": "top", "opinions": 3, "agreed": 1 }]));
    // Anna stays with what she said, Boris answers anew, and one opinion is undone.
    anna.post("/v1/opinions", &json!({ "samples": [3], "label": "top" })).ok();
    assert_eq!(differing(&anna), [json!([2, "top", "a"])]);
    boris.post("/v1/undo", &json!({ "event": other })).ok();
    assert_eq!((differing(&anna), wanted(&boris)), (vec![], vec![2]));
    boris.post("/v1/opinions", &json!({ "samples": [2], "label": "b" })).ok();
    anna.post("/v1/labels", &json!({ "samples": [2], "label": "b", "replace": true })).ok();
    assert_eq!(differing(&anna), Vec::<Value>::new());
    anna.post("/v1/undo", &json!({ "event": asked })).ok();
    assert_eq!(wanted(&boris), Vec::<i64>::new());
    running.stop();
}

/// What was learned stays learned; opinions on it are taken and undone all the same.
#[test]
fn opinions_are_given_on_what_was_learned() {
    let (running, anna, boris) = two_people();
    anna.post("/v1/labels", &json!({ "samples": [1, 2, 3], "label": "top", "new_class": true })).ok();
    assert_eq!(anna.post("/v1/update", &json!({})).status, 202);
    anna.learned();
    anna.post("/v1/opinions/ask", &json!({ "samples": [1] })).ok();
    let given = boris.post("/v1/opinions", &json!({ "samples": [1], "label": "a" })).ok();
    assert_eq!(differing(&anna), [json!([1, "top", "a"])]);
    anna.post("/v1/labels", &json!({ "samples": [1], "label": "a", "replace": true })).problem(409);
    boris.post("/v1/undo", &json!({ "event": given["event"] })).ok();
    assert_eq!(differing(&anna), Vec::<Value>::new());
    running.stop();
}

/// A group is kept for who looks at it, and everybody sees who that is.
#[test]
fn who_looks_at_a_group_has_it() {
    let (running, anna, boris) = two_people();
    let queue = boris.get("/v1/groups").ok();
    let (first, second) = (queue["groups"][0]["number"].clone(), queue["groups"][1]["number"].clone());
    let hold = |client: &Client, group: &Value| client.post(&format!("/v1/groups/{group}/hold"), &json!({}));
    let held = hold(&anna, &first).ok();
    assert_eq!((&held["held_by"], &held["own"]), (&json!("anna"), &json!(true)));
    let held = hold(&boris, &first).ok();
    assert_eq!((&held["held_by"], &held["own"]), (&json!("anna"), &json!(false)));
    let handed = boris.post("/v1/groups/hand-out", &json!({ "count": 1 })).ok();
    assert_eq!(handed["groups"][0]["number"], second, "what others look at comes last");
    hold(&boris, &second).ok();
    anna.post("/v1/discard", &json!({ "samples": [24] })).ok();
    let people = boris.get("/v1/people").ok();
    let told: Vec<Value> = people["people"]
        .as_array()
        .unwrap()
        .iter()
        .map(|person| json!([person["name"], person["group"], person["answers"]]))
        .collect();
    assert_eq!(told, [json!(["anna", first, 1]), json!(["boris", second, 0])]);
    hold(&anna, &json!(999)).problem(404);
    running.stop();
}
