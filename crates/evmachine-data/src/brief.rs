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

/// Bytes as a person reads them.
pub(crate) fn megabytes(bytes: u64) -> String {
    if bytes < 1 << 20 { format!("{bytes} bytes") } else { format!("{} MB", bytes >> 20) }
}

/// What to do about a name that is not there.
pub(crate) fn suggestion(closest: Option<&str>) -> String {
    match closest {
        Some(name) => format!(" Did you mean `{}`?", brief(name)),
        None => " Give one of these".to_owned(),
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
