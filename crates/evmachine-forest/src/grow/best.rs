//! Splits of random forests: the best of all thresholds of a column.

use super::Stretch;
use crate::tree::halfway;

/// Sorts the values of a node; keeps what it allocated.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    /// A value, as a number of the same order, above the number of its stretch.
    keys: Vec<u64>,
    left: Vec<u64>,
}

impl Sorter {
    /// The score and the threshold that divides the node best, halfway between two values that follow each other; the first of
    /// equal ones. `None` if every threshold leaves fewer than `least` rows on a side.
    pub(super) fn best(&mut self, values: &[f32], stretches: &[Stretch], least: usize) -> Option<(f64, f32)> {
        self.keys.clear();
        let mut rest = values;
        let mut right_squares = 0;
        for (stretch, number) in stretches.iter().zip(0u64..) {
            let (own, others) = rest.split_at(stretch.rows as usize);
            rest = others;
            self.keys.extend(own.iter().map(|&value| (u64::from(ordered(value)) << 32) | number));
            right_squares += u64::from(stretch.rows).pow(2);
        }
        self.keys.sort_unstable();
        self.left.clear();
        self.left.resize(stretches.len(), 0);
        let mut left_squares = 0;
        let mut best: Option<(f64, f32)> = None;
        for (index, pair) in self.keys.windows(2).enumerate() {
            let number = (pair[0] & u64::from(u32::MAX)) as usize;
            let left = &mut self.left[number];
            let right = u64::from(stretches[number].rows) - *left;
            left_squares += 2 * *left + 1;
            right_squares -= 2 * right - 1;
            *left += 1;
            let (value, next) = (value_of(pair[0]), value_of(pair[1]));
            let (left, right) = (index + 1, values.len() - index - 1);
            if value < next && left.min(right) >= least {
                let score = left_squares as f64 / left as f64 + right_squares as f64 / right as f64;
                if best.is_none_or(|(highest, _)| score > highest) {
                    best = Some((score, halfway(value, next)));
                }
            }
        }
        best
    }
}

/// A number of the same order as the value.
fn ordered(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 0 { bits | (1 << 31) } else { !bits }
}

fn value_of(key: u64) -> f32 {
    let bits = (key >> 32) as u32;
    f32::from_bits(if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_the_values() {
        let values = [-1e15, -2.0, -1.0, -f32::MIN_POSITIVE, 0.0, f32::MIN_POSITIVE, 1.5, 1e15];
        for pair in values.windows(2) {
            assert!(ordered(pair[0]) < ordered(pair[1]));
        }
        for value in values {
            assert_eq!(value_of(u64::from(ordered(value)) << 32 | 0x4d), value);
        }
    }

    #[test]
    fn the_best_threshold_is_halfway_and_never_the_upper_value() {
        let stretches = [Stretch { class: 0, rows: 3 }, Stretch { class: 1, rows: 3 }];
        let mut sorter = Sorter::default();
        let found = sorter.best(&[1.0, 3.0, 2.0, 5.0, 9.0, 3.0], &stretches, 1);
        // Up to 3: three and one; the other two are pure. Up to 2: two are pure, of the others one and three.
        assert_eq!(found, Some((2.0 + 10.0 / 4.0, 2.5)));
        // Zeros of both signs are one value.
        assert_eq!(sorter.best(&[0.0, -0.0, 0.0, -0.0, 0.0, 0.0], &stretches, 1), None);
        assert_eq!(halfway(1.0, 1.0f32.next_up()), 1.0);
        assert_eq!(sorter.best(&[1.0, 3.0, 2.0, 5.0, 9.0, 3.0], &stretches, 3), None);
    }
}
