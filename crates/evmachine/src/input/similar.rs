//! Names that somebody may have meant, and the guard against classes that a typing error would found.

use thiserror::Error;

use super::labels::are_same;

/// At most this number of names is offered.
const OFFERED: usize = 5;

/// Those of `names` that begin like `name`, or differ from it by a letter or two; the nearest first, at most five.
///
/// ```
/// assert_eq!(evmachine::similar("cst", ["cat", "dog", "car"]), ["cat", "car"]);
/// ```
pub fn similar<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let lower = name.to_lowercase();
    nearest(names, |other| {
        let other = other.to_lowercase();
        let steps = strsim::levenshtein(&lower, &other);
        let begins = !lower.is_empty() && (other.starts_with(&lower) || lower.starts_with(&other));
        (begins || (steps <= 2 && steps < lower.chars().count())).then_some(steps)
    })
}

/// A name that would found a class, and looks like a typing error for one that is known.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name:?} is no class yet; is {} meant?", .known.join(" or "))]
#[non_exhaustive]
pub struct SlipError {
    /// The name.
    pub name: String,
    /// Classes that are close to it, the nearest first.
    pub known: Vec<String>,
}

/// Refuses a name that is none of `classes` and looks like a typing error for one of them: the same but for case or
/// one letter (two from five letters on); two letters that changed places count as one. Numbers, and names that differ
/// in digits alone, are no typing errors.
///
/// Every front end asks this before a name that a person typed founds a class, unless the person says that it is one.
///
/// ```
/// use evmachine::refuse_slip;
///
/// let classes = ["leaf", "person_16"];
/// assert_eq!(refuse_slip("leef", classes).unwrap_err().known, ["leaf"]);
/// assert!(refuse_slip("leaf", classes).is_ok());
/// assert!(refuse_slip("person_17", classes).is_ok());
/// ```
pub fn refuse_slip<'a>(name: &str, classes: impl IntoIterator<Item = &'a str>) -> Result<(), SlipError> {
    if name.trim().parse::<f64>().is_ok_and(f64::is_finite) {
        return Ok(());
    }
    let without_digits = |text: &str| text.replace(|letter: char| letter.is_numeric(), "");
    let lower = name.to_lowercase();
    let letters = lower.chars().count();
    let most = if letters < 5 { 1 } else { 2 };
    let mut is_class = false;
    let known = nearest(classes, |class| {
        is_class |= are_same(class, name);
        let class = class.to_lowercase();
        let numbered = lower != class && without_digits(&lower) == without_digits(&class);
        let steps = strsim::osa_distance(&lower, &class);
        (!numbered && steps <= most && steps < letters).then_some(steps)
    });
    if is_class || known.is_empty() {
        return Ok(());
    }
    Err(SlipError { name: name.to_owned(), known: known.into_iter().map(str::to_owned).collect() })
}

/// The names that have a distance, the smallest first.
fn nearest<'a>(
    names: impl IntoIterator<Item = &'a str>,
    mut distance: impl FnMut(&str) -> Option<usize>,
) -> Vec<&'a str> {
    let mut found: Vec<(usize, &str)> =
        names.into_iter().filter_map(|name| distance(name).map(|steps| (steps, name))).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(OFFERED).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_hand_are_near() {
        let classes = ["cat", "car", "dog", "category"];
        assert_eq!(similar("cst", classes), ["cat", "car"]);
        assert_eq!(similar("Cat", classes), ["cat", "car", "category"]);
        assert!(similar("zebra", classes).is_empty());
        assert!(similar("", classes).is_empty());
    }

    #[test]
    fn numbered_names_and_longer_ones_are_no_slips() {
        let known = |name: &str, classes: &[&str]| {
            refuse_slip(name, classes.iter().copied()).map_or_else(|slip| slip.known, |()| Vec::new())
        };
        assert_eq!(known("leef", &["leaf", "leafs", "reef"]), ["leaf", "reef"]);
        assert_eq!(known("Leaf", &["leaf"]), ["leaf"]);
        assert_eq!(known("elefant", &["elephant"]), ["elephant"]);
        assert_eq!(known("tpo", &["top"]), ["top"]);
        assert_eq!(known("aa", &["a", "b"]), ["a"]);
        for (name, classes) in [
            ("person_17", &["person_16", "person_1"][..]),
            ("credit", &["credit_card"]),
            ("11", &["10", "1"]),
            ("-5", &["65", "5"]),
            ("1.5", &["15"]),
            ("B", &["A"]),
            ("cat", &["cat", "car"]),
            ("True", &["true", "tree"]),
        ] {
            assert!(known(name, classes).is_empty(), "{name}");
        }
    }

    #[test]
    fn numbered_neighbours_do_not_hide_a_slip() {
        let classes = ["item1", "item2", "item3", "item4", "item6", "itemx"];
        assert_eq!(refuse_slip("item5", classes).unwrap_err().known, ["itemx"]);
    }
}
