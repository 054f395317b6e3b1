//! Names that somebody may have meant.

/// At most so many are offered.
const OFFERED: usize = 5;

/// Those of `names` that begin like `name`, or differ from it by a letter or two; the nearest first, at most five.
///
/// ```
/// assert_eq!(evmachine::similar("cst", ["cat", "dog", "car"]), ["cat", "car"]);
/// ```
pub fn similar<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let lower = name.to_lowercase();
    let near = |other: &str| {
        let other = other.to_lowercase();
        let steps = strsim::levenshtein(&lower, &other);
        let begins = !lower.is_empty() && (other.starts_with(&lower) || lower.starts_with(&other));
        (begins || (steps <= 2 && steps < lower.chars().count())).then_some(steps)
    };
    let mut found: Vec<(usize, &str)> =
        names.into_iter().filter_map(|other| near(other).map(|steps| (steps, other))).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(OFFERED).map(|(_, other)| other).collect()
}

/// Those of `names` that `name` looks like a slip of: the same but for case, or but for one letter, two from five
/// letters on. Names that differ in digits alone are numbered, and are not slips.
pub fn slip_of<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let without_digits = |text: &str| text.replace(|letter: char| letter.is_numeric(), "");
    let lower = name.to_lowercase();
    let most = if lower.chars().count() < 5 { 1 } else { 2 };
    let is_slip = |other: &&str| {
        let other = other.to_lowercase();
        let numbered = lower != other && without_digits(&lower) == without_digits(&other);
        !numbered && strsim::levenshtein(&lower, &other) <= most
    };
    let mut found = similar(name, names);
    found.retain(is_slip);
    found
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
        assert_eq!(slip_of("leef", ["leaf", "leafs", "reef"]), ["leaf", "reef"]);
        assert_eq!(slip_of("Leaf", ["leaf"]), ["leaf"]);
        assert_eq!(slip_of("elefant", ["elephant"]), ["elephant"]);
        assert!(slip_of("person_17", ["person_16", "person_1"]).is_empty());
        assert!(slip_of("credit", ["credit_card"]).is_empty());
        assert!(slip_of("11", ["10", "1"]).is_empty());
    }
}
