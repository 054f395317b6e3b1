//! The text that people read: no word from the list in `docs/style.md`, and no link to a file or a heading that does not exist.
//!
//! Code blocks and inline code are not prose. The second list of `docs/style.md` holds in code too.

mod markdown;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fmt, fs};

use markdown::Token;

/// Where the lists are.
const STYLE: &str = "docs/style.md";

/// The headings of the two lists.
const WORDS: &str = "## Words";
const NOWHERE: &str = "## Nowhere";

/// Single pages, and folders whose pages are read, that hold prose.
const PAGES: [&str; 4] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "python/README.md"];
const FOLDERS: [&str; 2] = ["docs", "repro"];

/// Decisions are records of their time: their links are checked, their words are not.
const RECORDS: &str = "docs/decisions";

/// Why nothing could be checked, or everything that was found.
#[derive(Debug, PartialEq)]
enum Failure {
    Unreadable { path: String, reason: String },
    NoList { heading: &'static str },
    Found(Vec<Finding>),
}

#[derive(Debug, PartialEq)]
struct Finding {
    path: String,
    line: usize,
    problem: Problem,
}

#[derive(Debug, PartialEq)]
enum Problem {
    Word { found: String, instead: String },
    MissingFile { target: String },
    MissingHeading { target: String },
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, reason } => write!(out, "{path}: {reason}"),
            Self::NoList { heading } => write!(out, "{STYLE} has no list under {heading:?}"),
            Self::Found(findings) => {
                write!(out, "{} in the text that people read", findings.len())?;
                findings.iter().try_for_each(|finding| write!(out, "\n{finding}"))
            }
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: ", self.path, self.line)?;
        match &self.problem {
            Problem::Word { found, instead } => write!(out, "{found:?}: {instead} ({STYLE})"),
            Problem::MissingFile { target } => write!(out, "the link {target:?} leads to no file"),
            Problem::MissingHeading { target } => write!(out, "the link {target:?} leads to no heading"),
        }
    }
}

/// Fails with every word and every link that is wrong.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    checked(root).map_err(|failure| failure.to_string())
}

fn checked(root: &Path) -> Result<(), Failure> {
    let pages = pages(root)?;
    let style = pages.get(STYLE).map_or("", String::as_str);
    let words = list(style, WORDS)?;
    let nowhere = list(style, NOWHERE)?;
    let mut findings = Vec::new();
    for (path, text) in &pages {
        if !path.starts_with(RECORDS) {
            findings.extend(bad_words(path, &checked_part(path, text), &words, &nowhere));
        }
        findings.extend(broken_links(path, text, &pages, |path| root.join(path).exists()));
    }
    if findings.is_empty() { Ok(()) } else { Err(Failure::Found(findings)) }
}

/// All pages, by their path from the root.
fn pages(root: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let mut paths: BTreeSet<String> = PAGES.iter().map(|&page| page.to_owned()).collect();
    for folder in FOLDERS.iter().chain([&RECORDS]) {
        let entries = fs::read_dir(root.join(folder)).map_err(|error| unreadable(folder, &error))?;
        for entry in entries {
            let name = entry.map_err(|error| unreadable(folder, &error))?.file_name();
            let path = format!("{folder}/{}", name.to_string_lossy());
            if Path::new(&path).extension().is_some_and(|ending| ending == "md") {
                paths.insert(path);
            }
        }
    }
    let read = |path: String| match fs::read_to_string(root.join(&path)) {
        Ok(text) => Ok((path, text)),
        Err(error) => Err(unreadable(&path, &error)),
    };
    paths.into_iter().map(read).collect()
}

fn unreadable(path: &str, error: &std::io::Error) -> Failure {
    Failure::Unreadable { path: path.to_owned(), reason: error.to_string() }
}

/// A page with blank lines for what is not checked: tables of the style page, which quote, and releases, which are history.
fn checked_part(path: &str, text: &str) -> String {
    let mut is_checked = true;
    let mut kept = Vec::new();
    for line in text.lines() {
        if path == "CHANGELOG.md" && line.starts_with("## ") {
            is_checked = line.to_lowercase().contains("unreleased");
        }
        let is_quoted = path == STYLE && line.starts_with('|');
        kept.push(if is_checked && !is_quoted { line } else { "" });
    }
    kept.join("\n")
}

/// A row of a list: what not to write, and what to do about it.
#[derive(Debug, PartialEq)]
struct Rule {
    pattern: String,
    instead: String,
}

/// The table under a heading: the first cell holds patterns as inline code, the second what to write.
fn list(style: &str, heading: &'static str) -> Result<Vec<Rule>, Failure> {
    let section = style.lines().skip_while(|line| *line != heading).skip(1);
    let rows = section.take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with('|'));
    let mut rules = Vec::new();
    for row in rows {
        let mut cells = row.trim_matches('|').split(" | ");
        let (patterns, instead) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        rules.extend(
            patterns
                .split('`')
                .skip(1)
                .step_by(2)
                .map(|pattern| Rule { pattern: pattern.to_owned(), instead: instead.trim().to_owned() }),
        );
    }
    if rules.is_empty() { Err(Failure::NoList { heading }) } else { Ok(rules) }
}

/// Words of prose, and text that is to be nowhere.
fn bad_words(path: &str, text: &str, words: &[Rule], nowhere: &[Rule]) -> Vec<Finding> {
    let finding = |line: usize, rule: &Rule| Finding {
        path: path.to_owned(),
        line,
        problem: Problem::Word { found: rule.pattern.clone(), instead: rule.instead.clone() },
    };
    let tokens = markdown::tokens(&markdown::masked(text));
    let mut found = Vec::new();
    for rule in words {
        let pattern = Pattern::new(&rule.pattern);
        let starts = (0..tokens.len()).filter(|&at| pattern.is_at(&tokens[at..]));
        found.extend(starts.map(|at| finding(tokens[at].line, rule)));
    }
    for (at, line) in text.lines().enumerate() {
        let rules = nowhere.iter().filter(|rule| line.contains(&rule.pattern));
        found.extend(rules.map(|rule| finding(at + 1, rule)));
    }
    found.sort_by_key(|finding| finding.line);
    found
}

/// Words in a row, in any case, with no punctuation in between; `*` is any one word. If the first begins with a capital, the
/// words must begin a sentence.
struct Pattern {
    words: Vec<String>,
    opens: bool,
}

impl Pattern {
    fn new(text: &str) -> Self {
        let words = text.split_whitespace().map(|word| match word {
            "*" => word.to_owned(),
            _ => markdown::bare(word),
        });
        Self { words: words.collect(), opens: text.starts_with(char::is_uppercase) }
    }

    fn is_at(&self, tokens: &[Token]) -> bool {
        let Some(last) = self.words.len().checked_sub(1) else { return false };
        let is_word = |(at, word): (usize, &String)| {
            let token = &tokens[at];
            let is_same = if word == "*" { !token.word.is_empty() } else { token.word == *word };
            is_same && (at == last || !token.ends_phrase)
        };
        tokens.len() > last
            && (!self.opens || tokens[0].opens_sentence)
            && self.words.iter().enumerate().all(is_word)
    }
}

/// Links to files that are not there, and to headings that their pages lack.
fn broken_links(
    path: &str,
    text: &str,
    pages: &BTreeMap<String, String>,
    exists: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for (line, target) in markdown::links(&markdown::masked(text)) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
        let linked = if file.is_empty() { Some(path.to_owned()) } else { joined(path, file) };
        let page = linked.as_ref().and_then(|linked| pages.get(linked));
        let problem = if !linked.as_deref().is_some_and(&exists) {
            Problem::MissingFile { target }
        } else if !anchor.is_empty() && page.is_some_and(|page| !markdown::anchors(page).contains(anchor)) {
            Problem::MissingHeading { target }
        } else {
            continue;
        };
        found.push(Finding { path: path.to_owned(), line, problem });
    }
    found
}

/// The path from the root of what a page links to, or `None` if that lies outside.
fn joined(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTS: &str = "# Style\n\n## Words\n\n| do not write | write |\n|---|---|\n| `so many`, `anew` | a count |\n| `What * is` | the subject |\n\n## Nowhere\n\n| never | because |\n|---|---|\n| `/home/` | it is elsewhere |\n";

    fn words(text: &str) -> Vec<(usize, String)> {
        let (words, nowhere) = (list(LISTS, WORDS).expect("words"), list(LISTS, NOWHERE).expect("texts"));
        let found = bad_words("a.md", text, &words, &nowhere).into_iter();
        let pattern = |problem| match problem {
            Problem::Word { found, .. } => found,
            other => panic!("{other:?}"),
        };
        found.map(|finding| (finding.line, pattern(finding.problem))).collect()
    }

    #[test]
    fn the_lists_are_read_from_the_page() {
        let rules = list(LISTS, WORDS).expect("words");
        let patterns: Vec<&str> = rules.iter().map(|rule| rule.pattern.as_str()).collect();
        assert_eq!(patterns, ["so many", "anew", "What * is"]);
        assert_eq!(rules[0].instead, "a count");
        assert_eq!(list("# Style\n", WORDS), Err(Failure::NoList { heading: WORDS }));
    }

    #[test]
    fn planted_words_are_found_with_their_lines() {
        assert_eq!(words("Fine.\n\n- It has so\n  many rows."), [(3, "so many".to_owned())]);
        assert_eq!(words("| a | **Anew** |"), [(1, "anew".to_owned())]);
        assert_eq!(words("Well. What `x` is, is plain."), [(1, "What * is".to_owned())]);
        assert_eq!(words("```sh\ncd /home/me\n```"), [(2, "/home/".to_owned())]);
    }

    #[test]
    fn other_words_code_and_words_of_two_sentences_are_left_alone() {
        assert_eq!(words("It does so. Many rows. `so many`"), []);
        assert_eq!(words("It says what that is."), []);
        assert_eq!(words("```text\nso many\n```\n~~~\nanew\n~~~"), []);
        assert_eq!(words("[so](anew.md) renewed"), []);
    }

    #[test]
    fn releases_and_tables_of_the_style_page_are_not_checked() {
        let changes = "## 2.0, unreleased\n- one\n## 1.0\n- two";
        assert_eq!(checked_part("CHANGELOG.md", changes), "## 2.0, unreleased\n- one\n\n");
        assert_eq!(checked_part(STYLE, "a\n| b |"), "a\n");
    }

    #[test]
    fn links_that_lead_nowhere_are_found_with_their_lines() {
        let text = "[a](b.md) `[x](lost.md)`\n[c](b.md#two-words) [d](b.md#three)\n[e](#one) [f](#two) [g](../../x) [h](../lost.md)\n# One\n[i](https://x.org/lost)";
        let pages = BTreeMap::from([
            ("docs/a.md".to_owned(), text.to_owned()),
            ("docs/b.md".to_owned(), "# Two `words`!".to_owned()),
        ]);
        let found = broken_links("docs/a.md", text, &pages, |path| pages.contains_key(path));
        let heading = |line, target: &str| (line, Problem::MissingHeading { target: target.to_owned() });
        let file = |line, target: &str| (line, Problem::MissingFile { target: target.to_owned() });
        let found: Vec<(usize, Problem)> =
            found.into_iter().map(|finding| (finding.line, finding.problem)).collect();
        let expected =
            [heading(2, "b.md#three"), heading(3, "#two"), file(3, "../../x"), file(3, "../lost.md")];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_failure_names_file_line_and_what_to_write() {
        let problem = Problem::Word { found: "anew".to_owned(), instead: "again".to_owned() };
        let failure = Failure::Found(vec![Finding { path: "a.md".to_owned(), line: 7, problem }]);
        assert!(failure.to_string().ends_with("a.md:7: \"anew\": again (docs/style.md)"), "{failure}");
    }

    #[test]
    fn the_words_and_links_of_this_workspace_are_right() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder above");
        assert_eq!(check(root), Ok(()));
    }
}
