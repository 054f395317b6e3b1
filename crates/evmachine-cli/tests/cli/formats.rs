//! The same letters in every format give the same model and the same predictions.

use crate::{Place, fixture};

/// File, flags that name the label, flags that leave it out.
fn formats() -> Vec<(&'static str, Vec<String>, Vec<&'static str>)> {
    let class = || vec!["--label".to_owned(), "class".to_owned()];
    vec![
        ("letters.csv", class(), vec!["--drop", "class"]),
        ("letters.tsv", class(), vec!["--drop", "class"]),
        ("letters.csv.gz", class(), vec![]),
        ("letters.parquet", class(), vec!["--drop", "class"]),
        ("letters.arrow", class(), vec!["--drop", "class"]),
        ("letters.npz", vec!["--label".to_owned(), "y".to_owned()], vec![]),
        ("letters.npy", vec!["--labels-file".to_owned(), fixture("letters.labels")], vec![]),
    ]
}

#[test]
fn every_format_gives_the_same_model_and_predictions() {
    let place = Place::new();
    let mut models = Vec::new();
    let mut predictions = Vec::new();
    for (file, label, without) in formats() {
        let path = fixture(file);
        let mut train = vec!["train", &path, "-o", "model.safetensors"];
        train.extend(label.iter().map(String::as_str));
        place.ok(&train);
        models.push(std::fs::read(place.path("model.safetensors")).unwrap());
        let mut predict = vec!["predict", "model.safetensors", &path];
        predict.extend(without);
        predictions.push(place.ok(&predict));
    }
    // Files that name their columns give those names to the model, and are otherwise the same.
    let named: Vec<usize> = models.iter().map(Vec::len).collect();
    for ((file, ..), model) in formats().iter().zip(&models).take(4) {
        assert!(*model == models[0], "{file}: the model differs");
    }
    assert!(models[5] == models[6] && named[5] < named[0], "{named:?}");
    assert!(predictions.iter().all(|text| *text == predictions[0]));
    let lines: Vec<&str> = predictions[0].lines().collect();
    assert_eq!(lines[0], "row,class,known,support,p_value,psi,best,p_known,p_class");
    assert_eq!(lines.len(), 161);
    assert!(lines[1].starts_with("1,D,"), "{}", lines[1]);
}

#[test]
fn libsvm_has_its_labels_with_it() {
    let place = Place::new();
    place.ok(&["train", &fixture("letters.svm"), "-o", "model.safetensors"]);
    let out = place.ok(&["evaluate", "model.safetensors", &fixture("letters.svm")]);
    assert!(out.contains("rows of known classes"), "{out}");
    let inspected = place.ok(&["inspect", "model.safetensors"]);
    assert!(inspected.contains("dimensions") && inspected.contains("16"), "{inspected}");
}

#[test]
fn predictions_can_be_written_in_every_format_and_keep_identifiers() {
    let place = Place::new();
    crate::trained(&place);
    let letters = std::fs::read_to_string(fixture("letters.csv")).unwrap();
    let mut lines = letters.lines();
    let (header, first) = (lines.next().unwrap(), lines.find(|line| line.starts_with('A')).unwrap());
    let far = ["90"; 16].join(",");
    let csv = format!("name,{header}\nfirst,{first}\n\"a, b\",?,{far}\n");
    place.write("new.csv", csv);
    let flags = ["--id", "name", "--drop", "class"];
    for name in ["out.csv", "out.jsonl", "out.parquet"] {
        let mut command = vec!["predict", "model.safetensors", "new.csv", "-o", name];
        command.extend(flags);
        place.ok(&command);
    }
    let text = place.read("out.csv");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "name,class,known,support,p_value,psi,best,p_known,p_class");
    assert!(lines[1].starts_with("first,A,"), "{text}");
    assert!(lines[2].starts_with("\"a, b\",unknown,false,-"), "{text}");
    let json: Vec<serde_json::Value> =
        place.read("out.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json[1]["name"], "a, b");
    assert_eq!(json[1]["class"], "unknown");
    assert_eq!(&std::fs::read(place.path("out.parquet")).unwrap()[..4], b"PAR1");
}

#[test]
fn probabilities_and_reasons_come_on_request() {
    let place = Place::new();
    // Contrast, which robust has, is part of the psi of the best class alone.
    let letters = fixture("letters.csv");
    place.ok(&["train", &letters, "--label", "class", "--contrast", "0", "-o", "model.safetensors"]);
    let output = place.ok(&[
        "predict",
        "model.safetensors",
        &fixture("letters.csv"),
        "--drop",
        "class",
        "--proba",
        "--explain",
        "--output-format",
        "jsonl",
    ]);
    let first: serde_json::Value = serde_json::from_str(output.lines().next().unwrap()).unwrap();
    let best = first["psi"].as_f64().unwrap();
    let all: Vec<f64> =
        ["A", "B", "C", "D"].iter().map(|c| first[format!("p:{c}")].as_f64().unwrap()).collect();
    assert_eq!(all.iter().copied().fold(0.0, f64::max), best);
    let class = &first["explanation"]["classes"][0];
    assert_eq!((&class["support"], class["psi"].as_f64()), (&first["support"], Some(best)));
    let speaker = &class["extreme_vectors"][0];
    assert!(speaker["distance"].as_f64().unwrap() <= speaker["radius"].as_f64().unwrap());
    assert!(first["explanation"]["distance_to_boundary"].as_f64().unwrap() > 0.0);
}

#[test]
fn columns_in_another_order_are_taken_by_name() {
    let place = Place::new();
    crate::trained(&place);
    let turned: Vec<String> = std::fs::read_to_string(fixture("letters.csv"))
        .unwrap()
        .lines()
        .map(|line| line.split(',').rev().collect::<Vec<_>>().join(","))
        .collect();
    place.write("turned.csv", turned.join("\n"));
    let predict = |file: &str| place.ok(&["predict", "model.safetensors", file, "--drop", "class"]);
    assert_eq!(predict("turned.csv"), predict(&fixture("letters.csv")));
    place.write("renamed.csv", turned.join("\n").replace("f15", "g15"));
    let said = place.fails(3, &["predict", "model.safetensors", "renamed.csv"]);
    assert!(said.contains("renamed.csv lacks 1 of the features that are needed: `f15`;"), "{said}");
    let positions = ["predict", "model.safetensors", "renamed.csv", "--features", "0:16"];
    let said = String::from_utf8(place.run(&positions).stderr).unwrap();
    assert!(said.contains(r#"column "g15" stands where the model was trained on "f0""#), "{said}");
    let evaluate = |file: &str| place.ok(&["evaluate", "model.safetensors", file, "--label", "class"]);
    assert_eq!(evaluate("turned.csv"), evaluate(&fixture("letters.csv")));

    // Whatever the names are: numbers stand only where a file has none.
    let named = |lines: &str| lines.replace("f0", "column_0").replace("f1", "column_1");
    place.write("named.csv", named(&std::fs::read_to_string(fixture("letters.csv")).unwrap()));
    place.write("turned.csv", named(&turned.join("\n")));
    place.ok(&["train", "named.csv", "--label", "class", "-o", "model.safetensors"]);
    assert_eq!(predict("turned.csv"), predict("named.csv"));
}
