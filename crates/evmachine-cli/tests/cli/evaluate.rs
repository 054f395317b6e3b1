//! `predict` and `evaluate`: decisions on rows, and how many of them are right.

use std::fmt::Write as _;

use crate::{Place, fixture, keep, trained};

/// Without a calibration and without `--proba` only the best class is looked for. That shows in nothing but the time.
#[test]
fn predictions_are_the_same_whether_all_classes_are_measured_or_the_best_alone() {
    let place = Place::new();
    let letters = fixture("letters.csv");
    for flags in
        [&["--delta", "0.05"][..], &["--delta", "0.05", "-k", "3"], &["--delta", "0.3", "--contrast", "0.2"]]
    {
        let train = ["train", &letters, "--label", "class", "-o", "m.safetensors", "--preset", "paper"];
        place.ok(&[&train[..], flags].concat());
        let predict = ["predict", "m.safetensors", &letters, "--drop", "class"];
        let best = place.ok(&predict);
        let all = place.ok(&[&predict[..], &["--proba"]].concat());
        assert!(best.starts_with("row,class,known,support,psi,best\n"), "{best}");
        let first_six = |line: &str| line.split(',').take(6).collect::<Vec<_>>().join(",") + "\n";
        assert_eq!(best, all.lines().map(first_six).collect::<String>());
    }
}

/// Far from everything the widest curve has the highest support, wherever its class lies.
#[test]
fn what_is_called_best_is_the_class_of_highest_support() {
    let place = Place::new();
    let mut text = "x,class\n".to_owned();
    for (centre, name, width) in [(0.0, "zero", 0.1), (3.0, "three", 0.1), (6.0, "six", 0.1)] {
        for row in 0..20 {
            let _ = writeln!(text, "{},{name}", centre + width * f64::from(row));
        }
    }
    place.write("blobs.csv", text);
    place.write("far.csv", "x\n50\n");
    place.ok(&["train", "blobs.csv", "--label", "class", "-o", "m"]);
    place.ok(&["predict", "m", "far.csv", "--proba", "-o", "far.jsonl"]);
    let row: serde_json::Value = serde_json::from_str(&place.read("far.jsonl")).unwrap();
    assert_eq!(row["class"], "unknown");
    assert!(row["nearest"].is_null() && row["best"].is_string(), "{row}");
}

#[test]
fn evaluating_gives_the_figures_of_the_literature() {
    let place = Place::new();
    place.write("three.csv", keep(&["A", "B", "C"]));
    place.ok(&["train", "three.csv", "--label", "class", "-o", "three.safetensors", "-k", "2"]);
    let file = fixture("letters.csv");
    let command = ["evaluate", "three.safetensors", &file, "--label", "class"];
    insta::assert_snapshot!("evaluate", place.ok(&[&command[..], &["--confusion"]].concat()));
    let json: serde_json::Value =
        serde_json::from_str(&place.ok(&[&command[..], &["--json"]].concat())).unwrap();
    assert_eq!(
        json["evaluation"]["known"].as_u64().unwrap() + json["evaluation"]["unknown"].as_u64().unwrap(),
        160
    );
    assert!(json["evaluation"]["oscr"].as_f64().unwrap() > 0.8);
    assert_eq!(json["classes"].as_array().unwrap().last().unwrap(), "unknown");
    let strict = place.ok(&[&command[..], &["--delta", "1"]].concat());
    let rejected = strict.lines().find(|line| line.contains("unknown rows rejected")).unwrap();
    assert!(rejected.ends_with("1.0000"), "{strict}");
}

#[test]
fn rivals_are_measured_beside_the_model() {
    let place = Place::new();
    place.write("three.csv", keep(&["A", "B", "C"]));
    place.ok(&["train", "three.csv", "--label", "class", "--preset", "robust", "-o", "three.safetensors"]);
    let file = fixture("letters.csv");
    let said =
        place.ok(&["evaluate", "three.safetensors", &file, "--label", "class", "--rivals", "three.csv"]);
    let linear = ["logistic regression, largest logit", "logistic regression, COSTARR"];
    let others =
        ["this model", "1-NN", "relative Mahalanobis", "extra trees", "boosted trees", "RBF SVM", "FPR95"];
    for name in linear.into_iter().chain(others) {
        assert!(said.contains(name), "{said}");
    }
}

#[test]
fn a_threshold_of_the_table_gives_what_the_table_says() {
    let place = Place::new();
    place.write("three.csv", keep(&["A", "B", "C"]));
    place.ok(&["train", "three.csv", "--label", "class", "--delta", "0.05", "-o", "m"]);
    let letters = fixture("letters.csv");
    let json = |name: &str| -> serde_json::Value {
        serde_json::from_str(&place.ok(&["evaluate", name, &letters, "--label", "class", "--json"])).unwrap()
    };
    let table = json("m")["thresholds"].as_array().unwrap().clone();
    let share = |line: &serde_json::Value, name: &str| line["rule"][name].as_f64();
    let shares = |name: &str| table.iter().filter_map(|line| share(line, name)).collect::<Vec<f64>>();
    let (mut unknown, mut known) = (shares("false_unknown"), shares("false_known"));
    unknown.sort_by(f64::total_cmp);
    known.sort_by(f64::total_cmp);
    assert_eq!(
        (&unknown[..], &known[..]),
        (&[0.01, 0.05, 0.1][..], &[0.001, 0.01, 0.05, 0.1][..]),
        "{table:?}"
    );
    for line in &table {
        place.ok(&["set", "m", "--support", &line["support"].to_string(), "-o", "set"]);
        let found = &json("set")["evaluation"];
        // The rule is kept, and by little more than it takes: letters have whole numbers, so that two may have the same support.
        for (name, rows) in [("false_unknown", "known"), ("false_known", "unknown")] {
            if let Some(share) = share(line, name) {
                let (found, row) = (line[name].as_f64().unwrap(), 1.0 / found[rows].as_f64().unwrap());
                assert!(found <= share && found + 2.0 * row > share, "{line}");
            }
        }
        for rate in ["known_accuracy", "false_unknown"] {
            assert_eq!(found[rate], line[rate], "{line} {found}");
        }
        let false_known = 1.0 - found["unknown_accuracy"].as_f64().unwrap();
        assert!((false_known - line["false_known"].as_f64().unwrap()).abs() < 1e-12, "{line} {found}");
    }
    assert!(table.is_sorted_by_key(|line| line["false_unknown"].as_f64().unwrap()));
}

#[test]
fn rows_of_unknown_classes_alone_have_no_negative_figures() {
    let place = Place::new();
    trained(&place);
    place.write("strangers.csv", keep(&["A"]).replace("\nA,", "\nZ,"));
    let said = place.ok(&["evaluate", "model.safetensors", "strangers.csv", "--label", "class"]);
    assert!(!said.contains("-0.0") && said.contains("F1, macro"), "{said}");
}
