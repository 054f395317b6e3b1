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
    assert!(predictions.starts_with("row,label,probability,best,p_known,p_class\n"), "{predictions}");
    assert!(
        place.fails(2, &[&predict[..], &["--prior", "1"]].concat()).contains("--prior 1: must be between")
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
        assert!(best.starts_with("row,label,probability,best\n"), "{best}");
        let first_four = |line: &str| line.split(',').take(4).collect::<Vec<_>>().join(",") + "\n";
        assert_eq!(best, all.lines().map(first_four).collect::<String>());
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
    assert!(update().contains("updates are no longer exact"));
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
    let grid = place.ok(&[
        "tune", &csv, "--label", "class", "--space", "paper", "--grid", "--folds", "2", "-o", "p.toml",
    ]);
    assert!(grid.starts_with("40 trials, best first"), "{grid}");
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
    assert!(warned("a,class\n1,x\n2,x\n5,unknown\n6,unknown\n").contains("--unknown-label"));
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
