//! What to type next, with the flags that it names, so that nobody is told a flag which the command does not have.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

/// Advice in one or more parts, each of which stands alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    text: Cow<'static, str>,
    /// Long flags of the command at hand, without dashes. Flags of a command that the text names are not among them.
    flags: &'static [&'static str],
}

impl Hint {
    /// A text that names these long flags of the command at hand; they are given without their dashes.
    pub fn flags(flags: &'static [&'static str], text: impl Into<Cow<'static, str>>) -> Self {
        let text = text.into();
        debug_assert!(flags.iter().all(|flag| text.contains(&format!("--{flag}"))), "{flags:?}: {text}");
        Self { parts: vec![Part { text, flags }] }
    }

    /// This, and more after a semicolon.
    pub fn then(mut self, more: impl Into<Self>) -> Self {
        self.parts.extend(more.into().parts);
        self
    }

    /// The parts that name no flag but those a command has; nothing if there are none.
    pub fn only_flags(mut self, has: impl Fn(&str) -> bool) -> Option<Self> {
        self.parts.retain(|part| part.flags.iter().all(|flag| has(flag)));
        (!self.parts.is_empty()).then_some(self)
    }
}

impl From<&'static str> for Hint {
    /// A text for any command: it names no flag of the one at hand.
    fn from(text: &'static str) -> Self {
        Self::flags(&[], text)
    }
}

impl From<String> for Hint {
    /// A text for any command: it names no flag of the one at hand.
    fn from(text: String) -> Self {
        Self::flags(&[], text)
    }
}

impl Display for Hint {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        for (position, part) in self.parts.iter().enumerate() {
            formatter.write_str(if position == 0 { "" } else { "; " })?;
            formatter.write_str(&part.text)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_with_other_flags_are_left_out_whatever_their_words_are() {
        let hint = Hint::flags(&["label"], "pass --label \"a; --no-flag\"")
            .then(Hint::flags(&["skip-bad-rows"], "--skip-bad-rows leaves it out"))
            .then("`evmachine train --fill median` fills it");
        let left = |known: &[&str]| hint.clone().only_flags(|flag| known.contains(&flag));
        assert_eq!(left(&["label", "skip-bad-rows"]), Some(hint.clone()));
        assert_eq!(
            left(&["label"]).map(|hint| hint.to_string()).as_deref(),
            Some("pass --label \"a; --no-flag\"; `evmachine train --fill median` fills it")
        );
        assert_eq!(
            left(&[]).map(|hint| hint.to_string()).as_deref(),
            Some("`evmachine train --fill median` fills it")
        );
        assert_eq!(Hint::flags(&["scratch"], "--scratch names another folder").only_flags(|_| false), None);
    }
}
