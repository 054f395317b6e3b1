//! Rows whose labels are in doubt.

use serde_json::Value;

use crate::{Place, fixture};

/// 160 letters A to D with ids, three of them of the wrong class: rows 3, 40 and 111.
fn flipped() -> Vec<String> {
    let text = std::fs::read_to_string(fixture("letters.csv")).unwrap();
    let mut lines: Vec<String> = text.lines().zip(0..).map(|(line, row)| format!("n{row},{line}")).collect();
    lines[0] = lines[0].replacen("n0", "id", 1);
    for row in [3, 40, 111] {
        let (id, rest) = lines[row].split_once(',').unwrap();
        let other = if rest.starts_with('A') { "C" } else { "A" };
        lines[row] = format!("{id},{other}{}", &rest[1..]);
    }
    lines
}

fn found(place: &Place, arguments: &[&str]) -> Vec<Value> {
    let said = place.ok(&[&["suspects", "--label", "class", "--json"], arguments].concat());
    serde_json::from_str(&said).unwrap()
}

#[test]
fn wrong_labels_come_first_with_number_id_and_reason() {
    let place = Place::new();
    place.write("data.csv", flipped().join("\n"));
    let suspects = found(&place, &["data.csv", "--id", "id", "-n", "6"]);
    assert_eq!(suspects.len(), 6);
    for row in [3, 40, 111] {
        let suspect = suspects.iter().find(|suspect| suspect["row"] == row).unwrap();
        assert_eq!(suspect["id"], format!("n{}", suspect["row"]));
        assert_ne!(suspect["claim"]["class"], suspect["label"]);
        assert!(suspect["claim"]["probability"].as_f64() > suspect["probability"].as_f64());
        assert!(suspect["why"].as_str().unwrap().contains("claims it"), "{suspect}");
    }
    let output = place.run(&["suspects", "data.csv", "--label", "class", "--id", "id", "--count", "3"]);
    let shown = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).join("---\n");
    insta::assert_snapshot!("suspects", shown);
}

#[test]
fn rows_of_several_files_keep_their_numbers_and_bad_ones_are_left_out() {
    let place = Place::new();
    let mut lines = flipped();
    lines[2] = lines[2].replace(",4,", ",none,");
    place.write("a.csv", lines[..100].join("\n"));
    place.write("b.csv", [&lines[..1], &lines[100..]].concat().join("\n"));
    let arguments = ["a.csv", "b.csv", "--drop", "id", "--skip-bad-rows", "-n", "6"];
    let places: Vec<String> = found(&place, &arguments)
        .iter()
        .map(|suspect| format!("{} {}", suspect["file"].as_str().unwrap(), suspect["row"]))
        .collect();
    for place in ["a.csv 3", "a.csv 40", "b.csv 12"] {
        assert!(places.iter().any(|found| found == place), "{place}: {places:?}");
    }
    let shown = place.ok(&[&["suspects", "--label", "class"], &arguments[..]].concat());
    assert!(shown.contains("row 12 of b.csv"), "{shown}");
}

#[test]
fn what_cannot_be_judged_is_said() {
    let place = Place::new();
    place.write("single.csv", "class,x\na,0.0\na,0.1\nb,1.0\n");
    let output = place.run(&["suspects", "single.csv", "--label", "class"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("1 of 2 classes have one row"), "{said}");
    place.write("unknown.csv", "class,x\na,0.0\nunknown,0.1\n");
    assert!(place.fails(3, &["suspects", "unknown.csv", "--label", "class"]).contains("unknown"));
    place.write("zero.csv", "class,x,y\na,1,0\nb,0,0\na,1,1\n");
    let error = place.fails(3, &["suspects", "zero.csv", "--label", "class", "--metric", "cosine"]);
    assert!(error.contains("zero.csv: row 2"), "{error}");
    place.fails(2, &["suspects", "zero.csv", "--label", "class", "--params", "none.toml"]);
}
