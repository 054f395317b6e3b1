//! Text for a person: names come from files, and files from anywhere.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with escapes such as `\u{1b}` for what a terminal would obey instead of show: control characters, and those that
/// turn the direction of writing round. A line of text stays one.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if commands(letter) { shown.extend(letter.escape_default()) } else { shown.push(letter) }
    }
    Cow::Owned(shown)
}

/// As [`escaped`], for a text of several lines.
pub(crate) fn escaped_lines(text: &str) -> String {
    text.split('\n').map(escaped).collect::<Vec<_>>().join("\n")
}

/// "1 sample", "2 samples", "3 classes".
pub fn counted(count: impl Into<u64>, what: &str) -> String {
    let count = count.into();
    let ending = match what.ends_with('s') {
        _ if count == 1 => "",
        true => "es",
        false => "s",
    };
    format!("{count} {what}{ending}")
}

/// JSON that means the same and commands no terminal.
pub(crate) fn escaped_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for letter in json.chars() {
        // What is below a space is escaped within strings already; between them it is layout.
        if letter >= ' ' && commands(letter) {
            let _ = write!(shown, "\\u{:04x}", u32::from(letter));
        } else {
            shown.push(letter);
        }
    }
    shown
}

fn commands(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_a_terminal_are_shown_and_letters_left_alone() {
        assert_eq!(escaped("a\u{1b}[2J\u{9b}\n\u{202e}z\u{7f}"), r"a\u{1b}[2J\u{9b}\n\u{202e}z\u{7f}");
        assert_eq!(escaped("日本語 größe 👩‍🔬"), "日本語 größe 👩‍🔬");
        assert_eq!(escaped_lines("one\r\ntwo"), "one\\r\ntwo");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({ "name": "a\u{1b}\u{9b}\n\u{202e}\u{7f}" });
        let shown = escaped_json(&format!("{value:#}"));
        assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{7f}']), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).ok(), Some(value));
    }
}
