//! `evmachine pool`: unknowns that wait on disk, answers, versions.

use serde_json::Value;

use crate::{Place, fixture};

/// A pool whose model knows A and B, and a file with C and D among others.
fn pool() -> Place {
    let place = Place::new();
    let text = std::fs::read_to_string(fixture("letters.csv")).unwrap();
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let (known, unknown): (Vec<&str>, Vec<&str>) =
        lines.partition(|line| line.starts_with('A') || line.starts_with('B'));
    place.write("known.csv", format!("{header}\n{}\n", known.join("\n")));
    let numbered: Vec<String> =
        unknown.iter().enumerate().map(|(row, line)| format!("{line},letter {row}")).collect();
    place.write("new.csv", format!("{header},name\n{}\n", numbered.join("\n")));
    place.ok(&["train", "known.csv", "--label", "class", "-o", "model.safetensors"]);
    place.ok(&["pool", "init", "pool", "model.safetensors"]);
    place
}

fn add(place: &Place) {
    place.ok(&["pool", "add", "pool", "new.csv", "--drop", "class", "--id", "name"]);
}

fn json(place: &Place, arguments: &[&str]) -> Value {
    serde_json::from_str(&place.ok(arguments)).unwrap()
}

#[test]
fn a_pool_learns_what_was_labelled() {
    let place = pool();
    let output = place.run(&["pool", "add", "pool", "new.csv", "--drop", "class", "--id", "name"]);
    let said = String::from_utf8(output.stderr).unwrap();
    let story = place.ok(&["pool", "next", "pool"]);
    insta::assert_snapshot!("pool_next", format!("{said}{story}"));
    assert_eq!(place.ok(&["pool", "next", "pool"]), story, "the same until it is answered");

    // Naming all groups after the letter of their exemplar.
    let truth = place.read("new.csv");
    let truth: Vec<&str> = truth.lines().skip(1).map(|line| &line[..1]).collect();
    let letter = |member: &Value| {
        let name = member["id"].as_str().unwrap();
        truth[name.strip_prefix("letter ").unwrap().parse::<usize>().unwrap()]
    };
    for group in json(&place, &["pool", "next", "pool", "-n", "100", "--json"]).as_array().unwrap() {
        let members = group["members"].as_array().unwrap();
        let exemplar = members.iter().find(|member| member["sample"] == group["exemplar"]).unwrap();
        let strange: Vec<String> = members
            .iter()
            .filter(|member| letter(member) != letter(exemplar))
            .map(|member| member["sample"].to_string())
            .collect();
        let (number, except) = (group["number"].to_string(), strange.join(","));
        let mut arguments =
            vec!["pool", "label", "pool", letter(exemplar), "--group", &number, "--person", "Ada"];
        if !strange.is_empty() {
            arguments.extend(["--except", &except]);
        }
        place.ok(&arguments);
    }
    place.ok(&["pool", "update", "pool", "-o", "after.safetensors"]);
    let status = json(&place, &["pool", "status", "pool", "--json"]);
    assert_eq!((status["to_learn"].as_u64(), status["versions"].as_array().unwrap().len()), (Some(0), 2));
    assert!(status["labelled"]["C"].as_u64().unwrap() > 20, "{status}");
    let classes = json(&place, &["inspect", "after.safetensors", "--json"]);
    assert_eq!(classes["classes"].as_array().unwrap().len(), 4);

    place.ok(&["pool", "export", "pool", "--model", "live.safetensors"]);
    let bytes = |name: &str| std::fs::read(place.path(name)).unwrap();
    assert_eq!(bytes("live.safetensors"), bytes("after.safetensors"));
    place.ok(&["pool", "export", "pool", "--model", "first.safetensors", "--model-version", "previous"]);
    assert_eq!(bytes("first.safetensors"), bytes("model.safetensors"));

    let first = status["previous"].as_str().unwrap().to_owned();
    let said = String::from_utf8(place.run(&["pool", "rollback", "pool"]).stderr).unwrap();
    assert!(said.contains("is the previous, which a rollback would return to"), "{said}");
    assert_eq!(json(&place, &["pool", "status", "pool", "--json"])["live"], first.as_str());
    place.ok(&["pool", "promote", "pool", status["live"].as_str().unwrap()]);
    assert_eq!(place.ok(&["pool", "check", "pool"]), "");
}

#[test]
fn answers_are_listed_undone_and_exported() {
    let place = pool();
    add(&place);
    place.ok(&["pool", "label", "pool", "C", "--samples", "1,2,3", "--person", "Ada"]);
    place.ok(&["pool", "ignore", "pool", "--samples", "4"]);
    place.ok(&["pool", "discard", "pool", "--samples", "5,6"]);
    place.ok(&["pool", "undo", "pool"]);
    place.ok(&["pool", "undo", "pool", "4"]);
    insta::assert_snapshot!("pool_events", place.ok(&["pool", "events", "pool"]));
    let status = place.ok(&["pool", "status", "pool"]);
    let settings = {
        let mut settings = insta::Settings::clone_current();
        settings.add_filter(r"[0-9a-f]{12}", "[version]");
        settings
    };
    settings.bind(|| insta::assert_snapshot!("pool_status", status));
    place.ok(&["pool", "export", "pool", "-o", "labelled.csv", "--labelled"]);
    let lines: Vec<String> = place.read("labelled.csv").lines().map(str::to_owned).collect();
    assert!(lines[0].starts_with("id,label,f0,f1,"), "{}", lines[0]);
    assert_eq!(lines.len(), 4);
    assert!(lines[1].starts_with("letter ") && lines[1].contains(",C,"), "{}", lines[1]);
    place.ok(&["train", "labelled.csv", "--label", "label", "--id", "id", "-o", "own.safetensors"]);
    let header = place.ok(&["pool", "export", "pool"]);
    assert!(header.starts_with("sample,id,state,label,best,support,psi,model,group,text,link,"));
    let all = place.ok(&["pool", "export", "pool", "--output-format", "jsonl"]);
    let rows: Vec<Value> = all.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&rows[3]["state"], &rows[4]["state"]), (&"ignored".into(), &"discarded".into()));
}

#[test]
fn texts_and_pictures_come_with_samples() {
    let place = pool();
    place.write("small.png", "picture");
    let header = place.read("new.csv").lines().next().unwrap().to_owned();
    let row = place.read("new.csv").lines().nth(1).unwrap().to_owned();
    place.write("one.csv", format!("{header}\n{row}\n"));
    let one =
        ["pool", "add", "pool", "one.csv", "--drop", "class,name", "--all", "--details", "details.jsonl"];
    place.write("details.jsonl", r#"{"id": "x", "text": "a letter", "picture": "small.png"}"#);
    place.ok(&one);
    let group = json(&place, &["pool", "next", "pool", "--json"]);
    assert_eq!(group[0]["members"][0]["text"], "a letter");
    for (details, problem) in [
        (r#"{"txt": "a"}"#, "line 1: unknown field `txt`"),
        (r#"{"picture": "small.bmp"}"#, "line 1: small.bmp is none of .png"),
        (r#"{"picture": "none.png"}"#, "line 1: none.png: No such file"),
        ("", "line 1: there is no such line"),
    ] {
        place.write("details.jsonl", details);
        let error = place.fails(3, &one);
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn a_rule_holds_samples_back_and_says_why() {
    let place = pool();
    let text = place.read("new.csv");
    let mut lines = text.lines();
    let header = format!("{},score,day", lines.next().unwrap());
    let lines: Vec<String> = lines
        .enumerate()
        .map(|(row, line)| format!("{line},{},day {}", if row % 4 == 0 { 0.3 } else { 0.9 }, row % 2))
        .collect();
    place.write("captured.csv", format!("{header}\n{}\n", lines.join("\n")));
    assert_eq!(json(&place, &["pool", "enrolment", "pool", "--json"])["rule"]["quarantine"], false);
    let rule = ["--least-quality", "0.6", "--least-samples", "5", "--least-occasions", "2", "--quarantine"];
    place.ok(&[&["pool", "enrolment", "pool"], &rule[..]].concat());
    let columns = ["--drop", "class", "--id", "name", "--quality", "score", "--occasion", "day"];
    let added = json(&place, &[&["pool", "add", "pool", "captured.csv", "--json"], &columns[..]].concat());
    let rows = added.as_array().unwrap();
    let held: Vec<&Value> = rows.iter().map(|row| &row["held_back"]).filter(|held| !held.is_null()).collect();
    assert!(held.len() > 5 && held.iter().all(|held| held["reason"] == "low_quality"), "{held:?}");
    place.ok(&["pool", "label", "pool", "C", "--samples", "1,2,3"]);
    place.ok(&["pool", "label", "pool", "D", "--samples", "4", "--proposed"]);
    insta::assert_snapshot!("pool_enrolment", place.ok(&["pool", "enrolment", "pool"]));
    let error = place.fails(2, &["pool", "update", "pool"]);
    assert!(error.contains("3 few_samples, 1 quarantined"), "{error}");
    place.ok(&["pool", "enrolment", "pool", "--quarantine"]);
    let output = place.run(&["pool", "update", "pool"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("1 sample held back: 1 quarantined"), "{said}");
    place.ok(&["pool", "label", "pool", "D", "--samples", "4", "--person", "Ada"]);
    place.ok(&["pool", "update", "pool"]);
    let error = place.fails(2, &["pool", "enrolment", "pool", "--most-moved=-1"]);
    assert!(error.contains("most_moved = -1: must be above 0"), "{error}");
    place.write("bad.csv", format!("{header}\n{}\n", lines[0].replace(",0.3,", ",good,")));
    let error = place.fails(3, &[&["pool", "add", "pool", "bad.csv"], &columns[..]].concat());
    assert!(error.contains("row 1 of bad.csv: the quality \"good\" is not a number"), "{error}");
}

#[test]
fn a_backup_can_be_restored() {
    let place = pool();
    add(&place);
    place.ok(&["pool", "backup", "pool", "copy"]);
    place.ok(&["pool", "discard", "pool", "--samples", "1"]);
    place.ok(&["pool", "restore", "copy", "restored"]);
    let discarded = |pool: &str| json(&place, &["pool", "status", pool, "--json"])["discarded"].as_u64();
    assert_eq!((discarded("pool"), discarded("restored")), (Some(1), Some(0)));
    let error = place.fails(2, &["pool", "restore", "copy", "restored"]);
    assert!(error.contains("restored is there already"), "{error}");
}

#[test]
fn errors_of_pools_are_as_approved() {
    let place = pool();
    add(&place);
    let mut said = Vec::new();
    let mut fails = |code: i32, arguments: &[&str]| {
        said.push(format!("$ evmachine {}\n{}", arguments.join(" "), place.fails(code, arguments)));
    };
    fails(2, &["pool", "next", "nothing"]);
    fails(2, &["pool", "init", "pool", "model.safetensors"]);
    fails(2, &["pool", "label", "pool", "C"]);
    fails(2, &["pool", "label", "pool", "C", "--group", "999"]);
    fails(2, &["pool", "label", "pool", "", "--samples", "1"]);
    fails(2, &["pool", "label", "pool", "a", "--samples", "1"]);
    fails(2, &["pool", "discard", "pool", "--samples", "1,9999"]);
    fails(2, &["pool", "undo", "pool"]);
    fails(2, &["pool", "update", "pool"]);
    fails(2, &["pool", "rollback", "pool"]);
    fails(2, &["pool", "promote", "pool", "xyz"]);
    fails(3, &["pool", "add", "pool", "known.csv", "--label", "class", "--drop", "f0"]);
    insta::assert_snapshot!("pool_errors", said.concat());
    place.ok(&["pool", "label", "pool", "a", "--samples", "1", "--new-class"]);
    std::fs::write(place.path("pool/models").join("left.safetensors"), "x").unwrap();
    let found = place.ok(&["pool", "check", "pool"]);
    assert_eq!(found, "models/left.safetensors: no version of that name; it may be removed\n");
}
