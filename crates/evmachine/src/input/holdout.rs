//! Which rows a model never learns from, because its threshold is set on them, and how rows are dealt to folds.

use evmachine_engine::math::spread;

/// One row in so many is held out to calibrate on, among the first [`WHOLE_SHARE`] rows of a model.
const ONE_IN: u64 = 10;
/// From this row number on, the chance of a row to be held out falls as 1 / number.
const WHOLE_SHARE: u64 = 20_000;
/// Rows of the first batch that parameters are chosen on: one in so many, within bounds.
const CHOOSE_ONE_IN: usize = 20;
const FEWEST_CHOOSING: usize = 200;
pub(crate) const MOST_CHOOSING: usize = 2_000;

/// The chance of a row to be held out and calibrate: 1/10 up to row 20,000, then 2,000 / (number + 1), so that the rows held
/// out grow with the logarithm of all rows: 2,000 of 20,000, 6,600 of 200,000, 14,400 of ten million.
pub(crate) fn chance(number: u64) -> f64 {
    let number = number.max(WHOLE_SHARE - 1);
    (WHOLE_SHARE / ONE_IN) as f64 / (number + 1) as f64
}

/// What the rows of a batch are for. Each list is in rising order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Division {
    pub(crate) learned: Vec<usize>,
    /// Never learned; penalty and weights are chosen on them.
    pub(crate) choosing: Vec<usize>,
    /// Never learned; the threshold is set on them.
    pub(crate) calibrating: Vec<usize>,
}

impl Division {
    /// Every row is learned.
    pub(crate) fn whole(rows: usize) -> Self {
        Self { learned: (0..rows).collect(), choosing: Vec::new(), calibrating: Vec::new() }
    }

    /// Divides rows that are numbered from `first` on, of classes `ids`, of which `has_rows` says whether the model has
    /// learned any. Whether a row calibrates depends on its number alone, but that the first row of a class is always learned: so
    /// batches are divided as all their rows at once would be.
    pub(crate) fn new(first: u64, ids: &[u32], has_rows: impl Fn(u32) -> bool, choose: bool) -> Self {
        let classes = ids.iter().max().map_or(0, |&class| class as usize + 1);
        let mut started: Vec<bool> = (0..classes as u32).map(has_rows).collect();
        let wanted = (ids.len() / CHOOSE_ONE_IN).clamp(FEWEST_CHOOSING, MOST_CHOOSING);
        let choosing_chance = if choose { wanted as f64 / ids.len() as f64 } else { 0.0 };
        let mut division = Self { learned: Vec::new(), choosing: Vec::new(), calibrating: Vec::new() };
        for (row, &class) in ids.iter().enumerate() {
            let number = first + row as u64;
            let part = if !std::mem::replace(&mut started[class as usize], true) {
                &mut division.learned
            } else if drawn(number, CALIBRATING) < chance(number) {
                &mut division.calibrating
            } else if drawn(number, CHOOSING) < choosing_chance {
                &mut division.choosing
            } else {
                &mut division.learned
            };
            part.push(row);
        }
        division
    }
}

impl Division {
    /// Has the rows that were chosen on learned.
    pub(crate) fn learn_choosing(&mut self) {
        self.learned.append(&mut self.choosing);
        self.learned.sort_unstable();
    }
}

/// Which of several independent drawings.
const CALIBRATING: u64 = 0x5eed_ca1b;
const CHOOSING: u64 = 0x5eed_c005;

/// A number in [0, 1) that looks drawn, the same for a row at all times.
pub(crate) fn drawn(number: u64, drawing: u64) -> f64 {
    (spread(spread(number) ^ drawing) >> 11) as f64 / (1u64 << 53) as f64
}

/// Rows dealt to folds, those of each class evenly.
pub(crate) struct Folds {
    /// By row; `None` for the row of a class that has no other, which must be learned.
    fold: Vec<Option<usize>>,
    count: usize,
}

impl Folds {
    pub(crate) fn new(ids: &[u32], class_count: usize, count: usize) -> Self {
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); class_count];
        for (row, &class) in ids.iter().enumerate() {
            rows[class as usize].push(row);
        }
        let mut fold = vec![None; ids.len()];
        let mut next = 0;
        for rows in rows.iter_mut().filter(|rows| rows.len() > 1) {
            rows.sort_unstable_by_key(|&row| (spread(row as u64), row));
            for &row in &*rows {
                fold[row] = Some(next % count);
                next += 1;
            }
        }
        Self { fold, count }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Rows that are in some fold.
    pub(crate) fn rows(&self) -> Vec<usize> {
        (0..self.fold.len()).filter(|&row| self.fold[row].is_some()).collect()
    }

    /// The rows of a fold.
    pub(crate) fn of(&self, fold: usize) -> Vec<usize> {
        (0..self.fold.len()).filter(|&row| self.fold[row] == Some(fold)).collect()
    }

    /// All rows but those of a fold.
    pub(crate) fn rest(&self, fold: usize) -> Vec<usize> {
        (0..self.fold.len()).filter(|&row| self.fold[row] != Some(fold)).collect()
    }
}

/// At most `most` of the rows, chosen by a hash of their number, in the order they have.
pub(crate) fn some_of(rows: &[usize], most: usize) -> Vec<usize> {
    if rows.len() <= most {
        return rows.to_vec();
    }
    let mut chosen = rows.to_vec();
    chosen.sort_unstable_by_key(|&row| (spread(row as u64), row));
    chosen.truncate(most);
    chosen.sort_unstable();
    chosen
}

/// Training rows in two parts.
pub(crate) struct Holdout {
    pub(crate) train: Vec<usize>,
    pub(crate) held: Vec<usize>,
}

impl Holdout {
    /// Holds out one row in five of each class that has two.
    pub(crate) fn new(ids: &[u32], class_count: usize) -> Self {
        const EVERY: usize = 5;
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); class_count];
        for (row, &class) in ids.iter().enumerate() {
            rows[class as usize].push(row);
        }
        let mut is_held = vec![false; ids.len()];
        for rows in rows.iter_mut().filter(|rows| rows.len() > 1) {
            rows.sort_unstable_by_key(|&row| (spread(row as u64), row));
            rows[..(rows.len() / EVERY).max(1)].iter().for_each(|&row| is_held[row] = true);
        }
        let (held, train) = (0..ids.len()).partition(|&row| is_held[row]);
        Self { train, held }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_gives_a_fifth_and_keeps_a_row() {
        let classes: Vec<u32> = (0..100).map(|row| row % 4).chain([4, 5, 5]).collect();
        let Holdout { train, held } = Holdout::new(&classes, 6);
        let count = |rows: &[usize], class: u32| rows.iter().filter(|&&row| classes[row] == class).count();
        assert_eq!((0..6).map(|class| count(&held, class)).collect::<Vec<_>>(), [5, 5, 5, 5, 0, 1]);
        assert_eq!(train.len() + held.len(), classes.len());
        assert!(train.is_sorted() && held.is_sorted());
        let mut half = train.clone();
        thin(&mut half, &classes, 6, train.len() / 2);
        assert_eq!((0..6).map(|class| count(&half, class)).collect::<Vec<_>>(), [10, 10, 10, 10, 1, 1]);
    }

    #[test]
    fn batches_are_divided_as_all_rows_at_once() {
        let ids: Vec<u32> = (0..60_000u32).map(|row| (row / 7) % 4_000).collect();
        let whole = Division::new(0, &ids, |_| false, false);
        let cut = 23_456;
        let first = Division::new(0, &ids[..cut], |_| false, false);
        let seen = |class: u32| ids[..cut].contains(&class);
        let second = Division::new(cut as u64, &ids[cut..], seen, false);
        let moved = |rows: &[usize]| rows.iter().map(|row| row + cut).collect::<Vec<_>>();
        assert_eq!([&first.calibrating[..], &moved(&second.calibrating)].concat(), whole.calibrating);
        assert_eq!([&first.learned[..], &moved(&second.learned)].concat(), whole.learned);
        // 2,000 ln 3 + 2,000 less the first rows of classes.
        assert!((3_500..4_200).contains(&whole.calibrating.len()), "{}", whole.calibrating.len());
        assert!((0..4_000).all(|class| whole.learned.iter().any(|&row| ids[row] == class)));
    }

    #[test]
    fn parts_are_disjoint_and_of_the_size_that_was_asked_for() {
        let ids = vec![0; 20_000];
        let Division { learned, choosing, calibrating } = Division::new(0, &ids, |_| true, true);
        assert_eq!(learned.len() + choosing.len() + calibrating.len(), ids.len());
        assert!((1_850..2_150).contains(&calibrating.len()), "{}", calibrating.len());
        assert!((800..1_100).contains(&choosing.len()), "{}", choosing.len());
    }

    #[test]
    fn folds_share_every_class_and_leave_a_single_row_alone() {
        let ids: Vec<u32> = (0..50).map(|row| row % 2).chain([2, 3, 3]).collect();
        let folds = Folds::new(&ids, 4, 5);
        let rows = folds.rows();
        assert_eq!(rows.len(), 52, "all but the only row of class 2");
        for fold in 0..5 {
            let (held, rest) = (folds.of(fold), folds.rest(fold));
            assert_eq!(held.len() + rest.len(), ids.len());
            assert!((0..2).all(|class| held.iter().filter(|&&row| ids[row] == class).count() == 5));
        }
        assert_eq!(some_of(&rows, 10).len(), 10);
    }
}
