//! Class names: how typed values become text, which names are of one class, and the numbers that stand for them.
//!
//! A class is named by text. Text stays as it was written; a typed value becomes text by [`from_single`], [`from_double`],
//! [`from_boolean`], or as the decimal digits of an integer. Two names are of one class if their [`key`] is the same, so that
//! labels stored as `1`, `1.0` and `"1"` meet, wherever they come from.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::error::LabelError;

/// What predictions call a query that no class supports, unless they are told otherwise.
pub const UNKNOWN: &str = "unknown";

/// Whole doubles from here on have neighbours that are not one apart, and may stand for other integers.
const WHOLE_LIMIT: f64 = 9_007_199_254_740_992.0;

/// What two names of one class have in common.
///
/// For an integer, with or without a fraction of zeros (`-?(0|[1-9][0-9]*)(\.0+)?`), it is the integer, and that of minus
/// zero is `0`; for `true` and `false` in any case it is the lower case; every other name is its own.
///
/// ```
/// use evmachine::labels::key;
///
/// assert_eq!(key("1.0"), "1");
/// assert_eq!(key("-0.00"), "0");
/// assert_eq!(key("True"), "true");
/// for name in ["cat", "01", "1e3", " 1", "1.5", "1.", "+1", ""] {
///     assert_eq!(key(name), name);
/// }
/// ```
pub fn key(name: &str) -> Cow<'_, str> {
    // Most names are words, and many are compared with many.
    Cow::Borrowed(match name.as_bytes().first() {
        Some(b'-' | b'0'..=b'9') => match integer_part(name) {
            Some("-0") => "0",
            Some(integer) => integer,
            None => name,
        },
        Some(b't' | b'T') if name.eq_ignore_ascii_case("true") => "true",
        Some(b'f' | b'F') if name.eq_ignore_ascii_case("false") => "false",
        _ => name,
    })
}

/// Whether two names are of one class.
pub fn are_same(one: &str, other: &str) -> bool {
    one == other || key(one) == key(other)
}

/// Whether a text that is read as a label stands for none: nothing, or white space alone.
pub fn is_missing(text: &str) -> bool {
    text.trim().is_empty()
}

fn integer_part(name: &str) -> Option<&str> {
    let (integer, fraction) = name.split_once('.').unwrap_or((name, "0"));
    let digits = integer.strip_prefix('-').unwrap_or(integer);
    let is_integer = digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.is_empty()
        && (digits == "0" || !digits.starts_with('0'));
    let is_zero = !fraction.is_empty() && fraction.bytes().all(|byte| byte == b'0');
    (is_integer && is_zero).then_some(integer)
}

/// A label stored as a double: a whole number below 2^53 as an integer, any other in the fewest digits that read back as the
/// same double, and NaN, which is no label, as the empty name.
///
/// ```
/// use evmachine::labels::from_double;
///
/// assert_eq!(from_double(3.0), "3");
/// assert_eq!(from_double(-0.5), "-0.5");
/// assert_eq!(from_double(1e300), "1e300");
/// assert_eq!(from_double(f64::NAN), "");
/// ```
pub fn from_double(value: f64) -> String {
    if value.is_nan() { String::new() } else { whole(value).unwrap_or_else(|| format!("{value:?}")) }
}

/// As [`from_double`], with the digits that are needed at single precision.
///
/// ```
/// assert_eq!(evmachine::labels::from_single(0.1), "0.1");
/// ```
pub fn from_single(value: f32) -> String {
    if value.is_nan() { String::new() } else { whole(value.into()).unwrap_or_else(|| format!("{value:?}")) }
}

/// A label stored as a truth value.
pub fn from_boolean(value: bool) -> String {
    value.to_string()
}

fn whole(value: f64) -> Option<String> {
    (value.abs() < WHOLE_LIMIT && value.fract() == 0.0).then(|| (value as i64).to_string())
}

/// One class name per row, as numbers into a list of distinct names in order of first appearance.
///
/// Names of one [`key`] are one class, which the first of them names.
///
/// ```
/// use evmachine::Labels;
///
/// let labels = Labels::new(["cat", "dog", "cat"])?;
/// assert_eq!(labels.names(), ["cat", "dog"]);
/// assert_eq!(labels.ids(), [0, 1, 0]);
/// assert_eq!(Labels::new(["1.0", "2", "1"])?.names(), ["1.0", "2"]);
/// # Ok::<(), evmachine::LabelError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels {
    names: Vec<String>,
    ids: Vec<u32>,
}

impl Labels {
    /// Reads the name of each row; an empty name is an error naming its row.
    pub fn new<I>(rows: I) -> Result<Self, LabelError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut labels = Self::default();
        for (row, name) in rows.into_iter().enumerate() {
            let name = name.as_ref();
            if name.is_empty() {
                return Err(LabelError::Empty { row });
            }
            let key = key(name);
            let id = if let Some(&id) = numbers.get(key.as_ref()) {
                id
            } else {
                let id = labels.names.len() as u32;
                numbers.insert(key.into_owned(), id);
                labels.names.push(name.to_owned());
                id
            };
            labels.ids.push(id);
        }
        Ok(labels)
    }

    /// Names of which none is empty, as whoever calls this has made sure.
    pub(crate) fn checked(rows: Vec<String>) -> Self {
        Self::new(rows).expect("no name is empty")
    }

    /// Refuses rows whose class has the name that predictions have for unknown ones. Whoever learns from predictions that a person
    /// corrected in part would have the unknown learned as a class.
    ///
    /// ```
    /// use evmachine::{LabelError, Labels, UNKNOWN};
    ///
    /// let labels = Labels::new(["cat", "unknown", "unknown"])?;
    /// let refused = LabelError::NamedUnknown { name: UNKNOWN.to_owned(), rows: 2 };
    /// assert_eq!(labels.refuse_unknown(UNKNOWN), Err(refused));
    /// assert_eq!(labels.refuse_unknown("?"), Ok(()));
    /// # Ok::<(), LabelError>(())
    /// ```
    pub fn refuse_unknown(&self, unknown: &str) -> Result<(), LabelError> {
        let class = self.names.iter().position(|name| name == unknown);
        let rows = self.ids.iter().filter(|&&id| Some(id as usize) == class).count();
        if rows == 0 { Ok(()) } else { Err(LabelError::NamedUnknown { name: unknown.to_owned(), rows }) }
    }

    /// Distinct names, in order of first appearance.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// For each row, the position of its class in [`names`](Self::names).
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The class name of a row.
    ///
    /// # Panics
    ///
    /// If there are not so many rows.
    pub fn name(&self, row: usize) -> &str {
        &self.names[self.ids[row] as usize]
    }

    /// Rows by class number, some classes of which may have none.
    pub(crate) fn with_names(names: Vec<String>, ids: Vec<u32>) -> Self {
        Self { names, ids }
    }

    /// The given rows, with the classes of all.
    pub(crate) fn of_rows(&self, rows: &[usize]) -> Self {
        Self { names: self.names.clone(), ids: rows.iter().map(|&row| self.ids[row]).collect() }
    }

    /// The given rows, in the given order.
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut numbers = vec![u32::MAX; self.names.len()];
        let mut labels = Self::default();
        for &row in rows {
            let old = self.ids[row] as usize;
            if numbers[old] == u32::MAX {
                numbers[old] = labels.names.len() as u32;
                labels.names.push(self.names[old].clone());
            }
            labels.ids.push(numbers[old]);
        }
        labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_are_refused_with_their_row() {
        assert_eq!(Labels::new(["a", ""]), Err(LabelError::Empty { row: 1 }));
    }

    #[test]
    #[should_panic(expected = "no name is empty")]
    fn names_that_were_not_checked_are_no_labels() {
        Labels::checked(vec![String::new()]);
    }

    #[test]
    fn typed_labels_and_their_text_are_one_class() {
        let typed = [from_double(1.0), from_single(1.0), 1u8.to_string(), "1.000".to_owned()];
        assert_eq!(Labels::new(typed).unwrap().ids(), [0; 4]);
        let truths = [from_boolean(true), "True".to_owned(), "TRUE".to_owned()];
        assert_eq!(Labels::new(truths).unwrap().names(), ["true"]);
        assert_eq!(Labels::new(["-0", "0", "01", "1e0", "1"]).unwrap().ids(), [0, 0, 1, 2, 3]);
        assert_eq!(from_double(-0.0), "0");
        assert_eq!(from_double(WHOLE_LIMIT - 1.0), "9007199254740991");
        assert_eq!(key(&from_double(WHOLE_LIMIT)), "9007199254740992");
        assert_eq!(from_double(f64::INFINITY), "inf");
    }

    #[test]
    fn a_selection_numbers_its_own_classes() {
        let labels = Labels::new(["a", "b", "c", "b"]).unwrap().select(&[3, 2]);
        assert_eq!(labels, Labels::new(["b", "c"]).unwrap());
    }
}
