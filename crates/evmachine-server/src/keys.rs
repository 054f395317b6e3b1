//! Who may do what.

use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

/// Characters that a key has at least.
const SHORTEST: usize = 16;
/// The examples of the documentation.
const PUBLISHED: [&str; 4] = ["mT0wq2o7Vb1kWm4Z", "r8Jx5s0PqLd2Yc7u", "Zk3nV9bQ6tHf1aXe", "d6Qn2yV8oRk3sTfB"];

/// What a key lets its owner do; each lets do what those before it do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Have rows decided, and unknowns kept, and no more.
    Ask,
    /// See all that is there.
    Read,
    /// Answer, correct and learn.
    Label,
    /// Change versions, and take copies.
    Admin,
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Ask => "ask",
            Self::Read => "read",
            Self::Label => "label",
            Self::Admin => "admin",
        })
    }
}

/// A key, by its hash.
#[derive(Clone)]
struct Key {
    name: String,
    role: Role,
    hash: [u8; 32],
}

/// All keys.
#[derive(Clone, Default)]
pub struct Keys(Vec<Key>);

impl fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|key| (&key.name, key.role))).finish()
    }
}

/// A line that is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line} of the keys: {problem}; a line is `ROLE NAME KEY`, and a role ask, read, label or admin"
)]
pub struct KeysError {
    /// From 1.
    pub line: usize,
    /// What is wrong; never the key itself.
    pub problem: String,
}

impl Keys {
    /// Reads keys, one a line: role, name and key between spaces. Empty lines and those that begin with `#` are passed over.
    ///
    /// ```
    /// use evmachine_server::Keys;
    ///
    /// assert!(Keys::read("# for the ward\nlabel anna d6Qn2yV8oRk3sTfB").is_ok());
    /// assert!(Keys::read("label anna short").unwrap_err().to_string().contains("at least 16"));
    /// ```
    pub fn read(text: &str) -> Result<Self, KeysError> {
        let mut keys: Vec<Key> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let failed = |problem: String| KeysError { line: number + 1, problem };
            let words: Vec<&str> = line.split_whitespace().collect();
            let &[role, name, key] = &words[..] else {
                return Err(failed(format!("{} words instead of three", words.len())));
            };
            let role = match role {
                "ask" => Role::Ask,
                "read" => Role::Read,
                "label" => Role::Label,
                "admin" => Role::Admin,
                other => return Err(failed(format!("{other:?} is no role"))),
            };
            if key.chars().count() < SHORTEST {
                return Err(failed(format!(
                    "the key of {name} is short; take at least {SHORTEST} characters"
                )));
            }
            let hash = hash(key);
            if let Some(other) = keys.iter().find(|other| other.hash == hash || other.name == name) {
                let what = if other.name == name { "name" } else { "key" };
                return Err(failed(format!("{name} has the same {what} as {}", other.name)));
            }
            keys.push(Key { name: name.to_owned(), role, hash });
        }
        Ok(Self(keys))
    }

    /// Names of those whose key stands in the documentation, where everybody can read it.
    pub fn published(&self) -> Vec<&str> {
        let published: Vec<[u8; 32]> = PUBLISHED.into_iter().map(hash).collect();
        self.0.iter().filter(|key| published.contains(&key.hash)).map(|key| key.name.as_str()).collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whose key it is. Takes the same time whatever it is compared with.
    pub(crate) fn owner(&self, presented: &str) -> Option<(&str, Role)> {
        let presented = hash(presented);
        let mut found = None;
        for key in &self.0 {
            let differing = key.hash.iter().zip(&presented).fold(0, |bits, (a, b)| bits | (a ^ b));
            if std::hint::black_box(differing) == 0 {
                found = Some(key);
            }
        }
        found.map(|key| (key.name.as_str(), key.role))
    }
}

fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_their_whole_text() {
        let keys = Keys::read("read page 0123456789abcdef\n\nadmin root fedcba9876543210").unwrap();
        assert_eq!(keys.owner("0123456789abcdef"), Some(("page", Role::Read)));
        assert_eq!(keys.owner("fedcba9876543210"), Some(("root", Role::Admin)));
        assert_eq!(keys.owner("0123456789abcde"), None);
        assert_eq!(keys.owner(""), None);
        assert!(!format!("{keys:?}").contains("0123"));
    }

    #[test]
    fn keys_that_the_documentation_shows_are_told() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/server.md");
        let text = std::fs::read_to_string(path).unwrap();
        let example =
            text.split("# role name key\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let keys = Keys::read(example).unwrap();
        assert_eq!(keys.published().len(), keys.0.len());
        assert!(Keys::read("read a 0123456789abcdef").unwrap().published().is_empty());
    }

    #[test]
    fn bad_lines_are_named_and_keys_are_not() {
        for (text, line, problem) in [
            ("read page", 1, "2 words"),
            ("\nroot x 0123456789abcdef", 2, "no role"),
            ("read a 0123456789abcdef\nlabel b 0123456789abcdef", 2, "same key as a"),
            ("read a 0123456789abcdef\nlabel a 0123456789abcdeg", 2, "same name as a"),
        ] {
            let error = Keys::read(text).unwrap_err();
            assert_eq!(error.line, line);
            assert!(error.problem.contains(problem), "{error}");
            assert!(!error.to_string().contains("0123456789"), "{error}");
        }
    }
}
