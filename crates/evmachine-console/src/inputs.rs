//! Data files as they are named on the command line: one, several, a folder, or a pattern that a shell left as it was.

use std::path::{Path, PathBuf};

use crate::failure::{Failure, Kind};

/// The files that some names stand for. In the last part of a path `*` stands for any characters and `?` for one, unless there
/// is a file of that very name; files that match are in the order of their names. A folder stands for all files in it and below, in the order
/// of their paths, but for those whose names begin with a dot or an underscore, as markers and summaries of writers do.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        match pattern(path) {
            Some(pattern) => files.extend(matching(path, &pattern)?),
            None if path.is_dir() => {
                let mut found = Vec::new();
                gather(path, &mut found).map_err(|error| failed(path, &error))?;
                if found.is_empty() {
                    return Err(
                        Failure::new(Kind::Data, "no data files in this folder").about(path.display())
                    );
                }
                found.sort();
                files.extend(found);
            }
            None => files.push(path.clone()),
        }
    }
    Ok(files)
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Kind::Data, error.to_string()).about(path.display())
}

/// Files in a folder and below. Links to folders are not followed, as they may lead back.
fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(['.', '_']) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            gather(&entry.path(), files)?;
        } else if entry.path().is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn pattern(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    (name.contains(['*', '?']) && !path.exists()).then(|| name.to_owned())
}

fn matching(path: &Path, pattern: &str) -> Result<Vec<PathBuf>, Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let failed = |error: std::io::Error| failed(path, &error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder.unwrap_or(Path::new("."))).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        // As in a shell, what begins with a dot is hidden.
        let shown = name.to_string_lossy();
        if is_match(pattern, &shown) && (pattern.starts_with('.') || !shown.starts_with('.')) {
            files.push(folder.map_or_else(|| PathBuf::from(&name), |folder| folder.join(&name)));
        }
    }
    if files.is_empty() {
        return Err(Failure::new(Kind::Data, format!("no file matches {}", path.display())));
    }
    files.sort();
    Ok(files)
}

/// Where a star stands for too little, the last one takes in one character more.
fn is_match(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut seen, mut star) = (0, 0, None);
    while seen < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == name[seen] => {
                at += 1;
                seen += 1;
            }
            _ => {
                let Some((place, from)) = star else { return false };
                star = Some((place, from + 1));
                (at, seen) = (place + 1, from + 1);
            }
        }
    }
    pattern[at..].iter().all(|&rest| rest == '*')
}

#[cfg(test)]
mod tests {
    use super::is_match;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name) in [
            ("*", ""),
            ("a*", "a"),
            ("*.csv", "x.csv"),
            ("a*b*c", "aXbYbZc"),
            ("?.csv", "é.csv"),
            ("p-*-of-?", "p-1-of-2"),
        ] {
            assert!(is_match(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("*.csv", "x.csv.gz"), ("?", ""), ("a", "ab"), ("a*b", "ac")] {
            assert!(!is_match(pattern, name), "{pattern} {name}");
        }
    }
}
