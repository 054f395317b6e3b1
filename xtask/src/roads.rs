//! The roads of `CONTRIBUTING.md`: every file that they name is there, none stands twice, and none has grown.

use std::fs;
use std::path::Path;

/// By name, the most files a road may have.
const MOST: [(&str, usize); 4] = [
    ("Train from Parquet", 30),
    ("Predict", 20),
    ("From a label to a new version", 15),
    ("Fit in Python", 10),
];

/// Fails with the road and what is wrong with it.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let path = root.join("CONTRIBUTING.md");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    for (name, most) in MOST {
        let road = of(&text, name).ok_or_else(|| format!("CONTRIBUTING.md has no road {name:?}"))?;
        let files = files(road);
        let exists = |file: &&String| !root.join(file).is_file();
        if let Some(missing) = files.iter().find(exists) {
            return Err(format!("the road {name:?} goes by {missing}, which is not there"));
        }
        counted(name, road, &files, most)?;
    }
    Ok(())
}

/// From the name of a road to the next one.
fn of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let road = text.split(&format!("**{name}**, ")).nth(1)?;
    road.split("\n**").next()?.split("\n## ").next()
}

/// Files by their path from the root: a folder in backticks holds the files that follow it.
fn files(road: &str) -> Vec<String> {
    let mut folder = "";
    let mut found = Vec::new();
    for word in road.split('`').skip(1).step_by(2) {
        if Path::new(word).extension().is_some_and(|ending| ending == "rs" || ending == "py") {
            found.push(format!("{folder}/{word}"));
        } else if word.contains('/') {
            folder = word;
        }
    }
    found
}

fn counted(name: &str, road: &str, files: &[String], most: usize) -> Result<(), String> {
    if let Some(twice) = files.iter().enumerate().find(|(at, file)| files[..*at].contains(file)) {
        return Err(format!("the road {name:?} goes by {} twice", twice.1));
    }
    let said: Option<usize> = road.split(' ').next().and_then(|count| count.parse().ok());
    if said != Some(files.len()) || files.len() > most {
        return Err(format!(
            "the road {name:?} says {said:?} files, names {}, and may have {most}: correct it, or shorten the road",
            files.len()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_follow_their_folders_and_are_counted() {
        let text = "**Go**, 2 files: `a/src`: `x.rs` does `--this`; `b/src`: `x.rs`.\n\n**Back**, 1 files: `a/src`: `y.rs`\n";
        let road = of(text, "Go").expect("a road");
        let found = files(road);
        assert_eq!(found, ["a/src/x.rs", "b/src/x.rs"]);
        assert_eq!(counted("Go", road, &found, 2), Ok(()));
        assert!(counted("Go", road, &found, 1).is_err(), "it has grown");
        assert!(counted("Go", road, &found[..1], 2).is_err(), "it is said to have two");
        let twice = [found[0].clone(), found[0].clone()];
        assert!(counted("Go", road, &twice, 2).is_err());
    }

    #[test]
    fn the_roads_of_this_workspace_are_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder above");
        assert_eq!(check(root), Ok(()));
    }
}
