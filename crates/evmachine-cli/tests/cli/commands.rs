//! What the commands do and print.

use std::fmt::Write as _;

use crate::{Place, fixture, trained};

#[test]
fn training_says_what_it_did() {
    let place = Place::new();
    let output = place.run(&["train", &fixture("letters.csv"), "--label", "class", "-o", "m.safetensors"]);
    assert!(output.stdout.is_empty());
    insta::assert_snapshot!("train", String::from_utf8(output.stderr).unwrap());
    let quiet =
        place.run(&["-q", "train", &fixture("letters.csv"), "--label", "class", "-o", "m.safetensors"]);
    assert!(quiet.stderr.is_empty());
}

#[test]
fn inspecting_shows_what_is_inside() {
    let place = Place::new();
    trained(&place);
    insta::assert_snapshot!("inspect", place.ok(&["inspect", "model.safetensors"]));
    let json: serde_json::Value =
        serde_json::from_str(&place.ok(&["inspect", "model.safetensors", "--json"])).unwrap();
    assert_eq!(json["classes"].as_array().unwrap().len(), 4);
    assert_eq!(json["params"]["cover_threshold"], 0.5);
    place.ok(&["inspect", "model.safetensors", "--plot", "histograms.svg"]);
    assert!(place.read("histograms.svg").contains("shape (kappa)"));
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
    place.ok(&["train", "train.csv", "--label", "class", "-o", "m.safetensors", "--delta", "0.05"]);
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
    assert!(predictions.starts_with("row,label,support,p_value,psi,best,p_known,p_class\n"), "{predictions}");
    let said = place.fails(2, &[&predict[..], &["--prior", "1"]].concat());
    assert!(
        said.contains("--prior: the share of known queries to be expected is 1; it must be above 0"),
        "{said}"
    );
}

/// Without a calibration and without `--proba` only the best class is looked for. That shows in nothing but the time.
#[test]
fn predictions_are_the_same_whether_all_classes_are_measured_or_the_best_alone() {
    let place = Place::new();
    let letters = fixture("letters.csv");
    for flags in
        [&["--delta", "0.05"][..], &["--delta", "0.05", "-k", "3"], &["--delta", "0.3", "--contrast", "0.2"]]
    {
        let train = ["train", &letters, "--label", "class", "-o", "m.safetensors"];
        place.ok(&[&train[..], flags].concat());
        let predict = ["predict", "m.safetensors", &letters, "--drop", "class"];
        let best = place.ok(&predict);
        let all = place.ok(&[&predict[..], &["--proba"]].concat());
        assert!(best.starts_with("row,label,support,psi,best\n"), "{best}");
        let first_five = |line: &str| line.split(',').take(5).collect::<Vec<_>>().join(",") + "\n";
        assert_eq!(best, all.lines().map(first_five).collect::<String>());
    }
}

#[test]
fn a_model_that_forgets_its_tails_says_so() {
    let place = Place::new();
    // 160 rows with tails of 100 margins of 4 bytes fit into a megabyte, not into none.
    place.write("three.csv", keep(&["A", "B", "C"]));
    place.write("new.csv", keep(&["D"]));
    let train = |limit: &str| {
        let flags = ["--label", "class", "-o", "m.safetensors", "--tail-size", "50", "--tail-memory-limit"];
        let output = place.run(&[&["train", "three.csv"], &flags[..], &[limit]].concat());
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let update = || {
        let output =
            place.run(&["update", "m.safetensors", "new.csv", "--label", "class", "-o", "u.safetensors"]);
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(!train("1").contains("updates are no longer exact"));
    assert!(!update().contains("updates are no longer exact"));
    let said = train("0");
    assert!(
        said.contains("warning: whole tails take more than the 0 MB of --tail-memory-limit")
            && said.contains("updates are no longer exact"),
        "{said}"
    );
    assert!(!update().contains("updates are no longer exact"), "once is enough");
    let inspected: serde_json::Value =
        serde_json::from_str(&place.ok(&["inspect", "m.safetensors", "--json"])).unwrap();
    assert_eq!(inspected["tail_memory"], "max");
}

/// Rows to be pooled, drawn or calibrated on may have the column of the labels or not, by name and by number.
#[test]
fn unlabelled_rows_are_read_with_and_without_the_label_column() {
    let place = Place::new();
    let with = keep(&["D"]);
    let without: Vec<&str> = with.lines().map(|line| line.split_once(',').unwrap().1).collect();
    place.write("three.csv", keep(&["A", "B", "C"]));
    place.write("with.csv", &with);
    place.write("without.csv", without.join("\n"));
    let mut models = Vec::new();
    for label in ["class", "0"] {
        for unknown in ["with.csv", "without.csv"] {
            let train = ["train", "three.csv", "--label", label, "-o", "m.safetensors"];
            place.ok(&[&train[..], &["--unknown-data", unknown]].concat());
            models.push(std::fs::read(place.path("m.safetensors")).unwrap());
        }
    }
    assert!(models.iter().all(|model| *model == models[0]));
    let error =
        place.fails(3, &["plot", "three.csv", "--label", "class", "--queries", "none.csv", "-o", "p.png"]);
    assert!(error.contains("none.csv does not exist"), "{error}");
}

#[test]
fn rivals_are_measured_beside_the_model() {
    let place = Place::new();
    place.write("three.csv", keep(&["A", "B", "C"]));
    place.ok(&["train", "three.csv", "--label", "class", "--preset", "robust", "-o", "three.safetensors"]);
    let file = fixture("letters.csv");
    let said =
        place.ok(&["evaluate", "three.safetensors", &file, "--label", "class", "--rivals", "three.csv"]);
    for name in ["this model", "1-NN", "relative Mahalanobis", "logistic regression, largest logit", "FPR95"]
    {
        assert!(said.contains(name), "{said}");
    }
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
    assert!(rows.lines().skip(1).all(|row| row.contains(",D,")), "{rows}");
    place.ok(&["forget", "m.safetensors", "D", "-o", "m.safetensors"]);
    let rows = place.ok(&["predict", "m.safetensors", "new.csv", "--drop", "class"]);
    assert!(!rows.contains(",D,"));
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
fn an_export_is_an_onnx_file() {
    let place = Place::new();
    trained(&place);
    let output = place.run(&["export", "model.safetensors", "--onnx", "model.onnx"]);
    insta::assert_snapshot!("export", String::from_utf8(output.stderr).unwrap());
    let bytes = std::fs::read(place.path("model.onnx")).unwrap();
    let evm = evmachine::Evm::load(place.path("model.safetensors")).unwrap();
    assert_eq!(bytes, evmachine_onnx::to_onnx(&evm, "unknown").unwrap());
    place.ok(&["export", "model.safetensors", "--onnx", "strict.onnx", "--delta", "0.9"]);
    assert_ne!(bytes, std::fs::read(place.path("strict.onnx")).unwrap());
}

#[test]
fn tuning_writes_parameters_that_train_reads() {
    let place = Place::new();
    let csv = fixture("letters.csv");
    let command = [
        "tune",
        &csv,
        "--label",
        "class",
        "--trials",
        "12",
        "--folds",
        "2",
        "--max-rows",
        "100",
        "--seed",
        "4",
    ];
    let first = place.ok(&command);
    insta::assert_snapshot!("tune", first);
    place.ok(&["train", &csv, "--label", "class", "--params", "params.toml", "-o", "m.safetensors"]);
    let tuned = place.read("params.toml");
    assert!(tuned.contains("rejection_threshold") && tuned.contains("[tail_size]"), "{tuned}");
    let inspected = place.ok(&["inspect", "m.safetensors"]);
    for line in tuned
        .lines()
        .filter(|line| ["whitening", "smoothing", "pooling"].iter().any(|name| line.starts_with(name)))
    {
        assert!(inspected.contains(line), "{line}\n{inspected}");
    }
    place.write("gaps.csv", with_a_gap(&std::fs::read_to_string(&csv).unwrap()));
    let gaps = [
        "tune", "gaps.csv", "--label", "class", "--space", "paper", "--trials", "2", "--folds", "2", "-o",
        "g.toml",
    ];
    place.fails(3, &gaps);
    let output = place.run(&[&gaps[..], &["--fill", "median"]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("--label class --fill median --params g.toml"), "{said}");
    let grid = place.ok(&[
        "tune", &csv, "--label", "class", "--space", "paper", "--grid", "--folds", "2", "-o", "p.toml",
    ]);
    assert!(grid.starts_with("40 trials, best first"), "{grid}");
}

/// The table without the first value of its second row.
fn with_a_gap(table: &str) -> String {
    let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
    let mut cells: Vec<&str> = lines[2].split(',').collect();
    cells[1] = "";
    lines[2] = cells.join(",");
    lines.join("\n") + "\n"
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
fn what_looks_wrong_is_warned_of() {
    let place = Place::new();
    let warned = |text: &str| {
        place.write("odd.csv", text);
        let output = place.run(&["train", "odd.csv", "--label", "class", "-o", "odd.safetensors"]);
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(warned("a,class\n1,x\n1,x\n1,y\n1,y\n").contains("4 of 4 rows are equally far"));
    assert!(warned("a,class\n1,x\n2,y\n3,z\n4,v\n").contains("is --label the right column?"));
}

/// Who corrects some predictions and learns from all of them must not have the unknown learned as a class.
#[test]
fn the_unknown_is_no_class() {
    let place = Place::new();
    let letters = fixture("letters.csv");
    trained(&place);
    place.write("mixed.csv", keep(&["A", "B", "C"]).replace("\nC,", "\nunknown,"));
    let commands: [&[&str]; 3] = [
        &["train", "mixed.csv", "-o", "m"],
        &["update", "model.safetensors", "mixed.csv", "-o", "m"],
        &["tune", "mixed.csv", "-o", "p.toml"],
    ];
    for arguments in commands {
        let said = place.fails(3, &[arguments, &["--label", "class"]].concat());
        assert!(said.contains("mixed.csv: 33 rows are of a class \"unknown\""), "{said}");
        assert_eq!(said.contains("--unknown-data"), arguments[0] != "update", "which lacks the flag: {said}");
    }
    // Where it is one, unknown rows are called otherwise.
    let otherwise = ["--label", "class", "--unknown-label", "?"];
    place.ok(&[&["train", "mixed.csv", "-o", "m"], &otherwise[..]].concat());
    place.ok(&[&["update", "model.safetensors", "mixed.csv", "-o", "u"], &otherwise[..]].concat());
    assert!(place.fails(2, &["predict", "m", &letters, "--label", "class"]).contains("--unknown-label"));
    place.ok(&["predict", "m", &letters, "--label", "class", "--unknown-label", "?"]);
    // To evaluate by and to calibrate on, such rows are what they say.
    let json: serde_json::Value = serde_json::from_str(&place.ok(&[
        "evaluate",
        "model.safetensors",
        "mixed.csv",
        "--label",
        "class",
        "--json",
    ]))
    .unwrap();
    assert_eq!(json["evaluation"]["unknown"], 33);
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
    assert_eq!(row["label"], "unknown");
    assert!(row["nearest"].is_null() && row["best"].is_string(), "{row}");
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
    assert!(none.contains("--max-per-class, --max-total or --vector-ratio 0: must be at least 1"), "{none}");
}

#[test]
fn flags_that_a_picture_has_no_use_for_are_refused() {
    let place = Place::new();
    trained(&place);
    for flags in
        [&["--tail-size", "20"][..], &["--preset", "robust"], &["--label", "class"], &["--drop", "0"]]
    {
        let said = place.fails(2, &[&["plot", "model.safetensors", "-o", "p.svg"], flags].concat());
        assert!(said.contains("model.safetensors is a model"), "{flags:?}: {said}");
    }
    let letters = fixture("letters.csv");
    place.ok(&["plot", "model.safetensors", "--queries", &letters, "--label", "class", "-o", "p.svg"]);
}

/// By cosine a model knows directions: a query far out lies where its direction is.
#[test]
fn by_cosine_everything_is_drawn_at_unit_length() {
    let place = Place::new();
    let mut text = "x,y,class\n".to_owned();
    for row in 0..30 {
        let angle = f64::from(row % 15) * 0.01 + if row < 15 { 0.1 } else { 1.4 };
        let length = 1.0 + f64::from(row) * 10.0;
        let _ = writeln!(text, "{},{},{}", length * angle.cos(), length * angle.sin(), row / 15);
    }
    place.write("rays.csv", text);
    place.write("near.csv", "x,y\n-1,-1\n");
    place.write("far.csv", "x,y\n-900,-900\n");
    let flags = ["--metric", "cosine", "--label", "class", "--title", "rays"];
    let mut pictures = Vec::new();
    for queries in ["near.csv", "far.csv"] {
        let command = ["plot", "rays.csv", "--queries", queries, "-o", "p.svg"];
        place.ok(&[&command[..], &flags].concat());
        pictures.push(place.read("p.svg"));
    }
    assert_eq!(pictures[0], pictures[1]);
    assert!(pictures[0].contains("x, unit length"));
}

#[test]
fn letters_that_a_png_lacks_are_escaped_and_told() {
    let place = Place::new();
    place.write("names.csv", "x,y,class\n0,0,日本\n0,1,日本\n5,5,größe\n5,6,größe\n");
    let plot = |name: &str| {
        let output = place.run(&["plot", "names.csv", "--label", "class", "-o", name]);
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(plot("p.png").contains("lacks letters"));
    assert!(!plot("p.svg").contains("lacks letters"));
    assert!(place.read("p.svg").contains("日本"));
}

#[test]
fn flags_override_files_which_override_presets() {
    let place = Place::new();
    let csv = fixture("letters.csv");
    place.write("p.toml", "pooling = 0.25\nn_fused = 3\ntail_size = { count = 7 }\n");
    place.ok(&["train", &csv, "--label", "class", "--params", "p.toml", "-k", "2", "-o", "m.safetensors"]);
    let json: serde_json::Value =
        serde_json::from_str(&place.ok(&["inspect", "m.safetensors", "--json"])).unwrap();
    assert_eq!(json["params"]["pooling"], 0.25);
    assert_eq!(json["params"]["n_fused"], 2);
    assert_eq!(json["params"]["tail_size"]["count"], 7);
    place.ok(&[
        "train",
        &csv,
        "--label",
        "class",
        "--preset",
        "robust",
        "--tail-size",
        "2%",
        "-o",
        "m.safetensors",
    ]);
    let json: serde_json::Value =
        serde_json::from_str(&place.ok(&["inspect", "m.safetensors", "--json"])).unwrap();
    assert_eq!(json["params"]["smoothing"], 0.8);
    assert_eq!(json["params"]["tail_size"]["fraction"], 0.02);
}

#[test]
fn pictures_are_drawn_of_two_and_of_more_dimensions() {
    let place = Place::new();
    let csv = fixture("letters.csv");
    place.ok(&["plot", &csv, "--label", "class", "-o", "letters.svg"]);
    assert!(place.read("letters.svg").contains("first principal component"));
    let mut plane = "x,y,class\n".to_owned();
    for i in 0..60 {
        let (x, y) = (f64::from(i % 8) * 0.3, f64::from(i / 8) * 0.25);
        let (x, y, class) = if i % 2 == 0 { (x, y, "dots") } else { (x + 5.0, y + 1.0, "stars") };
        let _ = writeln!(plane, "{x},{y},{class}");
    }
    place.write("plane.csv", plane);
    place.write("queries.csv", "x,y\n1.0,0.5\n-9,9\n");
    let flags = ["--label", "class", "-o", "plane.png"];
    place.ok(&[&["plot", "plane.csv", "--queries", "queries.csv"], &flags[..]].concat());
    place.ok(&[&["plot", "plane.csv", "--queries", "plane.csv"], &flags[..]].concat());
    assert_eq!(&std::fs::read(place.path("plane.png")).unwrap()[..4], b"\x89PNG");
    place.ok(&["train", "plane.csv", "--label", "class", "-o", "plane.safetensors"]);
    place.ok(&["plot", "plane.safetensors", "--queries", "queries.csv", "-o", "plane.svg"]);
    let svg = place.read("plane.svg");
    assert!(svg.contains("dots") && svg.contains('?'), "one of the queries is unknown");
}

#[test]
fn the_demo_tells_the_whole_story() {
    let place = Place::new();
    let output = place.ok(&["demo"]);
    let settings = {
        let mut settings = insta::Settings::clone_current();
        // Times differ from run to run; every other figure is the same on every machine that rounds alike.
        settings.add_filter(r"\d+(\.\d+)?(ms|s|µs)\b", "[time]");
        settings
    };
    settings.bind(|| insta::assert_snapshot!("demo", output));
    let page = std::fs::read_to_string(place.path("evmachine-demo").join("report.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 5);
    assert!(!page.contains("http://") || !page.contains("src="), "the page needs nothing from elsewhere");
}

/// The letters of these classes, as CSV.
fn keep(classes: &[&str]) -> String {
    let text = std::fs::read_to_string(fixture("letters.csv")).unwrap();
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let kept: Vec<&str> = lines.filter(|line| classes.iter().any(|class| line.starts_with(class))).collect();
    format!("{header}\n{}\n", kept.join("\n"))
}

#[test]
fn a_risk_in_the_cover_leaves_vectors_out_and_goes_with_no_budget() {
    let place = Place::new();
    place.write("data.csv", {
        let rows = (0..40).map(|i: i32| {
            let x = f64::from(i % 20) * 0.1 + if i < 20 { 0.0 } else { 9.0 };
            let class = if (i < 20) == (i == 7) { "high" } else { "low" };
            format!("{class},{x}\n")
        });
        format!("class,x\n{}", rows.collect::<String>())
    });
    let train = |more: &[&str]| {
        let command = ["train", "data.csv", "--label", "class", "--tail-size", "10", "-o", "model", "-q"];
        place.ok(&[&command[..], more].concat());
        let rows: serde_json::Value = serde_json::from_str(&place.ok(&["rows", "model", "--json"])).unwrap();
        rows.as_array()
            .unwrap()
            .iter()
            .map(|row| row["row"]["number"].as_u64().unwrap())
            .collect::<Vec<u64>>()
    };
    assert!(train(&[]).contains(&8));
    assert!(!train(&["--cover-risk", "1"]).contains(&8));
    let shown: serde_json::Value = serde_json::from_str(&place.ok(&["inspect", "model", "--json"])).unwrap();
    assert_eq!(shown["params"]["cover_risk"], 1.0);
    place.ok(&["reduce", "model", "--max-per-class", "1", "-o", "small", "-q"]);
    place.ok(&["reduce", "model", "--cover-threshold", "0.1", "--cover-risk", "2", "-o", "small", "-q"]);
    let train = ["train", "data.csv", "--label", "class", "-o", "model"];
    let error = place.fails(2, &[&train[..], &["--cover-risk=-1"]].concat());
    assert!(error.contains("--cover-risk -1: must be 0 or a positive number"), "{error}");
    place.fails(2, &[&train[..], &["--cover-risk", "1", "--max-total", "5"]].concat());
}

#[test]
fn an_approximate_search_says_what_it_found_and_is_kept_with_the_model() {
    let place = Place::new();
    let train = ["-v", "train", "data.csv", "--label", "class", "-o", "model", "--delta", "0.05"];
    let approximate = ["--search", "approximate", "--tail-size", "20", "--cover-threshold", "1"];
    // Classes side by side on a line that is bent twice.
    place.write("data.csv", {
        let rows = (0..66_000u32).map(|i| {
            let along = f64::from(i.wrapping_mul(2_654_435_769)) / f64::from(u32::MAX);
            let around = |turn: f64| (7.0 * turn * along).sin() + 0.001 * f64::from(i % 17);
            format!("{},{along:.6},{:.6},{:.6}\n", (along * 40.0) as u32, around(1.0), around(2.0))
        });
        format!("class,x,y,z\n{}", rows.collect::<String>())
    });
    let said = String::from_utf8(place.run(&[&train[..], &approximate].concat()).stderr).unwrap();
    assert!(said.contains("66000 rows of 3 dimensions, against the nearest cells"), "{said}");
    assert!(said.contains(" % of tails found, 99."), "{said}");
    let shown: serde_json::Value = serde_json::from_str(&place.ok(&["inspect", "model", "--json"])).unwrap();
    assert_eq!(shown["params"]["search"]["approximate"], 0.99);

    let predict = ["-v", "predict", "model", "data.csv", "--drop", "class", "-o", "found.csv"];
    let said = String::from_utf8(place.run(&predict).stderr).unwrap();
    assert!(said.contains(" % of decisions as by an exact search, 99."), "{said}");
    let said = place.run(&[&predict[..], &["--search", "exact"]].concat());
    assert!(!String::from_utf8(said.stderr).unwrap().contains("exact search"));

    let long = place.fails(1, &[&train[..], &["--search", "approximate", "--tail-size", "40%"]].concat());
    assert!(long.contains("too long for approximate search"), "{long}");
    let error = place.fails(2, &[&train[..], &["--recall", "0.9"]].concat());
    assert!(error.contains("--recall is that of an approximate search"), "{error}");
    let error = place.fails(2, &[&train[..], &["--search", "approximate", "--recall", "1"]].concat());
    assert!(error.contains("--recall 1: must be above 0 and below 1"), "{error}");
}
