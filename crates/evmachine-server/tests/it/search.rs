use serde_json::json;

use crate::{Client, start, strangers};

fn found(client: &Client, query: &str) -> Vec<i64> {
    let numbers = client.get(&format!("/v1/samples/numbers?{query}")).ok();
    let listed = client.get(&format!("/v1/samples?count=1000&{query}")).ok();
    let listed: Vec<i64> = listed["samples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sample| sample["number"].as_i64().unwrap())
        .collect();
    assert_eq!(numbers["samples"], json!(listed), "{query}");
    assert_eq!(numbers["matching"], listed.len(), "{query}");
    listed
}

/// Every filter, alone and with others, against samples of which all is known.
#[test]
fn samples_are_found_by_what_is_known_of_them() {
    let running = start();
    let client = &running.client;
    let texts: Vec<String> = (0..24).map(|row| format!("Row_{row} is {}%", row % 5)).collect();
    let ids: Vec<String> = (0..24).map(|row| format!("camera-{row:02}")).collect();
    client.post("/v1/predict", &json!({ "features": strangers(), "texts": texts, "ids": ids })).ok();
    client.post("/v1/predict", &json!({ "features": [[0.5, 0.5], [5.5, 0.5]], "keep": "all" })).ok();
    client.post("/v1/labels", &json!({ "samples": [1, 2], "label": "a" })).ok();
    client.post("/v1/ignore", &json!({ "samples": [3] })).ok();
    assert_eq!(found(client, "").len(), 26);
    assert_eq!(found(client, "state=labelled"), [1, 2]);
    assert_eq!(found(client, "label=a"), [1, 2]);
    assert_eq!(found(client, "known=true"), [25, 26]);
    assert_eq!(found(client, "known=true&best=b"), [26]);
    assert_eq!(found(client, "id=CAMERA-1"), (11..=20).collect::<Vec<i64>>());
    assert_eq!(found(client, "text=row_2%20"), [3], "an underscore is an underscore");
    assert_eq!(found(client, "text=2%25&state=waiting"), [8, 13, 18, 23], "and a percent sign itself");
    let decided = |number: i64| {
        let sample = client.get(&format!("/v1/samples/{number}")).ok();
        json!([sample["class"], sample["best"], sample["known"]])
    };
    assert_eq!((decided(10)[0].clone(), decided(26)), (json!(null), json!(["b", "b", true])));
    assert!(["a", "b"].contains(&decided(10)[1].as_str().unwrap()));
    let sample = client.get("/v1/samples/10").ok();
    let (support, added) = (&sample["support"], sample["added"].as_i64().unwrap());
    assert!(found(client, &format!("least_support={support}&most_support={support}")).contains(&10));
    assert_eq!(found(client, &format!("since={}", added + 1000)), Vec::<i64>::new());
    assert_eq!(found(client, &format!("since={added}&until={}", added + 1000)).len(), 26);
    let doubtful = client.get("/v1/samples?order=doubtful&count=1000").ok();
    let supports: Vec<f64> = doubtful["samples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sample| sample["support"].as_f64().unwrap())
        .collect();
    assert!(supports.len() == 26 && supports.is_sorted(), "{supports:?}");
    assert_eq!(
        client.get("/v1/samples/numbers?count=3").ok(),
        json!({ "samples": [1, 2, 3], "matching": 26 })
    );
    for bad in ["state=none", "known=perhaps", "colour=red", "class=a", "least_support=low"] {
        client.get(&format!("/v1/samples?{bad}")).problem(422);
    }
}
