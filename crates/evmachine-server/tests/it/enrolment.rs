use serde_json::{Value, json};

use crate::{Client, start};

fn put(client: &Client, rule: &Value) -> crate::client::Reply {
    client.with("Content-Type", "application/json").send("PUT", "/v1/enrolment", rule.to_string().as_bytes())
}

#[test]
fn a_rule_holds_back_what_may_not_be_learned_yet() {
    let running = start();
    let client = &running.client;
    assert_eq!(client.get("/v1/enrolment").ok()["rule"]["least_samples"], 0);
    let rule = json!({ "least_quality": 0.6, "least_samples": 3, "least_occasions": 2, "quarantine": true });
    let set = put(client, &rule).ok();
    assert_eq!((&set["rule"]["least_quality"], &set["held_back"]), (&json!(0.6), &json!([])));
    put(client, &json!({ "least": 1 })).problem(422);
    let problem = put(client, &json!({ "most_moved": -1.0 })).problem(422);
    assert_eq!(problem["detail"], "most_moved = -1: must be above 0, in widths of classes");

    let rows = [[30.1, 30.1], [30.2, 30.3], [30.4, 30.2], [30.3, 30.3]];
    let asked = json!({
        "features": rows,
        "qualities": [0.9, 0.8, 0.7, 0.1],
        "occasions": ["monday", "monday", "monday", "tuesday"],
    });
    let decided = client.post("/v1/predict", &asked).ok();
    let decisions = decided["decisions"].as_array().unwrap();
    assert_eq!((&decisions[0]["sample"], &decisions[0]["held_back"]), (&json!(1), &Value::Null));
    assert_eq!(decisions[3]["sample"], Value::Null);
    assert_eq!(decisions[3]["held_back"], json!({ "reason": "low_quality", "quality": 0.1, "least": 0.6 }));
    let kept = client.post(&format!("/v1/decisions/{}/keep", decisions[3]["decision"]), &json!({}));
    assert!(kept.problem(409)["detail"].as_str().unwrap().contains("the rule of the pool"));

    let named = json!({ "samples": [1, 2, 3], "label": "new", "new_class": true, "proposed": true });
    client.post("/v1/labels", &named).ok();
    let sample = client.get("/v1/samples/1").ok();
    assert_eq!((&sample["proposed"], &sample["occasion"]), (&json!(true), &json!("monday")));
    let held = client.get("/v1/enrolment").ok()["held_back"].clone();
    assert_eq!(held[0], json!({ "sample": 1, "class": "new", "reason": "quarantined" }));
    client.post("/v1/update", &json!({})).ok();
    let last = client.learned()["last_learning"].clone();
    assert_eq!(last["held_back"].as_array().unwrap().len(), 3, "{last}");
    assert!(last["error"].as_str().unwrap().contains("3 quarantined"), "{last}");

    let confirmed = json!({ "samples": [1, 2, 3], "label": "new", "replace": true });
    client.post("/v1/labels", &confirmed).ok();
    let held = client.get("/v1/enrolment").ok()["held_back"].clone();
    assert_eq!(
        held[2],
        json!({ "sample": 3, "class": "new", "reason": "few_occasions", "occasions": 1, "least": 2 })
    );
    put(client, &json!({})).ok();
    client.post("/v1/update", &json!({})).ok();
    let status = client.learned();
    assert_eq!(status["last_learning"]["held_back"], json!([]));
    assert_eq!(status["classes"].as_array().unwrap().len(), 3);
    running.stop();
}
