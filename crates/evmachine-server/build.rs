//! Lists the files of the page, so that they are in the binary.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    let page = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("page");
    println!("cargo::rerun-if-changed={}", page.display());
    let mut files: Vec<String> = fs::read_dir(&page)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| kind(name).is_some())
        .collect();
    files.sort();
    let mut table = String::from("&[\n");
    for name in files {
        let kind = kind(&name).expect("others were left out");
        let path = page.join(&name).display().to_string();
        writeln!(table, "    ({name:?}, {kind:?}, include_bytes!({path:?})),").expect("text can be written");
    }
    table.push(']');
    let output = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("page.rs");
    fs::write(output, table).expect("the table can be written");
}

fn kind(name: &str) -> Option<&'static str> {
    match Path::new(name).extension()?.to_str()? {
        "html" => Some("text/html; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        "png" => Some("image/png"),
        _ => None,
    }
}
