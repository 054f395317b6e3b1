//! Rows held out of training, to choose and to calibrate on.

/// Training rows in two parts.
pub(crate) struct Holdout {
    pub(crate) train: Vec<usize>,
    pub(crate) held: Vec<usize>,
}

/// One row in so many of a class is held out.
const EVERY: usize = 5;

impl Holdout {
    /// One row in five of each class that has two, at most `most` in all and as evenly as that allows. Which ones does not
    /// depend on how rows are ordered within a class's own order: they are spread by a fixed hash of their number.
    pub(crate) fn new(classes: &[u32], class_count: usize, most: usize) -> Self {
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); class_count];
        for (row, &class) in classes.iter().enumerate() {
            rows[class as usize].push(row);
        }
        let wanted = |len: usize| if len < 2 { 0 } else { (len / EVERY).max(1) };
        let total: usize = rows.iter().map(|rows| wanted(rows.len())).sum();
        let share = if total > most { most as f64 / total as f64 } else { 1.0 };
        let mut is_held = vec![false; classes.len()];
        for rows in &mut rows {
            rows.sort_unstable_by_key(|&row| (spread(row as u64), row));
            let count = wanted(rows.len());
            let count = if count == 0 { 0 } else { ((count as f64 * share).round() as usize).max(1) };
            rows[..count].iter().for_each(|&row| is_held[row] = true);
        }
        let (held, train) = (0..classes.len()).partition(|&row| is_held[row]);
        Self { train, held }
    }

    /// Drops rows to train on down to about `most`, the same share of each class and one at least.
    pub(crate) fn thin(&mut self, classes: &[u32], class_count: usize, most: usize) {
        thin(&mut self.train, classes, class_count, most);
    }
}

/// Drops rows down to about `most`, the same share of each class, and one at least.
pub(crate) fn thin(rows: &mut Vec<usize>, classes: &[u32], class_count: usize, most: usize) {
    if rows.len() <= most {
        return;
    }
    let step = rows.len() as f64 / most as f64;
    let mut seen = vec![0usize; class_count];
    rows.retain(|&row| {
        let seen = &mut seen[classes[row] as usize];
        let position = *seen as f64;
        *seen += 1;
        // The row at which the next whole step begins.
        (position / step).ceil() * step < position + 1.0
    });
}

/// A number that looks drawn (the finaliser of `SplitMix64`).
pub(crate) fn spread(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_gives_a_fifth_and_keeps_a_row() {
        let classes: Vec<u32> = (0..100).map(|row| row % 4).chain([4, 5, 5]).collect();
        let Holdout { train, held } = Holdout::new(&classes, 6, usize::MAX);
        let count = |rows: &[usize], class: u32| rows.iter().filter(|&&row| classes[row] == class).count();
        assert_eq!((0..6).map(|class| count(&held, class)).collect::<Vec<_>>(), [5, 5, 5, 5, 0, 1]);
        assert_eq!(train.len() + held.len(), classes.len());
        assert!(train.is_sorted() && held.is_sorted());
        let mut half = train.clone();
        thin(&mut half, &classes, 6, train.len() / 2);
        assert_eq!((0..6).map(|class| count(&half, class)).collect::<Vec<_>>(), [10, 10, 10, 10, 1, 1]);
        let few = Holdout::new(&classes, 6, 8).held;
        assert_eq!((0..6).map(|class| count(&few, class)).collect::<Vec<_>>(), [2, 2, 2, 2, 0, 1]);
    }
}
