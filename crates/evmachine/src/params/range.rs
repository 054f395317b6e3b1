//! The numbers that a parameter may have.

use std::fmt;

/// An interval, each end with or without its number. Displays as a rule: "must be between 0 and 1".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    least: f64,
    holds_least: bool,
    most: f64,
    holds_most: bool,
}

impl Range {
    /// 0 to 1, both included.
    pub(crate) const SHARE: Range = Range::closed(0.0, 1.0);
    /// 0 to 1 without 0.
    pub(crate) const POSITIVE_SHARE: Range = Range { holds_least: false, ..Range::SHARE };
    /// 0 to 1 without 1.
    pub(crate) const BELOW_ONE: Range = Range { holds_most: false, ..Range::SHARE };
    /// 0 to 1 without both.
    pub(crate) const INSIDE: Range = Range { holds_most: false, ..Range::POSITIVE_SHARE };
    /// Finite numbers above 0.
    pub(crate) const POSITIVE: Range =
        Range { least: 0.0, holds_least: false, most: f64::INFINITY, holds_most: false };
    /// Finite numbers from 0 on.
    pub(crate) const NOT_NEGATIVE: Range = Range { holds_least: true, ..Range::POSITIVE };
    /// Counts.
    pub(crate) const AT_LEAST_ONE: Range = Range { least: 1.0, ..Range::NOT_NEGATIVE };
    /// Any finite number.
    pub(crate) const FINITE: Range = Range { least: f64::NEG_INFINITY, ..Range::POSITIVE };

    /// Both ends included.
    pub(crate) const fn closed(least: f64, most: f64) -> Self {
        Self { least, holds_least: true, most, holds_most: true }
    }

    /// Without `least`, with `most`.
    pub(crate) const fn above(least: f64, most: f64) -> Self {
        Self { least, holds_least: false, most, holds_most: true }
    }

    /// Whether it has the number; it never has NaN.
    pub fn holds(&self, number: f64) -> bool {
        let above = number > self.least || self.holds_least && number == self.least;
        above && (number < self.most || self.holds_most && number == self.most)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { least, most, .. } = self;
        if *least == f64::NEG_INFINITY {
            return out.write_str("must be a finite number");
        }
        if *most == f64::INFINITY {
            return match (*least == 0.0, self.holds_least) {
                (true, true) => out.write_str("must be 0 or a positive number"),
                (true, false) => out.write_str("must be a positive number"),
                (false, _) => write!(out, "must be at least {least}"),
            };
        }
        match (self.holds_least, self.holds_most) {
            (true, true) => write!(out, "must be between {least} and {most}"),
            (true, false) => write!(out, "must be at least {least} and below {most}"),
            (false, true) => write!(out, "must be above {least} and at most {most}"),
            (false, false) => write!(out, "must be above {least} and below {most}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_say_which_ends_belong_to_it() {
        let cases = [
            (Range::SHARE, "must be between 0 and 1", [true, true]),
            (Range::POSITIVE_SHARE, "must be above 0 and at most 1", [false, true]),
            (Range::BELOW_ONE, "must be at least 0 and below 1", [true, false]),
            (Range::INSIDE, "must be above 0 and below 1", [false, false]),
            (Range::POSITIVE, "must be a positive number", [false, true]),
            (Range::NOT_NEGATIVE, "must be 0 or a positive number", [true, true]),
            (Range::AT_LEAST_ONE, "must be at least 1", [false, true]),
            (Range::FINITE, "must be a finite number", [true, true]),
        ];
        for (range, words, ends) in cases {
            assert_eq!(range.to_string(), words);
            assert_eq!([range.holds(0.0), range.holds(1.0)], ends, "{words}");
            assert!(!range.holds(f64::NAN) && !range.holds(f64::INFINITY), "{words}");
        }
    }
}
