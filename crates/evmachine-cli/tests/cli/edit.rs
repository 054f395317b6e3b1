//! Corrections of a model, and the names that rows have in it.

use crate::Place;

/// Two classes on a line, with ids; the fourth row is of the other class.
const DATA: &str =
    "id,class,x\na1,low,0.0\na2,low,0.1\na3,low,0.2\na4,high,0.3\nb1,high,5.0\nb2,high,5.1\nb3,high,5.2\n";

const TRAIN: [&str; 14] = [
    "train",
    "data.csv",
    "--label",
    "class",
    "--id",
    "id",
    "--preset",
    "paper",
    "--tail-size",
    "3",
    "--cover-threshold",
    "1",
    "-o",
    "model",
];

fn trained() -> Place {
    let place = Place::new();
    place.write("data.csv", DATA);
    place.ok(&TRAIN);
    place
}

#[test]
fn explanations_and_rows_name_rows_as_in_the_file_and_by_id() {
    let place = trained();
    place.write("query.csv", "x\n0.31\n");
    let said = place.ok(&["predict", "model", "query.csv", "--explain", "-o", "out.jsonl"]);
    assert!(said.is_empty());
    let line: serde_json::Value = serde_json::from_str(&place.read("out.jsonl")).unwrap();
    let speaker = &line["explanation"]["classes"][0]["extreme_vectors"][0];
    let row = &speaker["row"];
    assert_eq!((row["number"].as_u64(), row["id"].as_str()), (Some(4), Some("a4")));
    assert_eq!((row["batch"].as_u64(), row["batch_name"].as_str()), (Some(1), Some("data.csv")));
    assert!(row["time"].as_i64().unwrap() > 0);
    // As the library reads it, and as the server and Python say it.
    let reasons: evmachine::Reasons = serde_json::from_value(line["explanation"].clone()).unwrap();
    assert_eq!((reasons.answer.best.as_str(), &line["best"]), ("high", &serde_json::json!("high")));
    assert_eq!(serde_json::to_value(&reasons).unwrap(), line["explanation"]);

    let rows: serde_json::Value =
        serde_json::from_str(&place.ok(&["rows", "model", "--class", "low", "--json"])).unwrap();
    let ids: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["row"]["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a1", "a2", "a3"]);
}

#[test]
fn a_class_that_may_be_a_typing_error_is_asked_about() {
    let place = trained();
    let relabel = ["edit", "relabel", "model", "hihg", "--row", "4", "-o", "corrected"];
    let error = place.fails(2, &relabel);
    assert!(error.contains("\"hihg\" is no class yet; is high meant?"), "{error}");
    assert!(error.contains("--new-class") && !place.path("corrected").exists(), "{error}");
    place.ok(&[&relabel[..], &["--new-class"]].concat());
}

#[test]
fn rows_that_were_left_out_do_not_move_the_numbers_of_others() {
    let place = Place::new();
    place.write("data.csv", DATA.replace("a2,low,0.1", "a2,low,none"));
    place.ok(&[
        "train",
        "data.csv",
        "--label",
        "class",
        "--drop",
        "id",
        "--skip-bad-rows",
        "--preset",
        "paper",
        "--cover-threshold",
        "1",
        "-o",
        "model",
        "--quiet",
    ]);
    let rows: serde_json::Value = serde_json::from_str(&place.ok(&["rows", "model", "--json"])).unwrap();
    let mut numbers: Vec<u64> =
        rows.as_array().unwrap().iter().map(|row| row["row"]["number"].as_u64().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 3, 4, 5, 6, 7]);
}

#[test]
fn a_wrong_match_is_doubted_and_its_row_set_aside_and_restored() {
    let place = trained();
    place.write("query.csv", "x\n0.31\n");
    let doubts: serde_json::Value =
        serde_json::from_str(&place.ok(&["doubt", "model", "query.csv", "--json"])).unwrap();
    assert_eq!(doubts[0]["class"], "high");
    assert_eq!(doubts[0]["because"]["row"]["id"], "a4");
    assert_ne!(doubts[0]["without"]["class"], "high");

    let compared = place.ok(&[
        "edit",
        "set-aside",
        "model",
        "--id",
        "a4",
        "-o",
        "model",
        "--compare",
        "query.csv",
        "--quiet",
    ]);
    assert_eq!(compared, "row 1: high -> low\n");
    place.ok(&["edit", "restore", "model", "--row", "4", "-o", "model", "--quiet"]);
    let doubts: serde_json::Value =
        serde_json::from_str(&place.ok(&["doubt", "model", "query.csv", "--json"])).unwrap();
    assert_eq!(doubts[0]["class"], "high");
}

#[test]
fn a_relabelled_model_is_the_one_of_the_corrected_file() {
    let place = trained();
    place.ok(&["edit", "relabel", "model", "low", "--row", "4", "-o", "model", "--quiet"]);
    // Rows that hold a threshold up follow later, where there are many.
    let shown = |place: &Place| {
        let mut shown: serde_json::Value =
            serde_json::from_str(&place.ok(&["inspect", "model", "--json"])).unwrap();
        shown["calibration_rows"].take();
        shown
    };
    let edited = shown(&place);
    place.write("data.csv", DATA.replace("a4,high", "a4,low"));
    place.ok(&TRAIN);
    assert_eq!(edited, shown(&place));
}

#[test]
fn strangers_and_single_classes_are_learned() {
    let place = Place::new();
    place.write("one.csv", "class,x\nlow,0.0\nlow,0.1\nlow,0.2\n");
    place.write("strangers.csv", "x\n0.5\n0.6\n");
    let train = ["train", "one.csv", "--label", "class", "-o", "model"];
    let said = |arguments: &[&str]| String::from_utf8(place.run(arguments).stderr).unwrap();
    let alone = said(&train);
    assert!(alone.contains("there is one class, and nothing to measure its margins against"), "{alone}");
    let both = said(&[&train[..], &["--ignore-data", "strangers.csv"]].concat());
    assert!(both.contains("2 samples are ignored") && !both.contains("there is one class"), "{both}");
    let predict = |expected: &str| {
        place.ok(&["predict", "model", "strangers.csv", "-o", "out.csv", "--quiet"]);
        let out = place.read("out.csv");
        let labels: Vec<&str> = out.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect();
        assert!(labels.iter().all(|label| *label == expected), "{out}");
    };
    predict("unknown");
    place.ok(&["train", "one.csv", "--label", "class", "-o", "model", "--quiet"]);
    place.ok(&["update", "model", "--ignore", "strangers.csv", "-o", "model", "--quiet"]);
    predict("unknown");
    // Once named, they are a class.
    place.ok(&[
        "edit",
        "relabel",
        "model",
        "high",
        "--batch",
        "strangers.csv",
        "--row",
        "1,2",
        "-o",
        "model",
        "--quiet",
    ]);
    predict("high");
}

#[test]
fn what_cannot_be_edited_is_said() {
    let place = trained();
    let error = |arguments: &[&str], code: i32| place.fails(code, arguments);
    assert!(error(&["edit", "unlearn", "model", "-o", "model"], 2).contains("say which rows"));
    assert!(
        error(&["edit", "unlearn", "model", "--id", "z", "-o", "model"], 1)
            .contains("a row with the id \"z\"")
    );
    assert!(
        error(&["edit", "rename", "model", "high", "low", "-o", "model"], 2)
            .contains("there is a class \"low\"")
    );
    assert!(
        error(&["edit", "unlearn", "model", "--row", "1", "--batch", "x.csv", "-o", "model"], 2)
            .contains("1 data.csv")
    );
    let again = ["update", "model", "data.csv", "--label", "class", "--id", "id", "-o", "model", "--quiet"];
    place.ok(&[&again[..], &["--again"]].concat());
    assert!(error(&["edit", "unlearn", "model", "--row", "1", "-o", "model"], 2).contains("several rows 1"));
}

#[test]
fn rows_that_the_model_holds_are_learned_again_only_if_asked_to() {
    let place = trained();
    place.write("more.csv", "id,class,x\nc1,low,0.4\na2,low,0.1\n");
    let update = ["update", "model", "more.csv", "--label", "class", "--id", "id", "-o", "model", "--quiet"];
    let said = place.fails(3, &update);
    assert!(
        said.contains("the model holds 1 of 2 rows by their ids, such as \"a2\", row 2 of more.csv"),
        "{said}"
    );
    assert!(said.contains("--again"), "{said}");
    let rows = |place: &Place| {
        let shown: serde_json::Value =
            serde_json::from_str(&place.ok(&["inspect", "model", "--json"])).unwrap();
        shown["rows"].as_u64().unwrap()
    };
    assert_eq!(rows(&place), 7, "an error changes nothing");
    place.ok(&[&update[..], &["--again"]].concat());
    assert_eq!(rows(&place), 9);
}

#[test]
fn ids_come_one_by_one_or_with_commas_between_them() {
    let place = Place::new();
    place.write("data.csv", DATA.replace("a3,low", "\"a,3\",low"));
    place.ok(&TRAIN);
    place.ok(&["edit", "set-aside", "model", "--id", "a1,b2", "--id", "a,3", "-o", "model", "--quiet"]);
    let shown: serde_json::Value = serde_json::from_str(&place.ok(&["inspect", "model", "--json"])).unwrap();
    assert_eq!((&shown["set_aside"], &shown["extreme_vectors"]), (&3.into(), &4.into()));
}

#[test]
fn why_a_row_is_not_there_is_the_true_reason() {
    let place = trained();
    let unlearn =
        |which: &[&str]| place.fails(1, &[&["edit", "unlearn", "model", "-o", "model"], which].concat());
    let said = unlearn(&["--row", "8"]);
    assert!(said.contains("does not hold row 8: it was given 7 rows in all"), "{said}");
    let said = unlearn(&["--id", "z"]);
    assert!(said.contains("the id \"z\": it never had one\n"), "{said}");
    place.ok(&["reduce", "model", "--max-per-class", "1", "-o", "model", "--quiet"]);
    let said = unlearn(&["--row", "2,3,5,6"]);
    assert!(said.contains("its cover dropped it"), "{said}");
    place.ok(&[&TRAIN[..4], &["--drop", "id", "--quiet", "-o", "model"]].concat());
    let said = unlearn(&["--id", "a1"]);
    assert!(said.contains("it knows no ids"), "{said}");
}

#[test]
fn hints_of_a_comparison_name_flags_that_edit_has() {
    let place = trained();
    place.write("query.csv", "y,z\n0.31,1\n");
    let edit = ["edit", "unlearn", "model", "--row", "1", "-o", "other", "--compare", "query.csv"];
    let said = place.fails(3, &edit);
    assert!(said.contains("hint: pass --features COLUMNS"), "{said}");
    let compared = place.ok(&[&edit[..], &["--features", "y", "--quiet"]].concat());
    assert!(compared.is_empty() || compared.starts_with("row 1"), "{compared}");
    place.write("query.csv", "x\n0.3\nred\n");
    let said = place.fails(3, &edit);
    assert!(said.contains("--drop x") && !said.contains("--skip-bad-rows"), "{said}");
}

#[test]
fn doubts_show_ids_and_labels_where_there_are_any() {
    let place = trained();
    let doubts = ["doubt", "model", "data.csv", "--label", "class", "--id", "id"];
    let table = place.ok(&doubts);
    let header: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(header[..4], ["row", "id", "label", "class"]);
    let line: Vec<&str> = table.lines().nth(4).unwrap().split_whitespace().collect();
    assert_eq!(line[..3], ["4", "a4", "high"], "{table}");
    let json: serde_json::Value =
        serde_json::from_str(&place.ok(&[&doubts[..], &["--json"]].concat())).unwrap();
    assert_eq!((&json[3]["id"], &json[3]["label"]), (&"a4".into(), &"high".into()));
}

#[test]
fn missing_values_are_filled_alike_in_training_and_whatever_is_asked() {
    let place = Place::new();
    let rows: Vec<String> = (0..40)
        .map(|row| {
            let (class, x) = if row < 20 { ("low", row % 5) } else { ("high", 20 + row % 5) };
            let y = if row % 4 == 0 { "NA".to_owned() } else { (row % 7).to_string() };
            format!("{class},{x},{y}")
        })
        .collect();
    place.write("data.csv", format!("class,x,y\n{}\n", rows.join("\n")));
    let error = place.fails(3, &["train", "data.csv", "--label", "class", "-o", "model"]);
    assert!(error.contains("--fill"), "{error}");
    place.ok(&["train", "data.csv", "--label", "class", "--fill", "median", "-o", "model", "--quiet"]);
    place.write("query.csv", "x,y\n3,\n3,3\n");
    place.write("query.jsonl", "{\"x\": 3, \"y\": null}\n{\"x\": 3, \"y\": 3}\n");
    for query in ["query.csv", "query.jsonl"] {
        place.ok(&["predict", "model", query, "--proba", "-o", "out.csv", "--quiet"]);
        let out = place.read("out.csv");
        let lines: Vec<&str> = out.lines().map(|line| line.split_once(',').unwrap().1).collect();
        assert_eq!(lines[1], lines[2], "the median of the column is 3");
    }
}

#[test]
fn a_vector_is_not_of_a_class_and_that_is_taken_back() {
    let place = trained();
    let before = std::fs::read(place.path("model")).unwrap();
    place.write("today.csv", "name,x\nq1,0.31\nq2,5.05\nq3,0.05\n");
    let not = [
        "edit",
        "not",
        "model",
        "low",
        "--data",
        "today.csv",
        "--id-column",
        "name",
        "--id",
        "q3",
        "-o",
        "edited",
    ];
    let output = place.run(&not);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("1 row changed"), "{said}");
    let label = |model: &str| {
        place.ok(&["predict", model, "today.csv", "--id", "name", "-o", "out.csv"]);
        let lines: Vec<String> = place.read("out.csv").lines().map(str::to_owned).collect();
        lines[1..].iter().map(|line| line.split(',').nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (then, now) = (label("model"), label("edited"));
    assert_eq!(then[2], "low");
    assert_ne!(now[2], "low");
    assert_eq!((&then[1], &now[1]), (&"high".to_owned(), &"high".to_owned()));
    place.ok(&["predict", "edited", "today.csv", "--drop", "name", "--explain", "-o", "out.jsonl"]);
    let line: serde_json::Value =
        serde_json::from_str(place.read("out.jsonl").lines().nth(2).unwrap()).unwrap();
    let denied = &line["explanation"]["denied"][0];
    assert_eq!((denied["class"].as_str(), denied["decides"].as_bool()), (Some("low"), Some(true)), "{line}");
    assert_eq!((denied["row"]["id"].as_str(), denied["row"]["number"].as_u64()), (Some("q3"), Some(3)));
    let rows = place.ok(&["rows", "edited", "--json"]);
    assert!(rows.contains("not of it"), "{rows}");

    place.ok(&["edit", "unlearn", "edited", "--id", "q3", "-o", "back"]);
    assert!(std::fs::read(place.path("back")).unwrap() == before, "no byte is left of it");

    let said = place.ok(&[
        "edit",
        "not",
        "model",
        "low",
        "--data",
        "today.csv",
        "--row",
        "3",
        "--drop",
        "name",
        "-o",
        "again",
        "--compare",
        "today.csv",
    ]);
    assert!(said.contains("row 3: low -> "), "{said}");
    let missing = place.fails(
        3,
        &["edit", "not", "model", "low", "--data", "today.csv", "--drop", "name", "--row", "9", "-o", "none"],
    );
    assert!(missing.contains("no row 9 among its 3 rows"), "{missing}");
    let nobody = place
        .fails(2, &["edit", "not", "model", "nobody", "--data", "today.csv", "--drop", "name", "-o", "none"]);
    assert!(nobody.contains("no class"), "{nobody}");
    assert!(!place.path("none").exists());
}
