//! Tails that are merged from parts.

use crate::psi::weibull::Workspace;

/// Room for merging and fitting tails.
#[derive(Default)]
pub struct Merging {
    /// For fits.
    pub workspace: Workspace,
    /// The merged tail.
    pub merged: Vec<f32>,
}

/// Puts the `size` smallest of two sorted lists into `merged`; `false` where they are those of `old`.
pub fn merge_sorted(old: &[f32], new: &[f32], size: usize, merged: &mut Vec<f32>) -> bool {
    let enters = |value: &f32| old.len() < size || value < &old[size - 1];
    if !new.first().is_some_and(enters) {
        return false;
    }
    merged.clear();
    let mut rest = old;
    for &value in new {
        // What is new is few, and lies far apart.
        let (before, behind) = rest.split_at(rest.partition_point(|old| *old <= value));
        merged.extend_from_slice(before);
        rest = behind;
        if merged.len() >= size {
            break;
        }
        merged.push(value);
    }
    merged.extend_from_slice(&rest[..rest.len().min(size.saturating_sub(merged.len()))]);
    merged.truncate(size);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_is_the_smallest_of_both_or_nothing_new() {
        let merge = |old: &[f32], new: &[f32], size| {
            let mut merged = vec![7.0];
            merge_sorted(old, new, size, &mut merged).then_some(merged)
        };
        assert_eq!(merge(&[1.0, 3.0], &[2.0], 2), Some(vec![1.0, 2.0]));
        assert_eq!(
            merge(&[1.0, 3.0, 4.0, 6.0], &[2.0, 3.5, 5.0, 5.5], 5),
            Some(vec![1.0, 2.0, 3.0, 3.5, 4.0])
        );
        assert_eq!(merge(&[1.0, 3.0], &[3.0, 4.0], 2), None);
        assert_eq!(merge(&[1.0], &[4.0, 5.0], 3), Some(vec![1.0, 4.0, 5.0]));
        assert_eq!(merge(&[1.0, 9.0], &[4.0, 5.0], 8), Some(vec![1.0, 4.0, 5.0, 9.0]));
        assert_eq!(merge(&[], &[4.0, 5.0], 1), Some(vec![4.0]));
        assert_eq!(merge(&[1.0, 2.0], &[], 3), None);
    }
}
