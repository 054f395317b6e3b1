//! Splits of extremely randomised trees: a threshold drawn at random, and what it is worth.

use super::Stretch;
use crate::random::Random;

/// Evenly drawn from `least` to below `largest`.
pub(super) fn threshold(least: f32, largest: f32, random: &mut Random) -> f32 {
    let (low, high) = (f64::from(least), f64::from(largest));
    let drawn = (low + random.unit() * (high - low)) as f32;
    // Rounding may reach the largest value, which would leave nothing on the right.
    if drawn < largest { drawn } else { least }
}

/// How many values are up to the threshold.
#[inline]
pub(super) fn count(values: &[f32], threshold: f32) -> u32 {
    values.iter().map(|&value| u32::from(value <= threshold)).sum()
}

/// `sum l_c^2 / l + sum r_c^2 / r` over classes c, l and r counting rows on the left and on the right: the higher, the lower the
/// weighted Gini impurity of the two sides. `None` if a side has fewer than `least` rows.
pub(super) fn score(values: &[f32], stretches: &[Stretch], threshold: f32, least: usize) -> Option<f64> {
    let (mut left, mut left_squares, mut right_squares) = (0u64, 0u64, 0u64);
    let mut rest = values;
    for stretch in stretches {
        let (own, others) = rest.split_at(stretch.rows as usize);
        rest = others;
        let count = u64::from(count(own, threshold));
        let other = u64::from(stretch.rows) - count;
        left += count;
        left_squares += count * count;
        right_squares += other * other;
    }
    let right = values.len() as u64 - left;
    (left.min(right) >= least as u64)
        .then(|| left_squares as f64 / left as f64 + right_squares as f64 / right as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_threshold_leaves_something_on_both_sides() {
        let mut random = Random::new(3, 0);
        for (least, largest) in [(1.0f32, 1.0f32.next_up()), (-1e15, 1e15), (-f32::MIN_POSITIVE, 0.0)] {
            for _ in 0..1000 {
                let drawn = threshold(least, largest, &mut random);
                assert!(least <= drawn && drawn < largest, "{drawn}");
            }
        }
    }

    #[test]
    fn a_hand_computed_score() {
        let stretches = [Stretch { class: 0, rows: 3 }, Stretch { class: 4, rows: 2 }];
        let values = [1.0, 2.0, 9.0, 2.0, 8.0];
        // Left: two of class 0, one of class 4; right: one of each.
        assert_eq!(score(&values, &stretches, 2.0, 1), Some(5.0 / 3.0 + 1.0));
        assert_eq!(score(&values, &stretches, 2.0, 3), None);
    }
}
