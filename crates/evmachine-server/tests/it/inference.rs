use serde_json::{Value, json};

use crate::start;

const INFER: &str = "/v2/models/evmachine/infer";

fn output<'a>(reply: &'a Value, name: &str) -> &'a Value {
    reply["outputs"].as_array().unwrap().iter().find(|output| output["name"] == name).unwrap()
}

#[test]
fn the_protocol_is_answered_in_json() {
    let running = start();
    let client = &running.client;
    assert_eq!(client.get("/v2").ok()["extensions"], json!(["binary_tensor_data"]));
    assert_eq!(client.get("/v2/health/live").status, 200);
    assert_eq!(client.get("/v2/health/ready").status, 200);
    let model = client.get("/v2/models/evmachine").ok();
    assert_eq!(model["inputs"], json!([{ "name": "features", "datatype": "FP32", "shape": [-1, 2] }]));
    let version = model["versions"][0].as_str().unwrap().to_owned();
    assert_eq!(client.get(&format!("/v2/models/evmachine/versions/{version}/ready")).ok()["ready"], true);
    assert_eq!(client.get(&format!("/v2/models/evmachine/versions/{version}")).ok(), model);
    assert!(client.get("/v2/models/other").problem(404)["error"].is_string());
    client.get("/v2/models/other/ready").problem(404);

    let data = [json!([0.5, 0.5, 30.5, 30.5]), json!([[0.5, 0.5], [30.5, 30.5]])];
    for data in data {
        let input = json!({ "name": "features", "shape": [2, 2], "datatype": "FP64", "data": data });
        let reply = client.post(INFER, &json!({ "id": "7", "inputs": [input] })).ok();
        assert_eq!((&reply["id"], &reply["model_version"]), (&json!("7"), &json!(version)));
        assert_eq!(output(&reply, "class")["data"], json!(["a", ""]));
        assert_eq!(output(&reply, "known")["data"], json!([true, false]));
        assert_eq!(output(&reply, "class")["shape"], json!([2]));
        let supports = output(&reply, "support")["data"].clone();
        assert!(supports[1].as_f64() < Some(0.0), "{supports}");
        assert_eq!(output(&reply, "p_value")["data"], json!([null, null]), "the model is not calibrated");
        assert!(output(&reply, "psi")["data"][0].as_f64() > Some(0.0));
    }
    let status = client.get("/v1/status").ok();
    assert_eq!(status["waiting"], 2, "unknown rows were kept");
    let input = json!({ "name": "features", "shape": [1, 2], "datatype": "FP32", "data": [30.5, 30.5] });
    let wanted =
        json!({ "inputs": [input], "outputs": [{ "name": "sample" }], "parameters": { "keep": "none" } });
    let reply = client.post(INFER, &wanted).ok();
    assert_eq!(
        reply["outputs"],
        json!([{ "name": "sample", "datatype": "INT64", "shape": [1], "data": [-1] }])
    );
}

#[test]
fn tensors_may_be_bytes() {
    let running = start();
    let values = [0.5f32, 0.5, 30.5, 30.5];
    let halves: Vec<u8> = values.iter().flat_map(|value| half::f16::from_f32(*value).to_le_bytes()).collect();
    let singles: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    for (datatype, tensor) in [("FP16", halves), ("FP32", singles)] {
        let head = json!({
            "inputs": [{ "name": "features", "shape": [2, 2], "datatype": datatype,
                         "parameters": { "binary_data_size": tensor.len() } }],
            "outputs": [{ "name": "class", "parameters": { "binary_data": true } }, { "name": "known" }],
            "parameters": { "keep": "none" },
        })
        .to_string();
        let client = running
            .client
            .with("Inference-Header-Content-Length", &head.len().to_string())
            .with("Content-Type", "application/octet-stream");
        let reply = client.send("POST", INFER, &[head.as_bytes(), &tensor].concat());
        assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(&reply.body));
        let length: usize = reply.header("inference-header-content-length").unwrap().parse().unwrap();
        let json: Value = serde_json::from_slice(&reply.body[..length]).unwrap();
        assert_eq!(output(&json, "class")["parameters"]["binary_data_size"], 9);
        assert_eq!(reply.body[length..], *b"\x01\0\0\0a\0\0\0\0");
        assert_eq!(output(&json, "known")["data"], json!([true, false]));
    }
}

#[test]
fn bad_tensors_are_named() {
    let running = start();
    let client = &running.client;
    let input = |change: Value| {
        let mut input = json!({ "name": "features", "shape": [1, 2], "datatype": "FP32", "data": [1, 2] });
        input.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        json!({ "inputs": [input] })
    };
    for (body, says) in [
        (json!({ "inputs": [] }), "0 inputs"),
        (input(json!({ "shape": [2] })), "shape"),
        (input(json!({ "shape": [2, 2] })), "2 numbers for a shape of 2 x 2"),
        (input(json!({ "shape": [1, 1], "data": [1] })), "1"),
        (input(json!({ "datatype": "BYTES" })), "BYTES is no datatype of numbers"),
        (input(json!({ "data": ["x"] })), "string"),
        (input(json!({ "data": null })), "either `data` or `binary_data_size`"),
        (input(json!({ "data": null, "parameters": { "binary_data_size": 8 } })), "0 bytes follow"),
    ] {
        let problem = client.post(INFER, &body).problem(422);
        assert!(problem["error"].as_str().unwrap().contains(says), "{body}: {problem}");
    }
    let wanted = json!({ "inputs": input(json!({}))["inputs"], "outputs": [{ "name": "logits" }] });
    client.post(INFER, &wanted).problem(422);
    client.with("Inference-Header-Content-Length", "99").send("POST", INFER, b"{}").problem(400);
    client.send("POST", INFER, b"[").problem(400);
    client.post("/v2/models/evmachine/versions/0/infer", &input(json!({}))).problem(404);
}

#[test]
fn label_studio_gets_predictions_and_gives_names() {
    let running = start();
    let client = &running.client;
    assert_eq!(client.get("/labelstudio/health").ok()["status"], "UP");
    let live = client.get("/v1/status").ok()["live"].clone();
    assert_eq!(client.post("/labelstudio/setup", &json!({ "project": "1" })).ok()["model_version"], live);
    let tasks = json!([
        { "id": 3, "data": { "features": [0.5, 0.5] } },
        { "id": 4, "data": { "features": [30.5, 30.5], "text": "far" } },
    ]);
    let config = "<View><Text name=\"t\" value=\"$text\"/><Choices name=\"kind\" toName=\"t\"/></View>";
    let found = client.post("/labelstudio/predict", &json!({ "tasks": tasks, "label_config": config })).ok();
    let choice =
        json!([{ "from_name": "kind", "to_name": "t", "type": "choices", "value": { "choices": ["a"] } }]);
    assert_eq!(found["results"][0]["result"], choice);
    assert_eq!(found["results"][1]["result"], json!([]), "what is unknown is left to the person");
    assert_eq!(client.get("/v1/samples/1").ok()["id"], "label studio task 4");
    let webhook = |name: &str| {
        let annotation = json!({ "result": [{ "type": "choices", "value": { "choices": [name] } }] });
        json!({ "action": "ANNOTATION_CREATED", "task": tasks[1], "annotation": annotation })
    };
    let slip = client.post("/labelstudio/webhook", &webhook("A")).problem(409);
    assert_eq!(slip["known"], json!(["a"]));
    assert_eq!(client.get("/v1/samples/1").ok()["state"], "waiting");
    assert!(client.post("/labelstudio/webhook?new_class=true", &webhook("A")).ok()["event"].is_i64());
    assert_eq!(client.get("/v1/samples/1").ok()["label"], "A");
    let created = webhook("new");
    assert!(client.post("/labelstudio/webhook", &created).ok()["event"].is_i64());
    let sample = client.get("/v1/samples/1").ok();
    assert_eq!((&sample["state"], &sample["label"]), (&json!("labelled"), &json!("new")));
    let other = json!({ "action": "PROJECT_UPDATED", "project": {} });
    assert_eq!(client.post("/labelstudio/webhook", &other).ok()["event"], Value::Null);
    client.post("/labelstudio/predict", &json!({ "tasks": [{ "id": 1, "data": {} }] })).problem(422);
}
