//! What a registry would get: every file that a package embeds is in it, and its README stands alone.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::layers;

/// The README of all packages, below the root.
const README: &str = "crates/README.md";

/// Texts of licences, which every package has.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Looks at the files of every crate that can be published, without building any.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let readme = fs::read_to_string(root.join(README)).map_err(|error| format!("{README}: {error}"))?;
    if let Some(target) = relative_links(&readme).first() {
        return Err(format!("{README}: {target:?} leads nowhere on a registry; write it without the link"));
    }
    for one in layers::crates(root)? {
        let folder = root.join("crates").join(&one.name);
        let files = listed(root, &one.name)?;
        if let Some(licence) = LICENCES.iter().find(|licence| !files.contains(**licence)) {
            return Err(format!("{}: the package has no {licence}", one.name));
        }
        for path in
            files.iter().filter(|path| Path::new(path).extension().is_some_and(|ending| ending == "rs"))
        {
            let text = fs::read_to_string(folder.join(path))
                .map_err(|error| format!("{}/{path}: {error}", one.name))?;
            if let Some(missing) = missing(path, &text, &files) {
                return Err(format!(
                    "{}/{path} embeds {missing:?}, which its package does not hold; move it into the package, or read it when it runs",
                    one.name
                ));
            }
        }
    }
    Ok(())
}

/// The files of a package.
fn listed(root: &Path, name: &str) -> Result<BTreeSet<String>, String> {
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["package", "--list", "--allow-dirty", "--locked", "--quiet", "-p", name])
        .current_dir(root)
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().map(|line| line.replace('\\', "/")).collect())
}

/// The first file that a source embeds and that is not among the package's.
fn missing(path: &str, text: &str, files: &BTreeSet<String>) -> Option<String> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    embedded(text)
        .into_iter()
        .find(|target| !joined(folder, target).is_some_and(|path| files.contains(&path)))
}

/// What `include_str!` and `include_bytes!` name as plain text.
fn embedded(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for call in ["include_str!(\"", "include_bytes!(\""] {
        for (at, _) in text.match_indices(call) {
            found.extend(text[at + call.len()..].split_once('"').map(|(target, _)| target.to_owned()));
        }
    }
    found
}

/// A path below the package's folder, or `None` if it leaves that.
fn joined(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            "." => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Targets of Markdown links and pictures that are no addresses and no headings.
fn relative_links(text: &str) -> Vec<&str> {
    let targets = text.match_indices("](").filter_map(|(at, _)| text[at + 2..].split_once(')'));
    let is_relative = |target: &&str| !target.contains("://") && !target.starts_with('#');
    targets.map(|(target, _)| target).filter(is_relative).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_outside_the_package_is_named() {
        let files = BTreeSet::from(["src/a/b.rs".to_owned(), "data/in.txt".to_owned()]);
        let source = |target: &str| format!("const X: &str = {}({target:?});", "include_str!");
        assert_eq!(missing("src/a/b.rs", &source("../../data/in.txt"), &files), None);
        let outside = "../../../data/in.txt";
        assert_eq!(missing("src/a/b.rs", &source(outside), &files), Some(outside.to_owned()));
        let lost = "../../data/out.txt";
        assert_eq!(missing("src/a/b.rs", &source(lost), &files), Some(lost.to_owned()));
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let text = "[a](https://x.org/a) ![b](docs/b.png) [c](#c)";
        assert_eq!(relative_links(text), ["docs/b.png"]);
    }

    #[test]
    fn packages_of_this_workspace_hold_what_they_embed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder above");
        assert_eq!(check(root), Ok(()));
    }

    #[test]
    fn the_example_of_the_readme_is_the_one_that_the_documentation_runs() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder above");
        let readme = fs::read_to_string(root.join(README)).expect("a README");
        let library = fs::read_to_string(root.join("crates/evmachine/src/lib.rs")).expect("the library");
        let example = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
        let lines: Vec<String> = example
            .expect("an example")
            .lines()
            .map(|line| format!("//! {line}").trim_end().to_owned())
            .collect();
        assert!(library.contains(&lines.join("\n")), "{lines:#?}");
    }
}
