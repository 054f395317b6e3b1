//! Drift of a stream of rows, and answers for tracks.

use std::fmt::Write as _;

use serde_json::Value;

use crate::Place;

/// Rows of two classes around 0 and 8 in three columns, moved by `by`, with a track of five rows each.
fn rows(first: u64, count: u64, by: f64) -> String {
    let mut state = first;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut text = "class,track,x,y,z\n".to_owned();
    for row in 0..count {
        let class = row / 5 % 2;
        let mut value = || uniform() + uniform() + uniform() + 8.0 * class as f64 + by;
        let (x, y, z) = (value(), value(), value());
        let _ = writeln!(text, "{},t{},{x},{y},{z}", ["low", "high"][class as usize], row / 5);
    }
    text
}

fn place() -> Place {
    let place = Place::new();
    place.write("train.csv", rows(1, 3_000, 0.0));
    place.write("quiet.csv", rows(2, 1_000, 0.0));
    place.write("moved.csv", rows(3, 600, 1.0));
    place.write("calibrating.csv", rows(4, 400, 0.0));
    place.ok(&["train", "train.csv", "--label", "class", "--drop", "track", "-o", "model"]);
    place
}

const COLUMNS: [&str; 4] = ["--label", "class", "--drop", "track"];

#[test]
fn a_move_is_named_and_a_state_goes_on() {
    let place = place();
    let drift = |arguments: &[&str]| -> Value {
        let said = place.ok(&[&["drift", "model", "--json"], arguments, &COLUMNS[..]].concat());
        serde_json::from_str(&said).unwrap()
    };
    let report = drift(&["quiet.csv", "--state", "drift.json"]);
    assert_eq!(
        (&report["rows"], &report["alarm"], &report["rate"]),
        (&1_000.into(), &Value::Null, &0.01.into())
    );
    assert_eq!(report["basis"], "held_out");
    assert!(report["reference_rows"].as_u64() > Some(200), "{report}");
    let report = drift(&["moved.csv", "--state", "drift.json"]);
    assert_eq!(report["rows"], 1_600);
    assert!(report["alarm"]["row"].as_u64() > Some(1_000), "{report}");
    assert_eq!(report["cause"]["kind"], "moved", "{report}");
    let size = report["cause"]["shift"]["size"].as_f64().unwrap();
    assert!((size - 3f64.sqrt()).abs() < 0.2, "{size}");
    assert_eq!(report["cause"]["shift"]["columns"].as_array().unwrap().len(), 3);

    let shown = place.run(&[&["drift", "model", "moved.csv"], &COLUMNS[..]].concat());
    let said = String::from_utf8(shown.stderr).unwrap();
    assert!(said.contains("all vectors moved by") && said.contains("rows held out of training"), "{said}");
    let report = drift(&["moved.csv", "--reference", "moved.csv", "--rate", "0.1"]);
    assert_eq!(
        (&report["basis"], &report["rate"], &report["alarm"]),
        (&"given".into(), &0.1.into(), &Value::Null)
    );
}

#[test]
fn what_drift_cannot_use_is_named() {
    let place = place();
    let says = |arguments: &[&str], code: i32| {
        let output = place.run(&[&["drift", "model", "quiet.csv"], arguments, &COLUMNS[..]].concat());
        assert_eq!(output.status.code(), Some(code));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = says(&["--rate", "1"], 2);
    assert!(said.contains("--rate: the rate of false alarms is 1; it must be above 0 and below 1"), "{said}");
    place.write("state", "{}");
    assert!(says(&["--state", "state"], 2).contains("no state of a drift monitor"), "not a state");
    place.ok(&["train", "quiet.csv", "--label", "class", "--drop", "track", "-o", "other"]);
    place.ok(&[&["drift", "other", "quiet.csv", "--state", "of-other"], &COLUMNS[..]].concat());
    let said = says(&["--state", "of-other"], 2);
    assert!(said.contains("not one of this model"), "{said}");
    // A model of few rows has learned them all.
    let output = place.run(&[&["drift", "other", "moved.csv"], &COLUMNS[..]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("--reference FILE names rows to compare with"), "{said}");
}

#[test]
fn a_track_gets_one_answer() {
    let place = place();
    place.write(
        "tracks.csv",
        format!("{}high,stranger,40,-40,40\nlow,stranger,41,-40,40\n", rows(9, 40, 0.0)),
    );
    let predict = ["predict", "model", "tracks.csv", "--label", "class", "--track", "track", "-o"];
    for calibration in [&[][..], &["--track-calibration", "calibrating.csv"]] {
        let output = place.run(&[&predict[..], &["answers.jsonl"], calibration].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        let set = if calibration.is_empty() { "however their rows depend" } else { "set on 80 tracks" };
        assert!(said.contains(set) && said.contains("9 tracks of 42 rows, 1 of them unknown"), "{said}");
        let answers: Vec<Value> =
            place.read("answers.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(answers.len(), 9);
        assert_eq!(
            (&answers[0]["track"], &answers[0]["label"], &answers[0]["rows"]),
            (&"t0".into(), &"low".into(), &5.into())
        );
        assert_eq!((&answers[1]["label"], &answers[8]["label"]), (&"high".into(), &"unknown".into()));
        assert!(
            answers[0]["disagree"].is_array() && answers[8]["p_value"].as_f64() < Some(0.05),
            "{answers:?}"
        );
    }
    let said = place.ok(&["predict", "model", "tracks.csv", "--label", "class", "--track", "track"]);
    assert!(said.starts_with("track,label,support,p_value,best,rows,sure_at,disagree\n"), "{said}");
    place.write("few.csv", rows(4, 20, 0.0));
    let output = place.run(&[&predict[..], &["answers.jsonl", "--track-calibration", "few.csv"]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("takes 19 calibrating tracks of known classes, and 4 were given"), "{said}");
    assert_eq!(output.status.code(), Some(2));
}
