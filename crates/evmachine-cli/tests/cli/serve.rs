//! `evmachine serve`: what it says before it serves.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use crate::{Place, fixture};

/// What a server says until it tells its address.
fn said(place: &Place, arguments: &[&str]) -> String {
    said_after(place, arguments, |_| {})
}

/// The same, with what is done once it can be reached.
fn said_after(place: &Place, arguments: &[&str], then: impl FnOnce(&str)) -> String {
    let mut server = place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut address).unwrap();
    then(address.trim().trim_start_matches("http://"));
    server.kill().unwrap();
    let output = server.wait_with_output().unwrap();
    assert!(address.contains("http://127.0.0.1:"), "{address}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
#[cfg(unix)]
fn keys_that_others_may_know_are_warned_of() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::new();
    let letters = fixture("letters.csv");
    place.ok(&["train", &letters, "--label", "class", "-o", "model.safetensors"]);
    place.ok(&["pool", "init", "pool", "model.safetensors"]);
    let keys = place.write("keys", "label anna r8Jx5s0PqLd2Yc7u\nadmin ops 0123456789abcdefgh\n");
    let mode = |mode: u32| std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(mode)).unwrap();
    let arguments = ["serve", "pool", "--listen", "127.0.0.1:0", "--keys", "keys"];
    mode(0o644);
    let warned = said(&place, &arguments);
    assert!(warned.contains("the key of anna stands in the documentation"), "{warned}");
    assert!(!warned.contains("key of ops") && !warned.contains("r8Jx5s0PqLd2Yc7u"), "{warned}");
    assert!(warned.contains("keys can be read by others on this machine"), "{warned}");
    mode(0o600);
    place.write("keys", "admin ops 0123456789abcdefgh\n");
    let warned = said(&place, &arguments);
    assert!(!warned.contains("warning"), "{warned}");
}

#[test]
fn answers_are_logged_if_asked_for_and_as_json() {
    let place = Place::new();
    let letters = fixture("letters.csv");
    place.ok(&["train", &letters, "--label", "class", "-o", "model.safetensors"]);
    place.ok(&["pool", "init", "pool", "model.safetensors"]);
    let ask = |address: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /v1/status?secret=1 HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
    };
    let serve = ["serve", "pool", "--listen", "127.0.0.1:0", "-q"];
    let logged = said_after(&place, &[&serve[..], &["--log", "info", "--log-format", "json"]].concat(), ask);
    let line = logged.lines().find(|line| line.contains("answered")).unwrap_or_else(|| panic!("{logged}"));
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!((line["level"].as_str(), line["route"].as_str()), (Some("INFO"), Some("/v1/status")));
    assert!(line["seconds"].as_f64().is_some() && line["status"].as_u64().is_some(), "{line}");
    assert!(!logged.contains("secret"), "what clients send is theirs: {logged}");
    let quiet = said_after(&place, &serve, ask);
    assert!(!quiet.contains("answered"), "{quiet}");
}
