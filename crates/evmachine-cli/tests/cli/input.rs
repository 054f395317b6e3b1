//! Rows, columns, labels and several files, as people and attackers bring them.

use std::fmt::Write as _;

use crate::{Place, fixture, trained};

/// Two clusters, of as many labels as are given, in turn; the rows are far enough apart for any metric.
fn table(header: &str, labels: &[&str]) -> String {
    let mut text = header.to_owned();
    for row in 0..24 {
        let (high, small) = (row % labels.len(), f64::from(u8::try_from(row).unwrap()) / 100.0);
        let _ = writeln!(
            text,
            "{},{},{}",
            labels[high],
            1.0 + 4.0 * high as f64 + small,
            9.0 - 4.0 * high as f64 + small
        );
    }
    text
}

fn said(place: &Place, arguments: &[&str]) -> String {
    let output = place.run(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {error}");
    error
}

/// The first column of a table.
fn first_column(text: &str) -> Vec<String> {
    text.lines().skip(1).map(|line| line.split(',').next().unwrap().to_owned()).collect()
}

#[test]
fn a_bad_value_has_one_row_number_in_every_command() {
    let place = Place::new();
    place.write("good.csv", table("class,a,b\n", &["x", "y"]));
    place.ok(&["train", "good.csv", "--label", "class", "-o", "m.safetensors"]);
    place.write("bad.csv", table("class,a,b\n", &["x", "y"]).replace("1.08,", "2e15,"));
    for command in [
        vec!["train", "bad.csv", "--label", "class", "-o", "o.safetensors"],
        vec!["predict", "m.safetensors", "bad.csv", "-o", "o.csv"],
        vec!["predict", "m.safetensors", "bad.csv", "--explain", "-o", "o.csv"],
        vec!["evaluate", "m.safetensors", "bad.csv", "--label", "class"],
        vec!["update", "m.safetensors", "bad.csv", "--label", "class", "-o", "o.safetensors"],
        vec!["calibrate", "m.safetensors", "bad.csv", "--label", "class", "-o", "o.safetensors"],
        vec!["tune", "bad.csv", "--label", "class", "-o", "o.toml"],
        vec!["plot", "bad.csv", "--label", "class", "-o", "o.png"],
    ] {
        let error = place.fails(3, &command);
        let expected = "bad.csv: row 9 (line 10): column `a` holds 2e15, whose magnitude is above 1e15";
        assert!(error.contains(expected) && error.contains("--skip-bad-rows"), "{command:?}: {error}");
    }
}

#[test]
fn rows_left_out_leave_gaps_in_the_numbers() {
    let place = Place::new();
    place.write("train.csv", table("class,a,b\n", &["x", "y"]));
    place.write("new.csv", "id,a,b\np,1,9\nq,0,0\nr,inf,2\ns,2e15,1\nt,5,5\n");
    for metric in ["cosine", "euclidean"] {
        let train = ["train", "train.csv", "--label", "class", "-o", "m.safetensors", "--metric", metric];
        place.ok(&train);
        let predict = ["predict", "m.safetensors", "new.csv", "--skip-bad-rows"];
        let zero = if metric == "cosine" { vec![] } else { vec!["2"] };
        let expected: Vec<&str> = [vec!["1"], zero, vec!["5"]].concat();
        assert_eq!(first_column(&place.ok(&predict)), expected);
        let ids = first_column(&place.ok(&[&predict[..], &["--id", "id"]].concat()));
        assert_eq!((ids.first().unwrap().as_str(), ids.last().unwrap().as_str()), ("p", "t"));
        let counted = said(&place, &predict);
        assert!(counted.contains(&format!("{} bad rows were left out", 5 - expected.len())), "{counted}");
    }
    place.ok(&["train", "train.csv", "--label", "class", "-o", "m.safetensors", "--metric", "cosine"]);
    let error = place.fails(3, &["predict", "m.safetensors", "new.csv", "-o", "o.csv"]);
    assert!(error.contains("new.csv: row 2 (line 3): all features are zero"), "{error}");
    assert!(error.contains("hint: --skip-bad-rows leaves such rows out"), "{error}");
}

#[test]
fn names_that_count_and_an_index_are_recognised() {
    let place = Place::new();
    place.write("counted.csv", table("class,0,1\n", &["x", "y"]));
    place.ok(&["train", "counted.csv", "--label", "0", "-o", "m.safetensors"]);
    let inspected: serde_json::Value =
        serde_json::from_str(&place.ok(&["inspect", "m.safetensors", "--json"])).unwrap();
    assert_eq!(inspected["classes"].as_array().unwrap().len(), 2);

    let indexed: Vec<String> = table("class,a,b\n", &["x", "y"])
        .lines()
        .enumerate()
        .map(|(row, line)| if row == 0 { format!(",{line}") } else { format!("{},{line}", row - 1) })
        .collect();
    place.write("indexed.csv", indexed.join("\n"));
    let error = said(&place, &["train", "indexed.csv", "--label", "class", "-o", "m.safetensors"]);
    assert!(
        error.contains("column 0 has no name and counts the rows") && error.contains("--drop 0"),
        "{error}"
    );
    assert!(error.contains("2 features in each row"), "{error}");

    place.write("doubtful.csv", "0,1,2\n5,6,7\n8,9,1\n5,6,8\n8,9,2\n");
    let error =
        said(&place, &["train", "doubtful.csv", "--label", "0", "-o", "m.safetensors", "--drop", "2"]);
    assert!(!error.contains("--header"), "{error}");
    place.write("doubtful.csv", "7,0,1,2\n7,6,7,1\n8,9,1,2\n7,6,8,1\n8,9,2,4\n");
    let error = said(&place, &["train", "doubtful.csv", "--label", "0", "-o", "m.safetensors"]);
    assert!(
        error.contains("the first line may be names of columns") && error.contains("--header yes"),
        "{error}"
    );
}

#[test]
fn labels_of_any_type_and_spelling_meet() {
    let place = Place::new();
    place.write("train.csv", table("class,a,b\n", &["1.0", "2.0"]));
    place.write("same.csv", table("class,a,b\n", &["1", "2"]));
    let json = |label: [&str; 2]| -> String {
        let rows = table("", &label);
        let fields = rows.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let object = |row: Vec<&str>| format!("{{\"class\":{},\"a\":{},\"b\":{}}}", row[0], row[1], row[2]);
        fields.map(object).collect::<Vec<_>>().join("\n")
    };
    place.write("numbers.jsonl", json(["1", "2.0"]));
    place.write("texts.jsonl", json(["\"1\"", "\"2.00\""]));
    place.ok(&["train", "train.csv", "--label", "class", "-o", "m.safetensors"]);
    for file in ["train.csv", "same.csv", "numbers.jsonl", "texts.jsonl"] {
        let evaluated = place.ok(&["evaluate", "m.safetensors", file, "--label", "class", "--json"]);
        let evaluated: serde_json::Value = serde_json::from_str(&evaluated).unwrap();
        assert_eq!(evaluated["evaluation"]["known"], 24, "{file}");
        assert_eq!(evaluated["classes"][0], "1.0");
        let updated =
            said(&place, &["update", "m.safetensors", file, "--label", "class", "-o", "u.safetensors"]);
        assert!(!updated.contains("new classes"), "{updated}");
        let calibrated =
            said(&place, &["calibrate", "m.safetensors", file, "--label", "class", "-o", "c.safetensors"]);
        assert!(calibrated.contains("calibrated on 24 known and 0 unknown rows"), "{calibrated}");
    }
    place.write("other.csv", table("class,a,b\n", &["01", "two"]));
    let error = said(&place, &["evaluate", "m.safetensors", "other.csv", "--label", "class"]);
    assert!(
        error.contains("no label of other.csv is a class of the model") && error.contains(r#""01", "two""#),
        "{error}"
    );
}

#[test]
fn a_class_may_be_called_na() {
    let place = Place::new();
    place.write("train.csv", table("class,a,b\n", &["NA", "null"]));
    place.ok(&["train", "train.csv", "--label", "class", "-o", "m.safetensors"]);
    let predicted = place.ok(&["predict", "m.safetensors", "train.csv", "--delta", "0"]);
    assert!(predicted.lines().nth(1).unwrap().starts_with("1,NA,"), "{predicted}");
}

#[test]
fn columns_that_the_model_does_not_know_are_left_alone() {
    let place = Place::new();
    trained(&place);
    let letters = std::fs::read_to_string(fixture("letters.csv")).unwrap();
    let with_id: Vec<String> = letters
        .lines()
        .enumerate()
        .map(
            |(row, line)| {
                if row == 0 { format!("{line},id,note") } else { format!("{line},r{row},some words") }
            },
        )
        .collect();
    let with_id = with_id.join("\n");
    place.write("with-id.csv", &with_id);
    let plain = place.ok(&["predict", "model.safetensors", &fixture("letters.csv"), "--drop", "class"]);
    assert_eq!(place.ok(&["predict", "model.safetensors", "with-id.csv"]), plain);
    let evaluate = |file: &str| place.ok(&["evaluate", "model.safetensors", file, "--label", "class"]);
    assert_eq!(evaluate("with-id.csv"), evaluate(&fixture("letters.csv")));
    place.write("part.csv", with_id.replace("f3,", "g3,").replace("f7,", "g7,"));
    let error = place.fails(3, &["predict", "model.safetensors", "part.csv"]);
    assert!(error.contains("part.csv lacks 2 of the features that are needed: `f3`, `f7`;"), "{error}");
}

#[test]
fn rows_known_to_be_unknown_are_taken_by_name_too() {
    let place = Place::new();
    let letters = std::fs::read_to_string(fixture("letters.csv")).unwrap();
    let (header, rows) = letters.split_once('\n').unwrap();
    let (strangers, known): (Vec<&str>, Vec<&str>) = rows.lines().partition(|row| row.starts_with('D'));
    place.write("known.csv", format!("{header}\n{}\n", known.join("\n")));
    let strangers: Vec<String> = strangers.iter().map(|row| format!("note,{row}")).collect();
    place.write("strangers.csv", format!("text,{header}\n{}\n", strangers.join("\n")));
    let flags = ["--label", "class", "--unknown-data", "strangers.csv"];
    place.ok(&[&["train", "known.csv", "-o", "m.safetensors"], &flags[..]].concat());
    let quick = ["--space", "paper", "--trials", "1", "--folds", "2", "--max-rows", "40", "-o", "p.toml"];
    place.ok(&[&["tune", &fixture("letters.csv")], &flags[..], &quick].concat());
}

#[test]
fn several_files_and_patterns_are_read_as_one() {
    let place = Place::new();
    let letters = std::fs::read_to_string(fixture("letters.csv")).unwrap();
    let lines: Vec<&str> = letters.lines().collect();
    let part = |rows: &[&str]| format!("{}\n{}\n", lines[0], rows.join("\n"));
    place.write("part-1.csv", part(&lines[1..61]));
    place.write("part-2.csv", part(&lines[61..]));
    place.write("all.csv", &letters);
    let train = |files: &[&str]| {
        place.ok(&[&["train"], files, &["--label", "class", "-o", "m.safetensors"]].concat());
        std::fs::read(place.path("m.safetensors")).unwrap()
    };
    let whole = train(&["all.csv"]);
    assert!(train(&["part-1.csv", "part-2.csv"]) == whole && train(&["part-?.csv"]) == whole);
    let predicted = place.ok(&["predict", "m.safetensors", "part-*.csv"]);
    let rows: Vec<&str> = predicted.lines().collect();
    assert!(rows[0].starts_with("file,row,class,"), "{}", rows[0]);
    assert!(rows[60].starts_with("part-1.csv,60,") && rows[61].starts_with("part-2.csv,1,"), "{}", rows[61]);
    place.write("part-3.csv", part(&lines[1..3]).replace("f3,", "other,"));
    let error = place.fails(3, &["train", "part-*.csv", "--label", "class", "-o", "o.safetensors"]);
    assert!(error.contains("part-3.csv and part-1.csv have unlike columns"), "{error}");
}

#[test]
fn predictions_in_json_lines_can_be_read_again() {
    let place = Place::new();
    trained(&place);
    let letters = fixture("letters.csv");
    place.ok(&["predict", "model.safetensors", &letters, "--proba", "-o", "scores.jsonl"]);
    // Rows that are extreme vectors have the largest support there is, which is more than a feature may be.
    let drop = ["--drop", "row,best,support,known"];
    let train = [&["train", "scores.jsonl", "--label", "class", "-o", "m.safetensors"], &drop[..]].concat();
    let told = said(&place, &train);
    assert!(told.contains("learned from 160 rows"), "{told}");
    assert_eq!(place.ok(&["predict", "m.safetensors", "scores.jsonl"]).lines().count(), 161);
}

#[test]
#[cfg(target_os = "linux")]
fn names_that_are_not_utf_8_can_be_written() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    trained(&place);
    let name = std::ffi::OsStr::from_bytes(b"out\xff.csv");
    let mut command = place.command(&["predict", "model.safetensors", &fixture("letters.csv"), "-o"]);
    let output = command.arg(name).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = place.path("");
    assert!(std::fs::read_to_string(folder.join(name)).unwrap().starts_with("row,class,"));
}

/// A file of some kilobytes that says it has more than the process may take ends in an error, not in an abort.
#[test]
#[cfg(target_os = "linux")]
fn files_that_unpack_to_more_than_memory_are_refused() {
    let place = Place::new();
    trained(&place);
    let mut text = String::new();
    for row in 0..4000 {
        let _ = writeln!(text, "{} 1048576:1", row % 2);
    }
    place.write("wide.svm", text);
    let binary = env!("CARGO_BIN_EXE_evmachine");
    let limited = format!("ulimit -v 3000000; exec {binary} --threads 1 train wide.svm -o o.safetensors");
    let output =
        std::process::Command::new("sh").args(["-c", &limited]).current_dir(place.path("")).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("wide.svm would take") && error.contains("of memory"), "{error}");
}
