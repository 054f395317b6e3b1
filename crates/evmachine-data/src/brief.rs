//! Parts of messages, of bounded length whatever a file holds.

use std::borrow::Cow;

/// The most characters of a name, a cell or a line in a message.
const SHOWN: usize = 80;
/// The most characters of a phrase that a decoder says.
const PASSAGE: usize = 400;

/// The beginning of a name, a cell or a line; all of it where it is short.
pub(crate) fn brief(text: &str) -> Cow<'_, str> {
    cut(text, SHOWN)
}

/// The beginning of a phrase; all of it where it is short.
pub(crate) fn passage(text: &str) -> Cow<'_, str> {
    cut(text, PASSAGE)
}

fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{SHOWN, brief};

    #[test]
    fn only_long_texts_are_cut() {
        assert_eq!(brief("naïve"), "naïve");
        assert_eq!(brief(&"é".repeat(SHOWN)).chars().count(), SHOWN);
        assert_eq!(brief(&"é".repeat(1 << 20)).chars().count(), SHOWN + 1);
    }
}
