//! Class names and the numbers that stand for them.

use std::collections::HashMap;

use crate::error::LabelError;

/// What predictions call a query that no class supports, unless they are told otherwise.
pub const UNKNOWN: &str = "unknown";

/// One class name per row, as numbers into a list of distinct names in order of first appearance.
///
/// ```
/// use evmachine::Labels;
///
/// let labels = Labels::new(["cat", "dog", "cat"])?;
/// assert_eq!(labels.names(), ["cat", "dog"]);
/// assert_eq!(labels.ids(), [0, 1, 0]);
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
            let id = if let Some(&id) = numbers.get(name) {
                id
            } else {
                let id = labels.names.len() as u32;
                numbers.insert(name.to_owned(), id);
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
    pub fn name(&self, row: usize) -> &str {
        &self.names[self.ids[row] as usize]
    }

    /// Rows by class number, some classes of which may have none.
    pub(crate) fn with_names(names: Vec<String>, ids: Vec<u32>) -> Self {
        Self { names, ids }
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
    fn a_selection_numbers_its_own_classes() {
        let labels = Labels::new(["a", "b", "c", "b"]).unwrap().select(&[3, 2]);
        assert_eq!(labels, Labels::new(["b", "c"]).unwrap());
    }
}
