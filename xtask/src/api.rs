//! The methods of a model, counted by heading.
//!
//! Every `impl Evm` with public methods begins with one of the headings, so that the documentation lists each method under one.

use std::collections::BTreeMap;
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
    collect(&root.join("crates/evmachine/src"), &mut found)?;
    Ok(found)
}

fn collect(folder: &Path, found: &mut BTreeMap<String, Vec<String>>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            of_file(&text, found).map_err(|reason| format!("{}: {reason}", path.display()))?;
        }
    }
    Ok(())
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
