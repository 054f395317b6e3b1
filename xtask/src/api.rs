//! The public methods of the library: those of a model counted by heading, and calls in their two forms.
//!
//! Every `impl Evm` with public methods begins with one of the headings, so that the documentation lists each method under one.
//!
//! A public call that takes a run is called `.._with`, and has a plain form next to it. This holds for every type that the root
//! names without the feature `unstable`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// What one does with a model, in the order of its life.
const HEADINGS: [&str; 10] = [
    "Learn",
    "Ask",
    "Explain",
    "Thresholds",
    "Strangers",
    "Correct",
    "Make smaller",
    "Rows",
    "Look inside",
    "Save",
];

/// By heading, the public methods below it; an error names the block without one.
pub(crate) fn methods(root: &Path) -> Result<BTreeMap<String, Vec<String>>, String> {
    let mut found = BTreeMap::new();
    each_file(&root.join("crates/evmachine/src"), &mut |text| of_file(text, &mut found))?;
    Ok(found)
}

/// Names a public call that takes a run and is not `.._with`, or has no plain form.
pub(crate) fn check_forms(root: &Path) -> Result<(), String> {
    let source = root.join("crates/evmachine/src");
    let text = fs::read_to_string(source.join("lib.rs")).map_err(|error| format!("lib.rs: {error}"))?;
    let mut calls = Calls { exported: exported(&text), ..Calls::default() };
    each_file(&source, &mut |text| {
        calls.take(text);
        Ok(())
    })?;
    calls.check()
}

fn each_file(folder: &Path, take: &mut impl FnMut(&str) -> Result<(), String>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            each_file(&path, take)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            take(&text).map_err(|reason| format!("{}: {reason}", path.display()))?;
        }
    }
    Ok(())
}

/// The names that the root exports without the feature `unstable`.
fn exported(root: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for statement in root.split(';') {
        let Some((before, path)) = statement.split_once("pub use ") else { continue };
        if before.contains("\"unstable\"") {
            continue;
        }
        let last = path.rsplit_once("::").map_or(path, |(_, last)| last);
        let list = path.split_once('{').map_or(last, |(_, list)| list.trim_end_matches('}'));
        names.extend(list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()));
    }
    names
}

/// Public calls: those of all types, and those that take a run.
#[derive(Default)]
struct Calls {
    exported: BTreeSet<String>,
    all: BTreeSet<String>,
    with_run: BTreeSet<String>,
}

impl Calls {
    /// Takes the calls of a file: methods as `Type::method`, functions by their name.
    fn take(&mut self, text: &str) {
        let mut owner: Option<&str> = None;
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line == "mod tests {" {
                return;
            }
            if line.starts_with("impl") {
                let named = line.split(" for ").last().unwrap_or(line).trim_start_matches("impl");
                let named = if named.starts_with('<') {
                    named.split_once("> ").map_or("", |(_, rest)| rest)
                } else {
                    named
                };
                owner = named.trim().split(['<', ' ']).next();
            } else if line.starts_with('}') {
                owner = None;
            }
            let Some(call) = line.trim_start().strip_prefix("pub fn ") else { continue };
            let mut signature = call.to_owned();
            while !signature.ends_with(['{', ';']) {
                let Some(next) = lines.next() else { break };
                signature.push_str(next.trim());
            }
            let name = call.split(['(', '<']).next().unwrap_or_default();
            let is_public = self.exported.contains(owner.unwrap_or(name));
            let name = owner.map_or(name.to_owned(), |owner| format!("{owner}::{name}"));
            if is_public && signature.contains("run: &Run<") {
                self.with_run.insert(name.clone());
            }
            self.all.insert(name);
        }
    }

    fn check(&self) -> Result<(), String> {
        for name in &self.with_run {
            let plain = name
                .strip_suffix("_with")
                .ok_or_else(|| format!("{name} takes a run: call it {name}_with"))?;
            if !self.all.contains(plain) {
                return Err(format!("{name} has no plain form: add {plain}, which calls it with Run::new()"));
            }
        }
        Ok(())
    }
}

fn of_file(text: &str, found: &mut BTreeMap<String, Vec<String>>) -> Result<(), String> {
    let mut heading: Option<Option<&str>> = None;
    let mut before = "";
    for line in text.lines() {
        if line == "impl Evm {" {
            heading = Some(before.strip_prefix("/// # "));
        } else if line == "}" {
            heading = None;
        }
        if let Some(heading) = heading
            && let Some(method) = line.strip_prefix("    pub fn ")
        {
            let name = method.split(['(', '<']).next().unwrap_or_default();
            let heading = heading.ok_or_else(|| format!("{name} stands under no heading"))?;
            if !HEADINGS.contains(&heading) {
                return Err(format!("{heading:?} is none of the headings"));
            }
            found.entry(heading.to_owned()).or_default().push(name.to_owned());
        }
        before = line;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "pub use one::{Evm,\n    Probe};\npub use two::suspects;\n#[cfg(feature = \"unstable\")]\npub use three::Table;\n";

    fn checked(text: &str) -> Result<(), String> {
        let mut calls = Calls { exported: exported(ROOT), ..Calls::default() };
        calls.take(text);
        calls.check()
    }

    #[test]
    fn a_call_with_a_run_has_two_forms() {
        let both = "impl Evm {\n    pub fn fit<P>(params: P) {\n    }\n    pub fn fit_with<P>(\n        run: &Run<'_>,\n        params: P,\n    ) {\n    }\n}\n";
        assert_eq!(checked(both), Ok(()));
        let lonely =
            "impl<'a> Probe<'a> {\n    pub fn fit_with(\n        run: &Run<'_>,\n    ) {\n    }\n}\n";
        assert_eq!(
            checked(lonely),
            Err("Probe::fit_with has no plain form: add Probe::fit, which calls it with Run::new()"
                .to_owned())
        );
        let plain = "pub fn suspects(run: &Run<'_>) {\n}\n";
        assert_eq!(checked(plain), Err("suspects takes a run: call it suspects_with".to_owned()));
        let others = "impl Table {\n    pub fn measure(run: &Run<'_>) {\n    }\n}\nimpl Evm {\n    pub(crate) fn own(run: &Run<'_>) {\n    }\n}\n";
        assert_eq!(checked(others), Ok(()));
    }

    #[test]
    fn the_calls_of_this_workspace_have_two_forms() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder above");
        assert_eq!(check_forms(root), Ok(()));
    }

    #[test]
    fn a_method_without_a_heading_is_named() {
        let mut found = BTreeMap::new();
        let text = "/// # Learn\nimpl Evm {\n    pub fn fit<P>(\n}\nimpl Evm {\n    fn own(\n}\n";
        assert_eq!(of_file(text, &mut found), Ok(()));
        assert_eq!(found["Learn"], ["fit"]);
        let lost = "impl Evm {\n    pub fn lost(\n}\n";
        assert_eq!(of_file(lost, &mut found), Err("lost stands under no heading".to_owned()));
        let other = "/// # Else\nimpl Evm {\n    pub fn lost(\n}\n";
        assert_eq!(of_file(other, &mut found), Err("\"Else\" is none of the headings".to_owned()));
    }
}
