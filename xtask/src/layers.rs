//! Which way the code imports: between crates, and between the rooms of the library and its engine, downwards alone.
//!
//! A room is a folder, or a file that is alone, right below `src`. Tests may look anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Crates whose rooms are held to an order.
pub(crate) const HELD: [&str; 2] = ["evmachine-engine", "evmachine"];

/// By name, what it imports.
pub(crate) type Graph = BTreeMap<String, BTreeSet<String>>;

/// A crate, as its manifest has it.
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) description: String,
    /// Other crates of the workspace that it needs to run; tests may need more.
    pub(crate) needs: BTreeSet<String>,
}

/// Fails on a cycle, and says which way it goes.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let crates: Graph = crates(root)?.into_iter().map(|one| (one.name, one.needs)).collect();
    layers(&crates).map_err(|cycle| format!("crates import each other: {}", cycle.join(" -> ")))?;
    for name in HELD {
        let graph = rooms(&sources(root, name)?);
        layers(&graph)
            .map_err(|cycle| format!("rooms of {name} import each other: {}", cycle.join(" -> ")))?;
    }
    Ok(())
}

/// All crates of the workspace below `crates`.
pub(crate) fn crates(root: &Path) -> Result<Vec<Crate>, String> {
    let folder = root.join("crates");
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path().join("Cargo.toml");
        let Ok(manifest) = fs::read_to_string(&path) else { continue };
        found.push(of_manifest(&entry.file_name().to_string_lossy(), &manifest));
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn of_manifest(name: &str, manifest: &str) -> Crate {
    let mut section = "";
    let (mut needs, mut description) = (BTreeSet::new(), String::new());
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
        } else if let Some((key, value)) = line.split_once('=') {
            let key = key.trim();
            if section == "dependencies" && key.starts_with("evmachine") {
                needs.insert(key.to_owned());
            } else if section == "package" && key == "description" {
                value.trim().trim_matches('"').clone_into(&mut description);
            }
        }
    }
    Crate { name: name.to_owned(), description, needs }
}

/// Files of a crate, by their path below `src`.
pub(crate) fn sources(root: &Path, name: &str) -> Result<Vec<(String, String)>, String> {
    let source = root.join("crates").join(name).join("src");
    let mut folders = vec![source.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text =
                    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                let below = path.strip_prefix(&source).map_err(|error| error.to_string())?;
                found.push((below.to_string_lossy().replace('\\', "/"), text));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Which rooms the rooms of a crate import.
pub(crate) fn rooms(files: &[(String, String)]) -> Graph {
    let mut graph = Graph::new();
    for (path, _) in files {
        let room = room_of(path);
        if !["lib", "main"].contains(&room) {
            graph.entry(room.to_owned()).or_default();
        }
    }
    let names: BTreeSet<String> = graph.keys().cloned().collect();
    for (path, text) in files {
        let room = room_of(path);
        // Laws hold for the whole crate, and are tests.
        if path.ends_with("laws.rs") {
            continue;
        }
        if let Some(imports) = graph.get_mut(room) {
            imports.extend(imported(text).into_iter().filter(|name| name != room && names.contains(name)));
        }
    }
    graph.retain(|name, _| name != "laws");
    graph
}

fn room_of(path: &str) -> &str {
    let first = path.split('/').next().unwrap_or(path);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// The names after `crate::` in code that is no test.
fn imported(text: &str) -> BTreeSet<String> {
    let code: String = text
        .lines()
        .take_while(|line| line.trim() != "#[cfg(test)]" || line.starts_with(' '))
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let is_word = |character: char| character.is_alphanumeric() || character == '_';
        if code[..at].chars().next_back().is_some_and(is_word) {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => found.extend(rest.split(|character| !is_word(character)).next().map(str::to_owned)),
            Some(list) => found.extend(first_names(list)),
        }
    }
    found
}

/// The first name of each entry of a list of imports, which may hold lists itself.
fn first_names(list: &str) -> Vec<String> {
    let (mut depth, mut entries) = (0, vec![String::new()]);
    for character in list.chars() {
        match character {
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            '{' => depth += 1,
            ',' if depth == 0 => entries.push(String::new()),
            _ if depth == 0 => entries.last_mut().expect("there is one").push(character),
            _ => {}
        }
    }
    let first = |entry: &String| entry.trim().split([':', ' ']).next().unwrap_or_default().to_owned();
    entries.iter().map(first).filter(|name| !name.is_empty()).collect()
}

/// The names in an order in which each imports those before it alone; else a cycle, which ends where it begins.
pub(crate) fn layers(graph: &Graph) -> Result<Vec<String>, Vec<String>> {
    let mut order: Vec<String> = Vec::new();
    while order.len() < graph.len() {
        let is_ready = |name: &String| {
            let imports = &graph[name];
            !order.contains(name)
                && imports.iter().all(|other| !graph.contains_key(other) || order.contains(other))
        };
        match graph.keys().find(|name| is_ready(name)) {
            Some(name) => order.push(name.clone()),
            None => return Err(cycle(graph, &order)),
        }
    }
    Ok(order)
}

/// From a name that is not in order, always on to one that it imports and that is not in order either.
fn cycle(graph: &Graph, order: &[String]) -> Vec<String> {
    let stuck = |name: &&String| !order.contains(name) && graph.contains_key(*name);
    let mut path: Vec<String> = graph.keys().find(|name| stuck(name)).cloned().into_iter().collect();
    while let Some(next) = path.last().and_then(|last| graph[last].iter().find(|name| stuck(name))) {
        if let Some(at) = path.iter().position(|name| name == next) {
            path.push(next.clone());
            return path.split_off(at);
        }
        path.push(next.clone());
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn imports_are_found_in_lists_and_not_in_tests_or_comments() {
        let text = "use crate::a::{x, y};\nuse crate::{b, c::{self, z}, d as e};\n// crate::not\nlet x = crate::f();\n#[cfg(test)]\nmod tests { use crate::g; }";
        let found: Vec<String> = imported(text).into_iter().collect();
        assert_eq!(found, ["a", "b", "c", "d", "f"].map(str::to_owned));
    }

    #[test]
    fn rooms_that_import_downwards_have_an_order() {
        let graph = rooms(&files(&[
            ("lib.rs", "mod top; mod low;"),
            ("top/one.rs", "use crate::low::two::Two;"),
            ("top.rs", ""),
            ("low/two.rs", "use crate::low::three;\n#[cfg(test)]\nmod tests { use crate::top; }"),
        ]));
        assert_eq!(layers(&graph), Ok(vec!["low".to_owned(), "top".to_owned()]));
    }

    #[test]
    fn a_cycle_is_named() {
        let graph = rooms(&files(&[
            ("a.rs", "use crate::b;"),
            ("b/x.rs", "fn f() { crate::c::g() }"),
            ("c.rs", "use crate::{b::y};"),
            ("d.rs", ""),
        ]));
        assert_eq!(layers(&graph), Err(["b", "c", "b"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn manifests_tell_what_a_crate_needs() {
        let manifest = "[package]\ndescription = \"a b\"\n[dependencies]\nevmachine-files = { path = \"x\" }\nrayon = \"1\"\n[dev-dependencies]\nevmachine = \"1\"";
        let found = of_manifest("x", manifest);
        assert_eq!((found.description.as_str(), found.needs.len()), ("a b", 1));
        assert!(found.needs.contains("evmachine-files"));
    }

    #[test]
    fn this_workspace_imports_downwards() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder above");
        assert_eq!(check(root), Ok(()));
    }
}
