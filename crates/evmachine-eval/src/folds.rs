//! Cross-class validation: in each fold some classes act as unknown, and some rows of the others are held out.

use evmachine::Labels;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use thiserror::Error;

/// The rows of one fold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fold {
    /// Rows of known classes to train on.
    pub train: Vec<usize>,
    /// Rows of known classes to test on.
    pub known: Vec<usize>,
    /// Rows of the classes left out.
    pub unknown: Vec<usize>,
}

/// Data that cannot be divided.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FoldError {
    /// Two classes must remain in each fold.
    #[error(
        "{classes} classes are too few for {folds} folds: each fold leaves some out and needs two to train on; \
         use fewer folds or fix the parameters instead of tuning"
    )]
    TooFewClasses {
        /// Classes in the data.
        classes: usize,
        /// Folds asked for.
        folds: usize,
    },
    /// Less than two folds leave nothing to compare.
    #[error("{folds} folds: at least 2 are needed")]
    TooFewFolds {
        /// Folds asked for.
        folds: usize,
    },
    /// Folds without rows to train or to test on.
    #[error("{train} rows to train on and {test} to test on: at least 1 of each is needed")]
    NoRows {
        /// Most rows to train on, as asked for.
        train: usize,
        /// Most rows to test on, as asked for.
        test: usize,
    },
    /// Nothing can be held out of classes of one row.
    #[error("no known class of a fold has two rows; none can be held out to test on")]
    NoHeldOutRows,
}

/// How much of each part is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldSizes {
    /// Most rows to train on.
    pub train: usize,
    /// Most held-out rows of known classes, and most rows of unknown ones.
    pub test: usize,
}

/// Divides classes into `count` parts, each unknown in one fold, and holds out one row in `count` of the others,
/// at least one of each class that has two.
///
/// The same seed gives the same folds.
pub fn folds(labels: &Labels, count: usize, sizes: FoldSizes, seed: u64) -> Result<Vec<Fold>, FoldError> {
    if count < 2 {
        return Err(FoldError::TooFewFolds { folds: count });
    }
    if sizes.train == 0 || sizes.test == 0 {
        return Err(FoldError::NoRows { train: sizes.train, test: sizes.test });
    }
    let classes = labels.names().len();
    let largest_part = classes.div_ceil(count);
    if classes < count || classes - largest_part < 2 {
        return Err(FoldError::TooFewClasses { classes, folds: count });
    }
    let mut random = StdRng::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..classes).collect();
    order.shuffle(&mut random);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); classes];
    for (row, &id) in labels.ids().iter().enumerate() {
        rows[id as usize].push(row);
    }
    for rows in &mut rows {
        rows.shuffle(&mut random);
    }
    (0..count)
        .map(|part| {
            let mut fold = Fold { train: Vec::new(), known: Vec::new(), unknown: Vec::new() };
            for (position, &class) in order.iter().enumerate() {
                let rows = &rows[class];
                if position % count == part {
                    fold.unknown.extend(rows);
                    continue;
                }
                let held_out = if rows.len() < 2 { 0 } else { (rows.len() / count).max(1) };
                let start = part * held_out % rows.len().max(1);
                for (index, &row) in rows.iter().enumerate() {
                    let turn = (index + rows.len() - start) % rows.len();
                    if turn < held_out { fold.known.push(row) } else { fold.train.push(row) }
                }
            }
            if fold.known.is_empty() {
                return Err(FoldError::NoHeldOutRows);
            }
            thin(&mut fold.train, sizes.train, labels, &mut random);
            // Test rows may come in any mixture.
            for part in [&mut fold.known, &mut fold.unknown] {
                part.shuffle(&mut random);
                part.truncate(sizes.test);
                part.sort_unstable();
            }
            Ok(fold)
        })
        .collect()
}

/// Drops rows at random down to `size`, but keeps one of each class.
fn thin(rows: &mut Vec<usize>, size: usize, labels: &Labels, random: &mut StdRng) {
    if rows.len() > size {
        rows.shuffle(random);
        let mut seen = vec![false; labels.names().len()];
        let (first, rest): (Vec<usize>, Vec<usize>) =
            rows.iter().partition(|&&row| !std::mem::replace(&mut seen[labels.ids()[row] as usize], true));
        let room = size.saturating_sub(first.len()).min(rest.len());
        *rows = [&first, &rest[..room]].concat();
    }
    rows.sort_unstable();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: FoldSizes = FoldSizes { train: usize::MAX, test: usize::MAX };

    proptest! {
        #[test]
        fn folds_share_no_rows_and_leave_every_class_out_once(
            classes in 4usize..12, rows in 24usize..120, count in 2usize..4, seed in any::<u64>(),
        ) {
            let names: Vec<String> = (0..rows).map(|row| (row % classes).to_string()).collect();
            let labels = Labels::new(&names).unwrap();
            let folds = folds(&labels, count, ALL, seed).unwrap();
            prop_assert_eq!(folds.len(), count);
            let mut left_out = vec![0; classes];
            for fold in &folds {
                let mut all = [fold.train.clone(), fold.known.clone(), fold.unknown.clone()].concat();
                all.sort_unstable();
                prop_assert_eq!(all, (0..rows).collect::<Vec<_>>());
                let has = |rows: &[usize], class: usize| rows.iter().any(|&row| row % classes == class);
                for (class, left_out) in left_out.iter_mut().enumerate() {
                    if has(&fold.unknown, class) {
                        *left_out += 1;
                        prop_assert!(!has(&fold.train, class) && !has(&fold.known, class));
                    } else {
                        prop_assert!(has(&fold.train, class));
                    }
                }
            }
            prop_assert!(left_out.iter().all(|times| *times == 1));
        }
    }

    #[test]
    fn folds_have_rows_to_train_and_to_test_on() {
        let labels = Labels::new((0..40).map(|row| (row % 4).to_string())).unwrap();
        for (train, test) in [(0, 5), (8, 0)] {
            let error = folds(&labels, 2, FoldSizes { train, test }, 1).unwrap_err();
            assert_eq!(error, FoldError::NoRows { train, test });
        }
    }

    #[test]
    fn thinning_keeps_every_class() {
        let labels =
            Labels::new((0..100).map(|row| if row < 96 { (row % 4).to_string() } else { row.to_string() }))
                .unwrap();
        let folds = folds(&labels, 2, FoldSizes { train: 8, test: 5 }, 1).unwrap();
        for fold in folds {
            assert!(fold.train.len() <= 8 && fold.known.len() <= 5 && fold.unknown.len() <= 5);
            assert!(labels.select(&fold.train).names().len() >= 3);
        }
    }

    #[test]
    fn too_few_classes_are_named() {
        let labels = Labels::new(["a", "b", "c"]).unwrap();
        let error = folds(&labels, 2, ALL, 0).unwrap_err();
        assert_eq!(error, FoldError::TooFewClasses { classes: 3, folds: 2 });
        let four = Labels::new(["a", "b", "c", "d"]).unwrap();
        assert_eq!(folds(&four, 2, ALL, 0), Err(FoldError::NoHeldOutRows));
        assert_eq!(folds(&four, 1, ALL, 0), Err(FoldError::TooFewFolds { folds: 1 }));
    }
}
