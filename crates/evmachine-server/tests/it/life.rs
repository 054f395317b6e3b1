use serde_json::{Value, json};

use crate::{Client, start, start_with, strangers};

fn groups(client: &Client) -> Vec<Value> {
    client.post("/v1/groups/hand-out", &json!({})).ok()["groups"].as_array().unwrap().clone()
}

fn numbers(groups: &[Value]) -> Vec<i64> {
    groups.iter().map(|group| group["number"].as_i64().unwrap()).collect()
}

#[test]
fn unknowns_come_in_are_named_and_learned() {
    let running = start();
    let client = &running.client;
    let decided = client.predict(&[[0.5, 0.5], [5.5, 0.5], [30.5, 30.5]]);
    let decisions = decided["decisions"].as_array().unwrap();
    assert_eq!(decisions[0]["class"], "a");
    assert_eq!((&decisions[1]["class"], &decisions[1]["known"]), (&json!("b"), &json!(true)));
    assert_eq!((&decisions[2]["class"], &decisions[2]["known"]), (&Value::Null, &json!(false)));
    assert_eq!(decisions[0]["sample"], Value::Null, "what is known is not kept");
    assert_eq!(decisions[2]["sample"], 1);
    client.predict(&strangers());
    let status = client.get("/v1/status").ok();
    assert_eq!((&status["waiting"], &status["waiting_unknown"]), (&json!(25), &json!(25)));
    assert_eq!(status["unknown_rate"]["recent_rows"], 27);
    assert_eq!(status["role"], "admin");

    let queue = groups(client);
    let sizes: Vec<i64> = queue.iter().map(|group| group["size"].as_i64().unwrap()).collect();
    assert!(sizes.is_sorted_by(|a, b| a >= b), "{sizes:?}");
    assert_eq!(sizes.iter().sum::<i64>(), 25);
    assert_eq!(json!(queue[0]["members"].as_array().unwrap().len()), queue[0]["size"]);
    assert_eq!(queue[0]["neighbors"].as_array().unwrap().len(), 2);
    client.predict(&[[0.5, 30.5]]);
    assert_eq!(
        numbers(&groups(client))[..queue.len()],
        numbers(&queue),
        "the queue does not move under the hand"
    );

    let (first, second) = (&queue[0], &queue[1]);
    let problem =
        client.post("/v1/labels", &json!({ "samples": first["samples"], "label": "A" })).problem(409);
    assert_eq!(problem["known"], json!(["a"]));
    assert_eq!(
        problem["detail"],
        "\"A\" is no class yet; is a meant? name that class, or send \"new_class\": true if it is to be one"
    );
    let named =
        json!({ "samples": first["samples"], "group": first["number"], "label": "top", "person": "anna" });
    let noted = client.post("/v1/labels", &named).ok();
    assert_eq!(noted["samples"], first["size"]);
    client.post("/v1/ignore", &json!({ "samples": second["samples"] })).ok();
    let events = client.get("/v1/events?count=2").ok()["events"].clone();
    assert_eq!((&events[0]["kind"], &events[1]["person"]), (&json!("ignored"), &json!("anna")));

    assert_eq!(client.post("/v1/update", &json!({})).status, 202);
    let status = client.learned();
    let last = &status["last_learning"];
    assert_eq!(last["error"], Value::Null, "{last}");
    assert_eq!(last["version"], status["live"]);
    assert_eq!(status["classes"].as_array().unwrap().len(), 3);
    let decided = client.predict(&[[0.5, 30.5]]);
    assert_eq!(decided["decisions"][0]["class"], "top");
    assert_eq!(decided["model"], status["live"]);
    client.post("/v1/update", &json!({})).problem(409);

    let back = client.post("/v1/versions/rollback", &json!({})).ok();
    assert_ne!(back["version"], status["live"]);
    assert_eq!(client.predict(&[[0.5, 30.5]])["decisions"][0]["known"], false);
    client.post("/v1/undo", &json!({ "event": back["event"] })).ok();
    assert_eq!(client.predict(&[[0.5, 30.5]])["decisions"][0]["class"], "top", "undone at once");
    let versions = client.get("/v1/versions").ok()["versions"].clone();
    assert_eq!((&versions[0]["classes"], &versions[1]["classes"]), (&json!(2), &json!(3)));
    assert_eq!((&versions[0]["previous"], &versions[1]["live"]), (&json!(true), &json!(true)));
    let compared =
        client.post("/v1/versions/compare", &json!({ "old": versions[0]["hash"], "new": "live" })).ok();
    assert!(!compared["differ"].as_array().unwrap().is_empty());
    assert!(compared["known_new"].as_u64() > compared["known_old"].as_u64(), "{compared}");
    running.stop();
}

#[test]
fn groups_are_parted_put_together_and_put_off() {
    let running = start();
    let client = &running.client;
    client.predict(&strangers());
    let queue = groups(client);
    let first = queue[0]["number"].as_i64().unwrap();
    let distances: Vec<f64> = queue[0]["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member["distance"].as_f64().unwrap())
        .collect();
    let radius = distances[distances.len() / 2];
    let parts = client.post(&format!("/v1/groups/{first}/split"), &json!({ "radius": radius })).ok();
    let parts: Vec<i64> =
        parts["groups"].as_array().unwrap().iter().map(|part| part.as_i64().unwrap()).collect();
    assert_eq!(parts[0], first);
    assert!(parts.len() > 1);
    let size = |number: i64| client.get(&format!("/v1/groups/{number}")).ok()["size"].as_u64().unwrap();
    assert_eq!(size(first) as usize, distances.iter().filter(|distance| **distance <= radius).count());
    assert_eq!(parts.iter().map(|part| size(*part)).sum::<u64>() as usize, distances.len());
    client.post(&format!("/v1/groups/{first}/split"), &json!({ "radius": 1e9 })).problem(422);

    let merged = client.post("/v1/groups/merge", &json!({ "groups": parts })).ok();
    assert_eq!(merged["group"], first);
    assert_eq!(size(first) as usize, distances.len());
    client.get(&format!("/v1/groups/{}", parts[1])).problem(404);
    client.post("/v1/groups/merge", &json!({ "groups": [first] })).problem(422);

    client.post(&format!("/v1/groups/{first}/skip"), &json!({})).ok();
    let after = numbers(&groups(client));
    assert_eq!(after.last(), Some(&first), "{after:?}");
    client.post("/v1/groups/999/skip", &json!({})).problem(404);
    running.stop();
}

#[test]
fn strays_are_ticked_out_and_answers_undone() {
    let running = start();
    let client = &running.client;
    client.predict(&strangers());
    let queue = groups(client);
    let (group, stray) = (&queue[0]["number"], &queue[0]["members"][1]["sample"]);
    let meant: Vec<&Value> =
        queue[0]["samples"].as_array().unwrap().iter().filter(|sample| *sample != stray).collect();
    let answer = json!({ "group": group, "samples": meant });
    let noted = client.post("/v1/discard", &answer).ok();
    assert_eq!(noted["samples"].as_i64().unwrap() + 1, queue[0]["size"].as_i64().unwrap());
    let sample = client.get(&format!("/v1/samples/{stray}")).ok();
    assert_eq!(sample["state"], "waiting");
    assert_ne!(sample["group"], *group);
    assert_eq!(client.get("/v1/status").ok()["discarded"], noted["samples"]);
    let undone = client.post("/v1/undo", &json!({ "event": noted["event"] })).ok();
    assert_eq!(undone["undone"], noted["event"]);
    assert_eq!(client.get("/v1/status").ok()["discarded"], 0);
    let again = client.get(&format!("/v1/groups/{group}")).ok();
    assert_eq!(again["samples"], queue[0]["samples"], "the stray is back where it was");
    client.post("/v1/undo", &json!({ "event": noted["event"] })).problem(409);
    client.post("/v1/undo", &json!({ "event": 999 })).problem(404);
    let discarded = client.post("/v1/discard", &json!({ "samples": [1, 2] })).ok();
    assert_eq!(discarded["samples"], 2);
    let listed = client.get("/v1/samples?state=discarded").ok();
    let found: Vec<i64> = listed["samples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sample| sample["number"].as_i64().unwrap())
        .collect();
    assert_eq!(found, [1, 2]);
    client.post("/v1/reopen", &json!({ "samples": [1] })).ok();
    assert_eq!(client.get("/v1/samples/1").ok()["state"], "waiting");
    client.post("/v1/labels", &json!({ "label": "a", "group": 1 })).problem(422);
    client.post("/v1/labels", &json!({ "label": "a", "samples": [] })).problem(422);
    client.post("/v1/labels", &json!({ "label": "", "new_class": true, "samples": [1] })).problem(422);
    let near = client.post("/v1/labels", &json!({ "label": "aa", "samples": [1] })).problem(409);
    assert_eq!(near["known"], json!(["a"]));
    client.post("/v1/labels", &json!({ "label": "aa", "new_class": true, "samples": [1] })).ok();
    running.stop();
}

#[test]
fn a_decision_that_was_wrong_is_traced_and_its_row_set_aside() {
    let running = start();
    let client = &running.client;
    let decided = client.predict(&[[0.5, 0.5]]);
    let decision = &decided["decisions"][0]["decision"];
    let reasons = client.post("/v1/explain", &json!({ "decision": decision })).ok();
    assert_eq!((&reasons["class"], &reasons["because"]["class"]), (&json!("a"), &json!("a")));
    assert_eq!(reasons["classes"].as_array().unwrap().len(), 2);
    assert!(reasons["support"].as_f64() >= Some(0.0), "{reasons}");
    assert!(reasons["without"]["support"].as_f64() <= reasons["support"].as_f64(), "{reasons}");
    assert_eq!(reasons["classes"][0]["support"], reasons["support"]);
    assert!(reasons["classes"][1]["support"].as_f64() < reasons["support"].as_f64(), "{reasons}");
    assert_eq!(client.post("/v1/explain", &json!({ "features": [0.5, 0.5] })).ok(), reasons);
    client.post("/v1/explain", &json!({ "decision": 1 })).problem(404);
    client.post("/v1/explain", &json!({})).problem(422);

    let set = client.post("/v1/rows/aside", &json!({ "decision": decision })).ok();
    assert_eq!(set["source"], reasons["because"]["row"]["source"]);
    // The version that decided says why; the live one has another reason.
    assert_eq!(client.post("/v1/explain", &json!({ "decision": decision })).ok(), reasons);
    let again = client.post("/v1/explain", &json!({ "features": [0.5, 0.5] })).ok();
    assert_ne!(again["because"]["row"], reasons["because"]["row"]);
    assert_eq!(again["model"], set["version"]);
    let event = client.get("/v1/events?count=1").ok()["events"][0].clone();
    assert_eq!(event["kind"], "edited");
    assert!(event["label"].as_str().unwrap().ends_with("of a set aside"), "{event}");
    client.post("/v1/rows/aside", &json!({ "source": set["source"] })).problem(404);
    client.post("/v1/rows/restore", &json!({ "source": set["source"] })).ok();
    let restored = client.post("/v1/explain", &json!({ "features": [0.5, 0.5] })).ok();
    assert_eq!(restored["because"]["row"], reasons["because"]["row"]);
    let undone = client.post("/v1/undo", &json!({})).ok();
    assert_eq!(client.get("/v1/status").ok()["live"], set["version"], "{undone}");
    running.stop();
}

/// What was decided wrongly is named right, although nobody had kept it, and is never its own reason.
#[test]
fn a_decision_that_was_wrong_is_named_right() {
    let running = start();
    let client = &running.client;
    let rows = [[0.5, 0.5], [0.52, 0.5], [0.5, 0.52], [0.52, 0.52]];
    let ask = |keep: &str| {
        let body = json!({ "features": rows, "ids": ["p", "q", "r", "s"], "keep": keep });
        client.post("/v1/predict", &body).ok()["decisions"].clone()
    };
    let decided = ask("unknown");
    let mut samples = Vec::new();
    for decision in decided.as_array().unwrap() {
        assert!(decision["class"] == "a" && decision["sample"].is_null(), "{decision}");
        let keep = format!("/v1/decisions/{}/keep", decision["decision"]);
        let sample = client.post(&keep, &json!({})).ok()["sample"].clone();
        assert_eq!(client.post(&keep, &json!({})).ok()["sample"], sample, "once");
        samples.push(sample);
    }
    assert_eq!(client.get("/v1/status").ok()["waiting"], 4);
    client.post("/v1/labels", &json!({ "samples": samples, "label": "inner", "new_class": true })).ok();
    assert_eq!(client.post("/v1/update", &json!({})).status, 202);
    client.learned();
    let again = ask("all");
    for (decision, sample) in again.as_array().unwrap().iter().zip(&samples) {
        assert_eq!((&decision["class"], &decision["sample"]), (&json!("inner"), sample));
        let why = client.post("/v1/explain", &json!({ "decision": decision["decision"] })).ok();
        assert_eq!(why["because"]["row"]["source"], why["carrier"]["source"]);
        assert_eq!(&why["sample"], sample);
        let carrier = &why["carrier"]["sample"];
        assert!(
            carrier != sample && (carrier.is_null() || samples.contains(carrier)),
            "never its own reason: {why}"
        );
    }
    client.post("/v1/decisions/1/keep", &json!({})).problem(404);
    running.stop();
}

#[test]
fn a_row_that_is_not_of_its_class_is_never_answered_so_until_that_is_undone() {
    let running = start();
    let client = &running.client;
    let before = client.get("/v1/status").ok()["live"].clone();
    let decision = client.predict(&[[0.5, 0.5]])["decisions"][0]["decision"].clone();
    let said = client.post("/v1/rows/not", &json!({ "decision": decision })).ok();
    assert_eq!(said["class"], "a");
    let again = client.predict(&[[0.5, 0.5]])["decisions"][0].clone();
    assert_ne!(again["class"], "a", "{again}");
    let reasons = client.post("/v1/explain", &json!({ "decision": again["decision"] })).ok();
    let denied = &reasons["denied"][0];
    assert_eq!((&denied["class"], &denied["decides"]), (&json!("a"), &json!(true)), "{reasons}");
    assert_eq!((&denied["row"]["source"], &denied["distance"]), (&said["source"], &json!(0.0)));
    let event = client.get("/v1/events?count=1").ok()["events"][0].clone();
    assert_eq!((&event["kind"], &event["label"]), (&json!("edited"), &json!("not a")));

    let other = client.post("/v1/rows/not", &json!({ "features": [0.5, 0.5], "class": "b" })).ok();
    assert_eq!(client.predict(&[[0.5, 0.5]])["decisions"][0]["known"], false, "{other}");
    client.post("/v1/rows/not", &json!({ "features": [0.5, 0.5], "class": "nobody" })).problem(404);
    client.post("/v1/rows/not", &json!({ "features": [50.0, 50.0] })).problem(422);
    client.post("/v1/rows/not", &json!({ "class": "a" })).problem(422);
    client.post("/v1/undo", &json!({})).ok();
    client.post("/v1/undo", &json!({})).ok();
    assert_eq!(client.get("/v1/status").ok()["live"], before);
    assert_eq!(client.predict(&[[0.5, 0.5]])["decisions"][0]["class"], "a");
    running.stop();
}

#[test]
fn decisions_carry_the_number_to_act_on() {
    let model = crate::model_by(evmachine::Rejection::FalseUnknown(0.05));
    let running = crate::start_of(&model, |_| {});
    let client = &running.client;
    let rows = [[0.55, 0.45], [30.5, 30.5], [2.0, 2.0]];
    let decided = client.predict(&rows)["decisions"].clone();
    let features = evmachine::Features::new(rows.concat(), 2).unwrap();
    let expected = model.decide(&features).unwrap();
    let past = client.get("/v1/decisions").ok()["decisions"].clone();
    for (row, decision) in expected.iter().enumerate() {
        let found = &decided[row];
        let support = found["support"].as_f64().unwrap();
        assert_eq!(support, decision.support().clamp(f64::MIN, f64::MAX), "{found}");
        assert_eq!(support >= 0.0, found["known"] == true, "{found}");
        assert_eq!(found["p_value"].as_f64(), decision.p_value());
        assert_eq!(found["psi"].as_f64(), Some(decision.psi()));
        let past = &past[expected.len() - 1 - row];
        for name in ["decision", "support", "p_value", "psi"] {
            assert_eq!(past[name], found[name], "{name}");
        }
    }
    let status = client.get("/v1/status").ok();
    let promise = model.promise();
    assert_eq!(status["promise"], promise.to_string());
    assert_eq!(status["promised"], serde_json::to_value(&promise).unwrap());
    let p_values: Vec<f64> = expected.iter().filter_map(evmachine::Decision::p_value).collect();
    let share = model.share_unknown(&p_values).unwrap().unwrap();
    let close = |found: &serde_json::Value, value: f64| (found.as_f64().unwrap() - value).abs() < 1e-12;
    assert!(close(&status["unknown_rate"]["estimated"], share.share), "{status}");
    assert!(close(&status["unknown_rate"]["estimated_error"], share.error), "{status}");
    let metrics = client.get("/metrics").text().to_owned();
    let unknown = expected.iter().filter(|decision| decision.class().is_none()).count();
    for line in [
        format!("evmachine_support_bucket{{le=\"0\"}} {unknown}"),
        "evmachine_support_count 3".to_owned(),
        format!("evmachine_unknown_share_estimated {}", share.share),
        format!("evmachine_unknown_share_error {}", share.error),
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}\n{metrics}");
    }
    let sample = client.get("/v1/samples?state=waiting").ok()["samples"][0].clone();
    assert!(sample["support"].as_f64() < Some(0.0) && sample["psi"].is_number(), "{sample}");
    let near = &groups(client)[0]["neighbors"][0];
    assert!(near["support"].as_f64() < Some(0.0) && near["psi"].is_number(), "{near}");
}

#[test]
fn what_shows_whether_it_works() {
    let running = start();
    let client = &running.client;
    client.predict(&strangers());
    let health = client.get("/v1/health-of-model").ok();
    assert!(health["closest_stranger"]["sample"].is_i64(), "{health}");
    assert!(health["closest_stranger"]["support"].as_f64() < Some(0.0), "{health}");
    assert!(health["closest_pair"]["distance"].as_f64().unwrap() > 3.0, "{health}");
    assert_eq!(health["unknown_rate"][0]["unknown"], 24);
    let map = client.get("/v1/map");
    let word = |at: usize| u32::from_le_bytes(map.body[4 * at..4 * at + 4].try_into().unwrap());
    assert_eq!([word(0), word(1), word(2), word(3)], [0x4d56_5645, 40, 24, 2]);
    assert_eq!(map.body.len(), 16 + 64 * 16);
    assert_eq!(word(4 + 2), 0, "the first extreme vector is of the first class");
    assert_eq!(word(4 + 40 * 4 + 2), u32::MAX);
    assert_eq!(client.get("/v1/map/classes").ok()["classes"], json!(["a", "b"]));
    assert_eq!(client.get("/v1/map?limit=10").body.len(), 16 + 10 * 16);
    let metrics = client.get("/metrics");
    for line in [
        "evmachine_decisions_total{outcome=\"unknown\"} 24",
        "evmachine_pool_waiting 24",
        "evmachine_unknown_rate_recent 1",
        "evmachine_request_seconds_count{method=\"POST\",route=\"/v1/predict\",status=\"200\"} 1",
    ] {
        assert!(metrics.text().lines().any(|found| found == line), "{line}\n{}", metrics.text());
    }
}

#[test]
fn copies_are_made_where_the_server_says() {
    let backups = tempfile::tempdir().unwrap();
    let running = start_with(|settings| settings.backups = Some(backups.path().to_owned()));
    let client = &running.client;
    client.predict(&strangers());
    client.post("/v1/labels", &json!({ "samples": [1], "label": "t,op", "new_class": true })).ok();
    let formula = json!({ "features": [[60.5, 60.5]], "ids": ["=cmd|' /C calc'!A0"] });
    let sample = client.post("/v1/predict", &formula).ok()["decisions"][0]["sample"].clone();
    client.post("/v1/labels", &json!({ "samples": [sample], "label": "@SUM(A1)", "new_class": true })).ok();
    assert_eq!(client.post("/v1/backup", &json!({ "name": "first" })).ok()["name"], "first");
    client.post("/v1/backup", &json!({ "name": "first" })).problem(409);
    for name in ["../x", "", "a/b", "a b", &"x".repeat(65)] {
        client.post("/v1/backup", &json!({ "name": name })).problem(422);
    }
    let copy = evmachine_openworld::Pool::open(&backups.path().join("first")).unwrap();
    assert_eq!(copy.status().unwrap().waiting, 23);
    let model = client.get("/v1/export");
    assert!(evmachine::Evm::from_bytes(&model.body).unwrap() == crate::model());
    assert!(model.header("content-disposition").unwrap().starts_with("attachment"));
    let table = client.get("/v1/export?what=labelled");
    let lines: Vec<&str> = table.text().lines().collect();
    assert_eq!(lines[0], "sample,id,label,f0,f1");
    assert!(lines[1].starts_with("1,,\"t,op\","), "{lines:?}");
    assert!(lines[2].starts_with("25,'=cmd|' /C calc'!A0,'@SUM(A1),"), "{lines:?}");
    assert_eq!(lines.len(), 3);
    let without = start();
    without.client.post("/v1/backup", &json!({ "name": "x" })).problem(409);
}

#[test]
fn the_rate_of_unknowns_survives_a_restart() {
    let mut running = start();
    running.client.predict(&strangers());
    running.client.predict(&[[0.5, 0.5]]);
    running.server.take().unwrap().stop();
    let mut settings = evmachine_server::Settings::new(running.folder());
    settings.listen.set_port(0);
    let server = evmachine_server::Server::start(&settings).unwrap();
    let client = crate::Client::new(server.address());
    running.server = Some(server);
    let sum = |client: &crate::Client, what: &str| -> u64 {
        let health = client.get("/v1/health-of-model").ok();
        health["unknown_rate"].as_array().unwrap().iter().map(|minute| minute[what].as_u64().unwrap()).sum()
    };
    assert_eq!((sum(&client, "rows"), sum(&client, "unknown")), (25, 24));
    client.predict(&[[0.5, 0.5]]);
    assert_eq!((sum(&client, "rows"), sum(&client, "unknown")), (26, 24));
    running.stop();
}
