//! What every command says of itself.

use crate::Place;

const COMMANDS: [&str; 12] = [
    "demo",
    "train",
    "predict",
    "update",
    "reduce",
    "forget",
    "tune",
    "evaluate",
    "inspect",
    "plot",
    "completions",
    "man",
];

#[test]
fn help_is_as_it_was_approved() {
    let place = Place::new();
    insta::assert_snapshot!("help", place.ok(&["--help"]));
    for command in COMMANDS {
        insta::assert_snapshot!(format!("help_{command}"), place.ok(&[command, "--help"]));
    }
}

#[test]
fn every_command_has_an_example() {
    let place = Place::new();
    for command in COMMANDS {
        let help = place.ok(&[command, "--help"]);
        assert!(help.contains(&format!("Example: evmachine {command}")), "{help}");
    }
}

#[test]
fn completions_and_man_pages_cover_every_command() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.ok(&["completions", shell]);
        assert!(COMMANDS.iter().all(|command| script.contains(command)), "{shell}");
    }
    place.ok(&["man", "pages"]);
    for command in COMMANDS {
        let page =
            std::fs::read_to_string(place.path("pages").join(format!("evmachine-{command}.1"))).unwrap();
        assert!(page.starts_with(".ie"), "{page}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(Place::new().ok(&["--version"]), format!("evmachine {}\n", env!("CARGO_PKG_VERSION")));
}
