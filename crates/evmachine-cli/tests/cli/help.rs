//! What every command says of itself.

use crate::Place;

const COMMANDS: [&str; 23] = [
    "demo",
    "calibrate",
    "train",
    "predict",
    "update",
    "reduce",
    "forget",
    "edit",
    "migrate",
    "doubt",
    "drift",
    "suspects",
    "rows",
    "set",
    "tune",
    "evaluate",
    "inspect",
    "plot",
    "export",
    "pool",
    "serve",
    "completions",
    "man",
];

const POOL_COMMANDS: [&str; 18] = [
    "init",
    "add",
    "next",
    "label",
    "ignore",
    "discard",
    "enrolment",
    "undo",
    "update",
    "promote",
    "rollback",
    "status",
    "events",
    "check",
    "export",
    "backup",
    "restore",
    "migrate",
];

const EDITS: [&str; 9] =
    ["rename", "merge", "split", "relabel", "unlearn", "ignore", "not", "set-aside", "restore"];

/// The names of commands that help lists.
fn listed(help: &str) -> Vec<&str> {
    let lines = help.split("Commands:\n").nth(1).unwrap().lines();
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let mut names: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    names.retain(|name| *name != "help");
    names.sort_unstable();
    names
}

#[test]
fn no_command_is_forgotten_here() {
    let place = Place::new();
    let sorted = |names: &[&'static str]| {
        let mut names = names.to_vec();
        names.sort_unstable();
        names
    };
    assert_eq!(listed(&place.ok(&["--help"])), sorted(&COMMANDS));
    assert_eq!(listed(&place.ok(&["pool", "--help"])), sorted(&POOL_COMMANDS));
    assert_eq!(listed(&place.ok(&["edit", "--help"])), sorted(&EDITS));
}

#[test]
fn help_is_as_it_was_approved() {
    let place = Place::new();
    insta::assert_snapshot!("help", place.ok(&["--help"]));
    for command in COMMANDS {
        insta::assert_snapshot!(format!("help_{command}"), place.ok(&[command, "--help"]));
    }
    let pool = POOL_COMMANDS.map(|command| place.ok(&["pool", command, "--help"]));
    insta::assert_snapshot!("help_pool_commands", pool.join("\n---\n\n"));
    let edits = EDITS.map(|edit| place.ok(&["edit", edit, "--help"]));
    insta::assert_snapshot!("help_edits", edits.join("\n---\n\n"));
}

#[test]
fn every_command_has_an_example() {
    let place = Place::new();
    for command in COMMANDS {
        let help = place.ok(&[command, "--help"]);
        assert!(help.contains(&format!("Example: evmachine {command}")), "{help}");
    }
    for command in POOL_COMMANDS {
        let help = place.ok(&["pool", command, "--help"]);
        assert!(help.contains(&format!("Example: evmachine pool {command}")), "{help}");
    }
    for edit in EDITS {
        let help = place.ok(&["edit", edit, "--help"]);
        assert!(help.contains(&format!("Example: evmachine edit {edit}")), "{help}");
    }
}

#[test]
fn completions_and_man_pages_cover_every_command() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.ok(&["completions", shell]);
        for command in COMMANDS {
            let named = match shell {
                "bash" => format!("evmachine,{command})"),
                "zsh" => format!("({command})"),
                "fish" => format!("-a \"{command}\""),
                _ => format!("evmachine;{command}'"),
            };
            assert!(script.contains(&named), "{shell} lacks {named}");
        }
    }
    place.ok(&["man", "pages"]);
    for command in COMMANDS {
        let page =
            std::fs::read_to_string(place.path("pages").join(format!("evmachine-{command}.1"))).unwrap();
        assert!(page.contains(&format!("evmachine\\-{command}")) && page.contains("Example: "), "{page}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(Place::new().ok(&["--version"]), format!("evmachine {}\n", env!("CARGO_PKG_VERSION")));
}

/// Every example of the help, typed as it stands there, in an order in which each finds what it needs.
#[test]
fn every_example_runs() {
    let place = Place::new();
    let rows: Vec<&str> = evmachine_console::letter::TEXT.lines().collect();
    place.write("letters.csv", rows[..900].join("\n"));
    place.write("test.csv", rows[900..1200].join("\n"));
    place.write("labelled.csv", rows[1200..1400].join("\n"));
    let features: Vec<&str> = rows[1400..1500].iter().map(|row| row.split_once(',').unwrap().1).collect();
    place.write("new.csv", features.join("\n"));
    place.write("faces.csv", crate::encoder::vectors(1.0, 6));
    place.write("faces-2.csv", crate::encoder::vectors(2.0, 8));
    place.ok(&["train", "faces.csv", "--label", "class", "--id", "image", "-o", "faces.safetensors"]);
    let home = place.path("home");
    std::fs::create_dir_all(home.join(".local/share/bash-completion/completions")).unwrap();
    let pool = [
        "add", "next", "label", "ignore", "discard", "undo", "update", "promote", "status", "events",
        "check", "export", "backup", "restore", "rollback",
    ]
    .map(|command| ["pool", command]);
    let plain = [
        "demo",
        "train",
        "predict",
        "evaluate",
        "update",
        "reduce",
        "forget",
        "edit",
        "migrate",
        "doubt",
        "drift",
        "suspects",
        "rows",
        "set",
        "inspect",
        "plot",
        "export",
        "completions",
        "man",
        "tune",
        "pool",
    ];
    for command in plain.iter().map(std::slice::from_ref).chain(pool.iter().map(|command| &command[..])) {
        let help = place.ok(&[command, &["--help"]].concat());
        let example =
            help.split("Example: ").nth(1).unwrap().split("\n\n").next().unwrap().replace('\n', " ");
        // Man pages need a pager, and tuning for so many trials a minute: both are shortened.
        let example = example.split(" && man").next().unwrap().replace("--trials 100", "--trials 2");
        let binary = std::path::Path::new(env!("CARGO_BIN_EXE_evmachine"));
        let path = format!("{}:/usr/bin:/bin", binary.parent().unwrap().display());
        let output = std::process::Command::new("sh")
            .args(["-c", &example])
            .current_dir(place.path("."))
            .env("PATH", path)
            .env("HOME", &home)
            .output()
            .unwrap();
        assert!(output.status.success(), "{example}: {}", String::from_utf8_lossy(&output.stderr));
    }
    for name in [
        "letters.safetensors",
        "small.safetensors",
        "predictions.csv",
        "letters.png",
        "letters.onnx",
        "params.toml",
    ] {
        assert!(place.path(name).exists(), "{name}");
    }
}
