//! As much of Markdown as the checks need: what is code, what is a word, where links lead and what headings are called.

use std::collections::BTreeSet;

/// A word of prose as the checks compare it.
pub(super) struct Token {
    /// In lower case, without punctuation around it; empty for a mark such as `-` or `|`.
    pub(super) word: String,
    /// From 1.
    pub(super) line: usize,
    pub(super) opens_sentence: bool,
    /// Punctuation follows, so that no phrase goes on behind it.
    pub(super) ends_phrase: bool,
}

/// The text with as many lines, those of code blocks blank, and an `x` for each letter of inline code.
pub(super) fn masked(text: &str) -> String {
    without_inline_code(&without_blocks(text))
}

fn without_blocks(text: &str) -> String {
    let mut fence: Option<&str> = None;
    let mut kept = Vec::new();
    for line in text.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, None) => kept.push(line),
            (Some(open), Some(mark)) if open == mark => {
                fence = None;
                kept.push("");
            }
            (None, Some(_)) => {
                fence = mark;
                kept.push("");
            }
            (Some(_), _) => kept.push(""),
        }
    }
    kept.join("\n")
}

/// A span of code ends at as many backticks as began it, in the same paragraph.
fn without_inline_code(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('`') {
        let ticks = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        let inside = &rest[at + ticks..];
        let paragraph = &inside[..inside.find("\n\n").unwrap_or(inside.len())];
        let end = paragraph.find(&rest[at..at + ticks]);
        let span = end.map_or(ticks, |end| end + 2 * ticks);
        kept.push_str(&rest[..at]);
        let is_code = end.is_some();
        kept.extend(rest[at..at + span].chars().map(|letter| match letter {
            '\n' => '\n',
            _ if is_code => 'x',
            other => other,
        }));
        rest = &rest[at + span..];
    }
    kept + rest
}

/// Words and marks of a masked text; an empty token stands for the end of a paragraph.
pub(super) fn tokens(masked: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut opens_sentence = true;
    for (at, line) in without_targets(masked).lines().enumerate() {
        if line.trim().is_empty() || line.trim_start().starts_with(['#', '-', '|']) {
            opens_sentence = true;
            found.push(Token { word: String::new(), line: at + 1, opens_sentence, ends_phrase: true });
        }
        for raw in line.split_whitespace() {
            let end = raw.trim_end_matches(['*', '_', '"', ')']);
            let word = if raw.contains("://") { String::new() } else { bare(raw) };
            let is_mark = word.is_empty();
            found.push(Token {
                word,
                line: at + 1,
                opens_sentence,
                ends_phrase: is_mark || raw.ends_with(')') || end.ends_with(['.', ',', ';', ':', '!', '?']),
            });
            opens_sentence = end.ends_with(['.', ':', '!', '?', '|']) || (is_mark && opens_sentence);
        }
    }
    found
}

/// A word in lower case, without the punctuation around it.
pub(super) fn bare(word: &str) -> String {
    word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase()
}

/// Links lose their targets, and keep their text.
fn without_targets(masked: &str) -> String {
    let mut kept = String::new();
    let mut rest = masked;
    while let Some(at) = rest.find("](") {
        let end = rest[at..].find(')').map_or(rest.len(), |end| at + end + 1);
        kept.push_str(&rest[..at]);
        kept.extend(rest[at..end].chars().filter(|letter| *letter == '\n'));
        rest = &rest[end..];
    }
    kept + rest
}

/// Targets of links and pictures of a masked text, with their lines.
pub(super) fn links(masked: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in masked.match_indices("](") {
        let line = masked[..at].matches('\n').count() + 1;
        let target = masked[at + 2..].split([')', ' ', '\n']).next().unwrap_or_default();
        found.push((line, target.to_owned()));
    }
    found
}

/// What `#` of a link may name: headings in lower case, with dashes for spaces; a name that comes again has a number.
pub(super) fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in without_blocks(text).lines() {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let name = anchor(heading);
        let numbered = (1..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !found.contains(name));
        found.extend(free);
    }
    found
}

fn anchor(heading: &str) -> String {
    let name = without_targets(heading).trim().to_lowercase();
    let letters = name.chars().filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
    letters.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_masked_and_lines_stay() {
        let text = "a `b c`\n```sh\n# d\n```\n``e ` f`` g ` h\n\n`i";
        assert_eq!(masked(text), "a xxxxx\n\n\n\nxxxxxxxxx g ` h\n\n`i");
    }

    #[test]
    fn sentences_and_phrases_have_their_ends() {
        let found = tokens("- One two, three. Four\n  five | (six) seven");
        let opening: Vec<&str> =
            found.iter().filter(|one| one.opens_sentence).map(|one| one.word.as_str()).collect();
        assert_eq!(opening, ["", "", "one", "four", "six"]);
        let ending: Vec<&str> =
            found.iter().filter(|one| one.ends_phrase).map(|one| one.word.as_str()).collect();
        assert_eq!(ending, ["", "", "two", "three", "", "six"]);
        assert_eq!(found.last().map(|one| one.line), Some(2));
    }

    #[test]
    fn headings_are_called_as_links_call_them() {
        let found = anchors("# Tune, `evaluate`\n```\n# no\n```\n## [A b](c.md)_d\n## A\n### A\n#no");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a", "a-1", "a-b_d", "tune-evaluate"]);
    }
}
