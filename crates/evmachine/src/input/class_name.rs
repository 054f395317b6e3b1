//! Which names a person may give to a class.
//!
//! Every front end asks here before a name founds a class. Names that a model has already are not checked again, so that files made
//! elsewhere stay usable.

use thiserror::Error;

use super::labels::UNKNOWN;

/// Characters that a name has at most. Status, history and metrics carry every name, over and over.
pub const LONGEST: usize = 256;

/// A name that no class may have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClassNameError {
    /// Nothing, or white space alone.
    #[error("the name of a class cannot be blank")]
    Blank,
    /// What predictions call a query that no class supports.
    #[error(
        "no class can be called {name:?}: it is what predictions call a query that no class supports; to keep samples strangers, \
         ignore them"
    )]
    Reserved {
        /// The name, as it was given.
        name: String,
    },
    /// More than [`LONGEST`] characters.
    #[error("the name of a class has {limit} characters at most; this one has more ({bytes} bytes)")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The most characters.
        limit: usize,
    },
    /// A character that cannot be seen, or that changes how those around it are shown.
    #[error(
        "the name of a class cannot hold the character {character:?} (at {position}), which is not seen or changes what is seen; \
         remove it"
    )]
    Invisible {
        /// The character.
        character: char,
        /// Its place among the characters of the name, from 1.
        position: usize,
    },
}

/// Refuses a name that is blank, `unknown` in any case, longer than [`LONGEST`] characters, or holds a control character, a line
/// break, a mark that turns the direction of text, or white space without width.
///
/// ```
/// use evmachine::class_name::{self, ClassNameError};
///
/// assert_eq!(class_name::check("sea lion"), Ok(()));
/// assert_eq!(class_name::check(" \t"), Err(ClassNameError::Blank));
/// assert!(matches!(class_name::check("Unknown"), Err(ClassNameError::Reserved { .. })));
/// assert!(matches!(class_name::check("a\u{202e}b"), Err(ClassNameError::Invisible { position: 2, .. })));
/// ```
pub fn check(name: &str) -> Result<(), ClassNameError> {
    let trimmed = name.trim();
    if trimmed.is_empty() {
        return Err(ClassNameError::Blank);
    }
    if trimmed.eq_ignore_ascii_case(UNKNOWN) {
        return Err(ClassNameError::Reserved { name: name.to_owned() });
    }
    if name.chars().nth(LONGEST).is_some() {
        return Err(ClassNameError::TooLong { bytes: name.len(), limit: LONGEST });
    }
    match name.chars().enumerate().find(|(_, character)| is_invisible(*character)) {
        Some((at, character)) => Err(ClassNameError::Invisible { character, position: at + 1 }),
        None => Ok(()),
    }
}

/// Control characters, line and paragraph separators, bidirectional marks, and what has no width and joins nothing. The joiners
/// U+200C and U+200D are letters of some scripts, and stay.
fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_people_use_are_taken() {
        for name in ["a", "0", "-1", "sea lion", "Ärzte", "猫", "पक्षि\u{200d}", "=A1", &"x".repeat(LONGEST)]
        {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn names_that_nobody_can_read_are_refused() {
        for name in ["", " ", "\n", "\u{3000}"] {
            assert_eq!(check(name), Err(ClassNameError::Blank), "{name:?}");
        }
        for name in ["unknown", "Unknown", " UNKNOWN "] {
            assert_eq!(check(name), Err(ClassNameError::Reserved { name: name.to_owned() }));
        }
        for name in ["a\0b", "a\nb", "a\rb", "a\tb", "a\u{1b}[31mb", "a\u{85}b", "a\u{2028}b", "a\u{202e}b"] {
            assert!(matches!(check(name), Err(ClassNameError::Invisible { position: 2, .. })), "{name:?}");
        }
        let long = "ä".repeat(LONGEST + 1);
        assert_eq!(check(&long), Err(ClassNameError::TooLong { bytes: 2 * (LONGEST + 1), limit: LONGEST }));
    }
}
