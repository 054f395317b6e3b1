//! `calibrate`, `set`, `update`, `forget` and `reduce`: another model from one that is there.

use crate::{Place, fixture, keep, trained};

#[test]
fn calibrating_sets_the_threshold_and_says_what_it_gives() {
    let place = Place::new();
    // Every other row of A to C trains; the rest calibrates, and so do the strangers D.
    let half = |odd: usize, text: &str| -> String {
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default().to_owned();
        let rows = lines.enumerate().filter(|(row, _)| row % 2 == odd).map(|(_, line)| line.to_owned());
        std::iter::once(header).chain(rows).collect::<Vec<_>>().join("\n") + "\n"
    };
    place.write("train.csv", half(0, &keep(&["A", "B", "C"])));
    place.write("fresh.csv", half(1, &keep(&["A", "B", "C", "D"])));
    place.write("strangers.csv", keep(&["D"]));
    place.ok(&["train", "train.csv", "--label", "class", "-o", "m.safetensors", "--preset", "paper"]);
    let share = ["--max-false-unknown", "0.1"];
    let predict = ["predict", "m.safetensors", "fresh.csv", "--label", "class"];
    let error = place.fails(2, &[&predict[..], &share].concat());
    assert!(
        error.contains("the model has no calibration") && error.contains("evmachine calibrate"),
        "{error}"
    );
    let calibrate = ["calibrate", "m.safetensors", "fresh.csv", "--label", "class", "-o", "c.safetensors"];
    let strangers = ["--unknown-data", "strangers.csv", "--plot", "reliability.svg"];
    let said = place.ok(&[&calibrate[..], &share, &strangers].concat());
    insta::assert_snapshot!("calibrate", said);
    assert!(place.read("reliability.svg").contains("P(known)"));
    let json: serde_json::Value =
        serde_json::from_str(&place.ok(&["inspect", "c.safetensors", "--json"])).unwrap();
    assert_eq!(json["params"]["rejection_threshold"]["false_unknown"], 0.1);
    assert_eq!(json["calibration_rows"], 58);
    let predictions =
        place.ok(&["predict", "c.safetensors", "fresh.csv", "--label", "class", "--prior", "0.9"]);
    assert!(
        predictions.starts_with("row,class,known,support,p_value,psi,best,p_known,p_class\n"),
        "{predictions}"
    );
    let said = place.fails(2, &[&predict[..], &["--prior", "1"]].concat());
    assert!(
        said.contains(
            "'--prior <SHARE>': the share of known queries to be expected is 1; it must be above 0"
        ),
        "{said}"
    );
}

#[test]
fn settings_are_kept_without_training() {
    let place = Place::new();
    let letters = fixture("letters.csv");
    place.ok(&["train", &letters, "--label", "class", "--cover-threshold", "1", "-o", "m"]);
    let inspect = |name: &str| -> serde_json::Value {
        serde_json::from_str(&place.ok(&["inspect", name, "--json"])).unwrap()
    };
    place.ok(&["set", "m", "--delta", "0.25", "-o", "d"]);
    assert_eq!(inspect("d")["params"]["rejection_threshold"], 0.25);
    let predict = ["--label", "class"];
    assert_eq!(
        place.ok(&[&["predict", "d", &letters], &predict[..]].concat()),
        place.ok(&[&["predict", "m", &letters, "--delta", "0.25"], &predict[..]].concat()),
        "as the flag of a single run"
    );
    place.ok(&["set", "m", "--max-false-unknown", "0.2", "--per-class", "-o", "s"]);
    assert_eq!(inspect("s")["params"]["rejection_threshold"]["false_unknown_per_class"], 0.2);
    place.ok(&["set", "m", "-k", "3", "-o", "k"]);
    assert_eq!(inspect("k")["params"]["n_fused"], 3);
    assert_ne!(inspect("k")["threshold"], inspect("m")["threshold"], "set anew");
    place.ok(&["set", "m", "--feature-names", "", "-o", "n"]);
    place.ok(&["set", "m", "-k", "2", "-o", "m"]);
    assert_eq!(inspect("m")["params"]["n_fused"], 2);
    assert!(place.fails(2, &["set", "m", "-o", "x"]).contains("nothing to set"));
    assert!(place.fails(2, &["set", "m", "-k", "0", "-o", "x"]).contains("--n-fused"));
    let said = place.fails(2, &["set", "m", "--feature-names", "a,b", "-o", "x"]);
    assert!(said.contains("--feature-names: 2 feature names for 16 columns"), "{said}");
}

#[test]
fn an_update_learns_a_class_and_forget_removes_it() {
    let place = Place::new();
    place.write("three.csv", keep(&["A", "B", "C"]));
    place.write("new.csv", keep(&["D"]));
    place.ok(&["train", "three.csv", "--label", "class", "-o", "m.safetensors"]);
    let output =
        place.run(&["update", "m.safetensors", "new.csv", "--label", "class", "-o", "m.safetensors"]);
    insta::assert_snapshot!("update", String::from_utf8(output.stderr).unwrap());
    let rows = place.ok(&["predict", "m.safetensors", "new.csv", "--drop", "class"]);
    // Eight of the 42 were held out, and so not learned.
    let named = rows.lines().skip(1).filter(|row| row.contains(",D,true,")).count();
    assert!(named >= 39, "{named}: {rows}");
    place.ok(&["forget", "m.safetensors", "D", "-o", "m.safetensors"]);
    let rows = place.ok(&["predict", "m.safetensors", "new.csv", "--drop", "class"]);
    assert!(!rows.contains(",D,"));
}

/// Rows far out along a direction in which training rows hardly differ are fine in the file, and too large once whitened.
#[test]
fn rows_that_cannot_be_whitened_are_left_out_like_other_bad_rows() {
    let place = Place::new();
    let row = |i: usize| format!("{},{}.{},{}e-9\n", ["x", "y"][i % 2], 3 * (i % 2), i, (i * 7) % 5);
    let good: String = (0..20).map(row).collect();
    place.write("data.csv", format!("class,a,b\n{good}"));
    place.write("test.csv", format!("class,a,b\n{good}x,1,1e14\n"));
    let train = ["train", "data.csv", "--label", "class", "--whitening", "1", "-o", "model", "--quiet"];
    place.ok(&train);
    let commands: [&[&str]; 3] = [
        &["evaluate", "model", "test.csv"],
        &["update", "model", "test.csv", "-o", "m"],
        &["calibrate", "model", "test.csv", "-o", "m"],
    ];
    for command in commands {
        let command = [command, &["--label", "class"]].concat();
        let said = place.fails(3, &command);
        assert!(said.contains("test.csv: row 21 has a value above"), "{said}");
        let output = place.run(&[&command[..], &["--skip-bad-rows"]].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        assert!(
            said.contains("warning: 1 bad row was left out\n  test.csv: row 21 has a value above"),
            "{said}"
        );
    }
}

#[test]
fn reducing_meets_every_kind_of_budget() {
    let place = Place::new();
    let csv = fixture("letters.csv");
    place.ok(&["train", &csv, "--label", "class", "--cover-threshold", "1", "-o", "all.safetensors"]);
    let count = |flags: &[&str]| {
        place.ok(&[&["reduce", "all.safetensors", "-o", "small.safetensors"], flags].concat());
        let json: serde_json::Value =
            serde_json::from_str(&place.ok(&["inspect", "small.safetensors", "--json"])).unwrap();
        json["extreme_vectors"].as_u64().unwrap()
    };
    assert_eq!(count(&["--max-per-class", "5"]), 20);
    assert_eq!(count(&["--max-total", "30"]), 30);
    assert_eq!(count(&["--vector-ratio", "0.25"]), 40);
    assert_eq!(count(&["--vector-ratio", "0.25", "--reduction", "weighted-max-k"]), 40);
    assert!(count(&["--cover-threshold", "0.9"]) < 160);
}

#[test]
fn a_budget_below_one_for_each_class_is_said() {
    let place = Place::new();
    trained(&place);
    let said = |arguments: &[&str]| {
        let output = place.run(arguments);
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let fewer = "3 extreme vectors are fewer than the 4 classes, each of which keeps one at least; 4 are in the model";
    assert!(said(&["reduce", "model.safetensors", "--max-total", "3", "-o", "m"]).contains(fewer));
    let letters = fixture("letters.csv");
    assert!(said(&["train", &letters, "--label", "class", "--max-total", "3", "-o", "m"]).contains(fewer));
    assert!(!said(&["reduce", "model.safetensors", "--max-total", "4", "-o", "m"]).contains("fewer"));
    let none = place.fails(2, &["reduce", "model.safetensors", "--max-per-class", "0", "-o", "m"]);
    assert!(none.contains("--max-per-class 0: must be at least 1"), "{none}");
}
