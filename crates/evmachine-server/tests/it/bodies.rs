use std::sync::Arc;

use arrow_array::{Float32Array, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema};
use serde_json::{Value, json};

use crate::{start, strangers};

/// A two-dimensional array of f32, as numpy writes it.
fn npy(rows: &[[f32; 2]]) -> Vec<u8> {
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, 2), }}", rows.len());
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(rows.iter().flatten().flat_map(|value| value.to_le_bytes()));
    bytes
}

fn arrow(x: Vec<f32>, y: Vec<f32>) -> Vec<u8> {
    let fields = ["x", "y"].map(|name| Field::new(name, DataType::Float32, false));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let columns: Vec<arrow_array::ArrayRef> =
        vec![Arc::new(Float32Array::from(x)), Arc::new(Float32Array::from(y))];
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn files_are_decided_as_json_is() {
    let running = start();
    let client = &running.client;
    let rows = [[0.5, 0.5], [30.5, 30.5], [5.5, 0.5]];
    let classes = |decided: &Value| -> Vec<Value> {
        decided["decisions"].as_array().unwrap().iter().map(|decision| decision["class"].clone()).collect()
    };
    let expected = classes(&client.predict(&rows));
    assert_eq!(expected, [json!("a"), Value::Null, json!("b")]);
    let sent =
        client.with("Content-Type", "application/x-npy").send("POST", "/v1/predict?keep=none", &npy(&rows));
    let decided = sent.ok();
    assert_eq!(classes(&decided), expected);
    assert_eq!(decided["decisions"][1]["sample"], Value::Null);
    let stream = arrow(rows.iter().map(|row| row[0]).collect(), rows.iter().map(|row| row[1]).collect());
    let arrow_client = client.with("Content-Type", "application/vnd.apache.arrow.stream");
    assert_eq!(classes(&arrow_client.send("POST", "/v1/predict?keep=all", &stream).ok()), expected);
    assert_eq!(client.get("/v1/status").ok()["waiting"], 4, "one from JSON, three from the stream");
    running.stop();
}

#[test]
fn what_comes_with_rows_is_kept_and_shown() {
    let running = start();
    let client = &running.client;
    let picture = json!({ "media_type": "image/png", "base64": "iVBORw0KGgo=" });
    let body = json!({
        "features": [[30.5, 30.5], [0.5, 0.5]], "ids": ["x", null], "texts": ["far <out>", null],
        "links": [null, null], "pictures": [picture, null], "keep": "all",
    });
    let decided = client.post("/v1/predict", &body).ok();
    let sample = client.get("/v1/samples/1").ok();
    assert_eq!((&sample["id"], &sample["text"]), (&json!("x"), &json!("far <out>")));
    assert_eq!(sample["features"], json!([30.5, 30.5]));
    assert!(sample["picture"].as_str().unwrap().starts_with("/v1/samples/1/picture/"), "{sample}");
    let shown = client.get("/v1/samples/1/picture");
    assert_eq!(
        (shown.header("content-type"), shown.body.as_slice()),
        (Some("image/png"), &b"\x89PNG\r\n\x1a\n"[..])
    );
    assert_eq!(shown.header("content-security-policy"), Some("default-src 'none'; sandbox"));
    client.get("/v1/samples/2/picture").problem(404);
    client.get("/v1/samples/99").problem(404);
    client.get("/v1/samples/x").problem(404);
    let again = client.post("/v1/predict", &json!({ "features": [[30.5, 30.5]], "ids": ["x"] })).ok();
    assert_eq!(again["decisions"][0]["sample"], 1, "the same row again is no news");
    client.post("/v1/predict", &json!({ "features": [[40.5, 30.5]], "ids": ["x"] })).problem(409);
    let listed = client.get("/v1/decisions?count=2").ok()["decisions"].clone();
    assert_eq!(listed[0]["id"], "x");
    assert!(listed[0]["decision"].as_u64() > decided["decisions"][1]["decision"].as_u64());
    let script = json!({ "media_type": "image/svg+xml", "base64": "" });
    client.post("/v1/predict", &json!({ "features": [[1, 2]], "pictures": [script] })).problem(422);
}

#[test]
fn what_makes_no_sense_is_named() {
    let running = start();
    let client = &running.client;
    for (body, status, says) in [
        ("", 400, "EOF"),
        ("{\"features\": [[1, 2]", 400, "EOF"),
        ("{\"features\": [[1, 2], [3]]}", 422, "row 2 has 1 numbers and those before it 2"),
        ("{\"features\": [[1, 2, 3]]}", 422, "3"),
        ("{\"features\": [[1, null]]}", 422, "row 1"),
        ("{\"features\": [[1, 2], [1, 1e60]]}", 422, "row 2"),
        ("{\"features\": [[1, 2]], \"ids\": [\"a\", \"b\"]}", 422, "2 ids for 1 rows"),
        ("{\"features\": [[1, 2]], \"keep\": \"some\"}", 422, "keep"),
        ("{\"feature\": [[1, 2]]}", 422, "feature"),
    ] {
        let reply =
            client.with("Content-Type", "application/json").send("POST", "/v1/predict", body.as_bytes());
        let problem = reply.problem(status);
        assert!(problem["detail"].as_str().unwrap().contains(says), "{body}: {problem}");
    }
    assert_eq!(client.post("/v1/predict", &json!({ "features": [] })).ok()["decisions"], json!([]));
    client.with("Content-Type", "application/x-npy").send("POST", "/v1/predict", b"\x93NUMPY").problem(422);
    let cut = &npy(&strangers())[..100];
    let problem =
        client.with("Content-Type", "application/x-npy").send("POST", "/v1/predict", cut).problem(422);
    assert!(problem["detail"].as_str().unwrap().starts_with("the body"), "no path of the server: {problem}");
    client
        .with("Content-Type", "application/vnd.apache.arrow.stream")
        .send("POST", "/v1/predict", b"x")
        .problem(422);
    // A row is counted in the same way in whatever form it comes.
    let bad = [[1.0, 2.0], [3.0, 4.0], [5.0, f32::NAN]];
    let as_file =
        client.with("Content-Type", "application/x-npy").send("POST", "/v1/predict", &npy(&bad)).problem(422);
    let rows = json!({ "features": [[1.0, 2.0], [3.0, 4.0], [5.0, null]] });
    let as_list = client.post("/v1/predict", &rows).problem(422);
    for problem in [as_file, as_list] {
        assert!(problem["detail"].as_str().unwrap().contains("row 3"), "{problem}");
    }
    client.send("POST", "/v1/predict", b"{}").problem(415);
    client.get("/v1/predict").problem(405);
    client.get("/v1/nothing").problem(404);
    client.get("/v1/groups?count=x").problem(422);
    client.get("/v1/groups?cuont=1").problem(422);
    client.post("/v1/groups/1/split", &json!({ "radius": "wide" })).problem(422);
}

#[test]
fn what_is_no_http_ends_the_connection_and_nothing_else() {
    let running = start();
    for bytes in [
        &b"\x16\x03\x01\x02\x00\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nConnection: close\r\nHost: [\r\n\r\n",
    ] {
        if let Some(reply) = running.client.raw(bytes) {
            assert!((400..500).contains(&reply.status), "{reply:?}");
        }
    }
    assert_eq!(running.client.get("/v2/health/live").status, 200);
}
