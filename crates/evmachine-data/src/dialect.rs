//! How the lines of a text file are cut into fields.

use serde::de::IgnoredAny;

use crate::number::is_number;

/// How many lines are looked at.
const SAMPLE_LINES: usize = 20;

/// What separates fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Separator {
    /// One byte; empty fields are kept and quotes protect it.
    Byte(u8),
    /// Any run of spaces and tabs; there are no empty fields and no quotes.
    Spaces,
}

impl Separator {
    /// Likeliest first: a tab is never part of a value, and where fields are separated by semicolons,
    /// commas are decimal points.
    const CANDIDATES: [Self; 4] = [Self::Byte(b'\t'), Self::Byte(b';'), Self::Byte(b','), Self::Spaces];

    /// Finds the separator that cuts most of the first lines into as many fields as the first of them.
    /// A single column has none, and is read as if separated by commas.
    pub(crate) fn sniff(sample: &[u8]) -> Self {
        let lines: Vec<&[u8]> = content_lines(sample).take(SAMPLE_LINES).collect();
        let agreement = |separator: &Self| {
            let expected = lines.first().map_or(1, |line| separator.count(line));
            if expected < 2 {
                return 0;
            }
            lines.iter().filter(|line| separator.count(line) == expected).count()
        };
        Self::CANDIDATES
            .into_iter()
            .find(|separator| agreement(separator) * 2 >= lines.len().max(1))
            .or_else(|| {
                Self::CANDIDATES.into_iter().rev().max_by_key(agreement).filter(|best| agreement(best) > 0)
            })
            .unwrap_or(Self::Byte(b','))
    }

    /// How many fields a line has; separators in quotes do not count.
    fn count(self, line: &[u8]) -> usize {
        match self {
            Self::Spaces => words(line).count(),
            Self::Byte(separator) => {
                let mut quoted = false;
                let mut count = 1;
                for &byte in line {
                    quoted ^= byte == b'"';
                    count += usize::from(byte == separator && !quoted);
                }
                count
            }
        }
    }
}

/// The pieces of a line between spaces and tabs.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn content_lines(sample: &[u8]) -> impl Iterator<Item = &[u8]> {
    sample.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty())
}

/// Whether the first line is a JSON object, as far as it can be seen.
pub(crate) fn looks_like_jsonl(sample: &[u8]) -> bool {
    let Some(line) = content_lines(sample).next().filter(|line| line.starts_with(b"{")) else { return false };
    match serde_json::from_slice::<IgnoredAny>(line) {
        Ok(_) => true,
        Err(error) => error.is_eof() && line.len() == sample.trim_ascii().len(),
    }
}

/// Whether the first lines are of the form `label index:value index:value …`.
///
/// The first must have such a pair, the others may have none, as rows of zeros do.
pub(crate) fn looks_like_libsvm(sample: &[u8]) -> bool {
    let mut lines =
        content_lines(sample).map(without_comment).filter(|line| !line.is_empty()).take(5).peekable();
    let first_has_pair = lines.peek().is_some_and(|line| words(line).nth(1).is_some());
    first_has_pair && lines.all(is_libsvm_line)
}

fn is_libsvm_line(line: &[u8]) -> bool {
    let mut line_words = words(line);
    line_words.next().is_some_and(|label| !label.contains(&b':'))
        && line_words.all(|word| match split_pair(word) {
            Some((b"qid", _)) => true,
            Some((index, value)) => {
                index.iter().all(u8::is_ascii_digit) && !index.is_empty() && is_number(value)
            }
            None => false,
        })
}

/// Cuts `index:value` at its colon.
pub(crate) fn split_pair(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = word.iter().position(|&byte| byte == b':')?;
    Some((&word[..colon], &word[colon + 1..]))
}

/// The line up to a `#`, trimmed.
pub(crate) fn without_comment(line: &[u8]) -> &[u8] {
    let end = line.iter().position(|&byte| byte == b'#').unwrap_or(line.len());
    line[..end].trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::{Separator, looks_like_libsvm};

    #[test]
    fn separators_are_found() {
        for (sample, expected) in [
            ("1,2,3\n4,5,6\n", Separator::Byte(b',')),
            ("a\tb c\n1\t2\n", Separator::Byte(b'\t')),
            ("1,5;2,5\n3,5;4,5\n", Separator::Byte(b';')),
            ("  1.0   2.0\n 3.0 4.0\n", Separator::Spaces),
            ("1,2,Iris setosa\n3,4,Iris virginica\n1,2,3,Iris\n", Separator::Byte(b',')),
            ("\"a;b\",2\n\"c;d\",3\n", Separator::Byte(b',')),
            ("7\n8\n", Separator::Byte(b',')),
        ] {
            assert_eq!(Separator::sniff(sample.as_bytes()), expected, "{sample:?}");
        }
    }

    #[test]
    fn libsvm_lines_are_told_from_others() {
        assert!(looks_like_libsvm(b"# heading\n+1 1:0.5 7:2\n-1\n"));
        assert!(looks_like_libsvm(b"3 qid:4 1:1e-3 # note\n"));
        assert!(!looks_like_libsvm(b"1 2 3\n4 5 6\n"));
        assert!(!looks_like_libsvm(b"time 12:30:01\n"));
        assert!(!looks_like_libsvm(b"label\n1\n"));
    }
}
