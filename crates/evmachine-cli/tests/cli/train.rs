//! `train` and `tune`: what is learned, with which parameters.

use crate::{Place, fixture, keep, trained};

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
    assert_eq!(json["params"]["smoothing"], 0.5);
    assert_eq!(json["params"]["tail_size"]["fraction"], 0.02);
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
    assert!(!train(&["--cover-threshold", "0.5", "--cover-risk", "1"]).contains(&8));
    let shown: serde_json::Value = serde_json::from_str(&place.ok(&["inspect", "model", "--json"])).unwrap();
    assert_eq!(shown["params"]["cover_risk"], 1.0);
    place.ok(&["reduce", "model", "--max-per-class", "1", "-o", "small", "-q"]);
    place.ok(&["reduce", "model", "--cover-threshold", "0.1", "--cover-risk", "2", "-o", "small", "-q"]);
    let train = ["train", "data.csv", "--label", "class", "-o", "model"];
    let error = place.fails(2, &[&train[..], &["--cover-risk=-1"]].concat());
    assert!(error.contains("--cover-risk -1: must be 0 or a positive number"), "{error}");
    place.fails(2, &[&train[..], &["--cover-risk", "1", "--max-total", "5"]].concat());
    let said = String::from_utf8(place.run(&[&train[..], &["--cover-risk", "1"]].concat()).stderr).unwrap();
    assert!(said.contains("cover_risk has no effect"), "{said}");
}

#[test]
fn an_approximate_search_says_what_it_found_and_is_kept_with_the_model() {
    let place = Place::new();
    let train = ["-v", "train", "data.csv", "--label", "class", "-o", "model", "--preset", "paper"];
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

/// Learned as a feature, a number of the row pulls rows together that were written one after the other.
#[test]
fn columns_that_identify_rows_are_warned_of() {
    use std::fmt::Write as _;

    let place = Place::new();
    let mut csv = String::from("number,ticket,same,x,class\n");
    for row in 0..60 {
        let ticket = 7 + row * 37 % 61;
        let _ = writeln!(csv, "{row},{ticket},1.5,{}.{},{}", row % 2 * 5, row * 7 % 10, ["a", "b"][row % 2]);
    }
    place.write("rows.csv", csv);
    let train = ["train", "rows.csv", "--label", "class", "-o", "m.safetensors"];
    let told = String::from_utf8(place.run(&train).stderr).unwrap();
    for line in [
        "column number rises or falls with every row, as a row number or a time does; leave it out with --drop",
        "column ticket has a different whole number in each row, as an identifier has; leave it out with --drop",
        "column same has one value in all rows; nothing can be learned from that",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    let clean = [&train[..], &["--drop", "number", "--drop", "ticket"]].concat();
    let told = String::from_utf8(place.run(&clean).stderr).unwrap();
    assert!(!told.contains("leave it out"), "{told}");
}
