//! Words in a picture: how wide they are, how they are cut, how they are placed.

use kuva::render::render::{Primitive, TextAnchor};

use crate::palette::Shade;

/// The size of legend entries, in pixels of the unscaled picture.
pub(crate) const BODY: u32 = 13;

/// Where a text stands relative to its point.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Align {
    Start,
    Middle,
    End,
}

/// A rough width in pixels. The drawing library keeps its own table of widths to itself,
/// and a width that is a little too large costs only a little white space.
pub(crate) fn width(text: &str, size: u32) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|letter| match letter {
            'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' | '!' => 0.33,
            'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' | '"' => 0.42,
            'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.97,
            letter if letter.is_uppercase() => 0.72,
            letter if letter.is_ascii() => 0.63,
            // Han, kana and hangul are as wide as they are high.
            letter if letter >= '\u{1100}' => 1.0,
            _ => 0.68,
        })
        .sum();
    ems * f64::from(size)
}

/// The text, or its two ends around an ellipsis where it is longer than `limit` characters: names of
/// classes often differ only in their last word.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let kept = limit.saturating_sub(1);
    let tail = kept / 3;
    let head: String = text.chars().take(kept - tail).collect();
    let tail: String = text.chars().skip(length - tail).collect();
    format!("{}…{}", head.trim_end(), tail.trim_start())
}

/// What the drawing library may be given for `text`: characters that XML forbids are dropped, line ends
/// become spaces, and dollar signs are escaped, because between two of them it would typeset mathematics.
pub(crate) fn escaped(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' | '\r' => clean.push(' '),
            '$' => clean.push_str("\\$"),
            '\u{fffe}' | '\u{ffff}' => {}
            letter if letter.is_control() => {}
            letter => clean.push(letter),
        }
    }
    clean
}

/// A text with its middle line, not its base line, at `y`.
pub(crate) fn centred_line(
    content: impl Into<String>,
    (x, y): (f64, f64),
    size: u32,
    align: Align,
    colour: Shade,
    bold: bool,
) -> Primitive {
    Primitive::Text {
        x,
        y: y + f64::from(size) * 0.36,
        content: content.into(),
        size,
        anchor: match align {
            Align::Start => TextAnchor::Start,
            Align::Middle => TextAnchor::Middle,
            Align::End => TextAnchor::End,
        },
        rotate: None,
        bold,
        color: Some(colour.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_respects_characters_and_the_limit() {
        assert_eq!(shortened("setosa", 6), "setosa");
        assert_eq!(shortened("große Überraschung", 10), "große…ung");
        assert_eq!(shortened("category number 12", 10), "catego…12");
        assert_eq!(shortened("abcdef", 1), "…");
        assert_eq!(shortened("日本語の文字", 4), "日本…字");
    }

    #[test]
    fn what_xml_forbids_is_dropped() {
        assert_eq!(escaped("a\u{0}b\nc\u{1b}"), "ab c");
        assert_eq!(escaped("$5 and $6"), "\\$5 and \\$6");
    }

    #[test]
    fn longer_words_are_wider() {
        assert!(width("mmmm", 12) > width("iiii", 12));
        assert!(width("abc", 24) > width("abc", 12));
    }
}
