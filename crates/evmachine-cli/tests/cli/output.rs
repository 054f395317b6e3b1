//! What arrives at the standard output, and what a terminal gets to see.

use std::fmt::Write as _;
use std::process::Stdio;

use crate::{Place, fixture, trained};

/// Rows of two classes, the name of one of which clears a screen, turns writing round and breaks the line.
const NAME: &str = "a\u{1b}[2J\u{9b}\u{202e}b\rc";

fn hostile() -> String {
    let mut text = "\"x\u{1b}[1m\",y,class\n".to_owned();
    for row in 0..20 {
        let class = if row % 2 == 0 { NAME } else { "plain" };
        let _ = writeln!(text, "{},{},\"{class}\"", row % 2 * 5 + row / 4, row % 3);
    }
    text
}

fn is_harmless(text: &str) -> bool {
    !text.contains(|letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}')
}

#[test]
fn names_from_files_command_no_terminal() {
    let place = Place::new();
    place.write("h.csv", hostile());
    // The name once more, as a stranger.
    place.write("new.csv", hostile().replace("plain", "\u{1b}]0;new\u{7}"));
    place.write("bad.csv", hostile() + "1,\u{1b}[31mred,plain\n");
    let label = ["--label", "class"];
    let commands: [&[&str]; 10] = [
        &["train", "h.csv", "-o", "m"],
        &["train", "bad.csv", "-o", "n"],
        &["-v", "update", "m", "new.csv", "-o", "u"],
        &["evaluate", "m", "h.csv", "--confusion"],
        &["evaluate", "m", "new.csv", "--json"],
        &["calibrate", "m", "h.csv", "-o", "c"],
        &["train", "h.csv", "--features", "x\u{1b}", "-o", "n"],
        &["train", "no\u{1b}.csv", "-o", "n"],
        &["tune", "h.csv", "--trials", "1", "--folds", "2"],
        &["plot", "h.csv", "-o", "p\u{9b}.svg"],
    ];
    for arguments in commands {
        let output = place.run(&[arguments, &label].concat());
        for text in [output.stdout, output.stderr] {
            let text = String::from_utf8(text).unwrap();
            assert!(is_harmless(&text), "{arguments:?}: {text:?}");
        }
    }
    let inspected = place.ok(&["inspect", "u"]);
    assert!(inspected.contains(r"a\u{1b}[2J\u{9b}\u{202e}b\rc"), "{inspected}");
    assert!(inspected.contains(r"\u{1b}]0;new\u{7}") && is_harmless(&inspected), "{inspected}");
    assert!(is_harmless(&place.fails(2, &["train", "--\u{1b}[2J"])));
    let forgotten = place.fails(2, &["forget", "m", "\u{1b}", "-o", "f"]);
    assert!(is_harmless(&forgotten), "{forgotten:?}");
}

#[test]
fn programs_get_the_true_names() {
    let place = Place::new();
    place.write("h.csv", hostile());
    place.ok(&["train", "h.csv", "--label", "class", "-o", "m"]);
    let inspected = place.ok(&["inspect", "m", "--json"]);
    assert!(is_harmless(&inspected), "{inspected}");
    let json: serde_json::Value = serde_json::from_str(&inspected).unwrap();
    assert_eq!(json["classes"][0]["name"], NAME);
    place.ok(&["predict", "m", "h.csv", "--drop", "class", "-o", "out.jsonl"]);
    let row: serde_json::Value =
        serde_json::from_str(place.read("out.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!(row["best"], NAME);
    place.ok(&["predict", "m", "h.csv", "--drop", "class", "-o", "out.csv"]);
    assert!(place.read("out.csv").contains(&format!("\"{NAME}\"")));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_said() {
    let place = Place::new();
    trained(&place);
    let letters = fixture("letters.csv");
    let label = ["--label", "class"];
    let commands: [&[&str]; 9] = [
        &["--help"],
        &["train", "--help"],
        &["--version"],
        &["completions", "bash"],
        &["inspect", "model.safetensors"],
        &["inspect", "model.safetensors", "--json"],
        &["evaluate", "model.safetensors", &letters, label[0], label[1]],
        &["evaluate", "model.safetensors", &letters, label[0], label[1], "--json"],
        &["predict", "model.safetensors", &letters, "--drop", "class"],
    ];
    for arguments in commands {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = place.command(arguments).stdout(full).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("standard output") && said.contains("No space left"), "{arguments:?}: {said}");
    }
    // The model is written all the same.
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let calibrate = ["calibrate", "model.safetensors", &letters, "-o", "calibrated", "--label", "class"];
    assert_eq!(place.command(&calibrate).stdout(full).output().unwrap().status.code(), Some(1));
    place.ok(&["inspect", "calibrated"]);
    assert!(
        place
            .fails(
                1,
                &[
                    "predict",
                    "model.safetensors",
                    &letters,
                    "--drop",
                    "class",
                    "-o",
                    "/dev/full",
                    "--output-format",
                    "csv"
                ]
            )
            .contains("/dev/full")
    );
}

#[test]
fn a_reader_that_had_enough_of_help_is_no_error() {
    let place = Place::new();
    for arguments in [&["--help"][..], &["completions", "zsh"], &["train", "--help"]] {
        let mut child =
            place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_named_before_anything_is_done() {
    let place = Place::new();
    trained(&place);
    let letters = fixture("letters.csv");
    let (label, model) = (["--label", "class"], "model.safetensors");
    place.ok(&["pool", "init", "pool", model]);
    let commands: [&[&str]; 13] = [
        &["export", model, "--onnx", "nowhere/m.onnx"],
        &["tune", &letters, "-o", "nowhere/p.toml"],
        &["pool", "export", "pool", "-o", "nowhere/p.csv"],
        &["pool", "export", "pool", "--model", "nowhere/m"],
        &["train", &letters, "-o", "nowhere/m"],
        &["update", model, &letters, "-o", "nowhere/m"],
        &["calibrate", model, &letters, "-o", "nowhere/m"],
        &["evaluate", model, &letters, "--plot", "nowhere/p.png"],
        &["plot", &letters, "-o", "nowhere/p.png"],
        &["predict", model, &letters, "-o", "nowhere/p.csv"],
        &["forget", model, "A", "-o", "nowhere/m"],
        &["reduce", model, "--max-total", "9", "-o", "nowhere/m"],
        &["set", model, "--delta", "0.1", "-o", "nowhere/m"],
    ];
    for arguments in commands {
        let takes_data = arguments.contains(&letters.as_str());
        let said = place.fails(1, &[arguments, if takes_data { &label[..] } else { &[] }].concat());
        assert!(said.contains("the folder nowhere does not exist"), "{arguments:?}: {said}");
    }
}

#[test]
fn threads_are_limited_and_the_limit_said() {
    let place = Place::new();
    trained(&place);
    let output = place.run(&["--threads", "99999", "inspect", "model.safetensors"]);
    let said = String::from_utf8(output.stderr).unwrap();
    let cores = std::thread::available_parallelism().unwrap();
    assert!(output.status.success(), "{said}");
    let used = format!("there are {cores} cores; {} threads are used", 4 * usize::from(cores));
    assert!(said.contains(&used), "{said}");
    assert!(place.run(&["--threads", "2", "inspect", "model.safetensors"]).stderr.is_empty());
}
