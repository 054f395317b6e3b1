//! What can be had at each threshold: ROC and OSCR, and the price of a rate of accepted known queries.

use crate::answers::Answers;

/// The area under the ROC curve of known against unknown queries: the probability that a known query scores
/// higher than an unknown one, ties counting half. `None` where either kind is missing.
pub fn auroc(answers: &Answers) -> Option<f64> {
    let known = answers.truth.iter().filter(|truth| truth.is_some()).count() as f64;
    let unknown = answers.len() as f64 - known;
    if known == 0.0 || unknown == 0.0 {
        return None;
    }
    let (mut below, mut area) = (0.0, 0.0);
    for group in by_score(answers) {
        let known = group.iter().filter(|&&row| answers.truth[row].is_some()).count() as f64;
        let unknown = group.len() as f64 - known;
        area += known * (below + unknown / 2.0);
        below += unknown;
    }
    Some(area / (known * unknown))
}

/// The OSCR curve: (acceptance rate of unknown queries, rate of known queries accepted and classified right), from
/// the strictest threshold to the most lenient. Starts at (0, 0). `None` where either kind is missing.
pub fn oscr_curve(answers: &Answers) -> Option<Vec<(f64, f64)>> {
    let known = answers.truth.iter().filter(|truth| truth.is_some()).count() as f64;
    let unknown = answers.len() as f64 - known;
    if known == 0.0 || unknown == 0.0 {
        return None;
    }
    let (mut accepted, mut right) = (0.0, 0.0);
    let mut curve = vec![(0.0, 0.0)];
    for group in by_score(answers).into_iter().rev() {
        for row in group {
            match answers.truth[row] {
                None => accepted += 1.0,
                Some(class) if class == answers.best[row] => right += 1.0,
                Some(_) => {}
            }
        }
        curve.push((accepted / unknown, right / known));
    }
    Some(curve)
}

/// The area under [`oscr_curve`].
pub fn oscr(answers: &Answers) -> Option<f64> {
    let curve = oscr_curve(answers)?;
    Some(curve.windows(2).map(|pair| (pair[1].0 - pair[0].0) * f64::midpoint(pair[0].1, pair[1].1)).sum())
}

/// The rate of unknown queries accepted at the threshold that accepts `rate` of the known ones; lower is better.
///
/// The threshold is the `1 - rate` quantile of the scores of known queries, interpolated linearly between two of them,
/// and a score at the threshold is accepted. `None` where either kind is missing.
pub fn fpr_at_tpr(answers: &Answers, rate: f64) -> Option<f64> {
    let (known, unknown): (Vec<usize>, Vec<usize>) =
        (0..answers.len()).partition(|&row| answers.truth[row].is_some());
    let mut scores: Vec<f64> = known.into_iter().map(|row| answers.score[row]).collect();
    scores.sort_unstable_by(f64::total_cmp);
    let threshold = reached_by(&scores, rate)?;
    let accepted = unknown.iter().filter(|&&row| answers.score[row] >= threshold).count();
    (!unknown.is_empty()).then(|| accepted as f64 / unknown.len() as f64)
}

/// The value that the share `rate` of the ascending `values` reaches, interpolated linearly: position
/// `(1 - rate) (n - 1)` counted from 0.
fn reached_by(values: &[f64], rate: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let position = last as f64 - rate.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let (low, high) = (values[below], values[(below + 1).min(last)]);
    // Between equal values, infinite ones above all, there is nothing to interpolate.
    Some(if low == high { low } else { low + (position - below as f64) * (high - low) })
}

/// Rows in groups of equal score, lowest first.
fn by_score(answers: &Answers) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..answers.len()).collect();
    order.sort_by(|&a, &b| answers.score[a].total_cmp(&answers.score[b]));
    order
        .chunk_by(|&a, &b| answers.score[a].total_cmp(&answers.score[b]).is_eq())
        .map(<[usize]>::to_vec)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answers(rows: &[(Option<usize>, usize, f64)]) -> Answers {
        let mut answers = Answers::default();
        for &(truth, best, score) in rows {
            answers.push(truth, best, score, true);
        }
        answers
    }

    #[test]
    fn a_hand_computed_example() {
        // Known: 0.9 right, 0.6 wrong, 0.4 right. Unknown: 0.5, 0.4.
        let answers = answers(&[
            (Some(0), 0, 0.9),
            (Some(1), 0, 0.6),
            (Some(1), 1, 0.4),
            (None, 0, 0.5),
            (None, 1, 0.4),
        ]);
        // Pairs won: 0.9 and 0.6 beat both, 0.4 ties one and loses one: 4.5 of 6.
        assert_eq!(auroc(&answers), Some(0.75));
        let third = 1.0 / 3.0;
        let expected = [(0.0, 0.0), (0.0, third), (0.0, third), (0.5, third), (1.0, 2.0 * third)];
        assert_eq!(oscr_curve(&answers).unwrap(), expected);
        let area = 0.5 * third + 0.5 * 0.5 * (third + 2.0 * third);
        assert!((oscr(&answers).unwrap() - area).abs() < 1e-15);
    }

    #[test]
    fn one_kind_alone_has_no_curve() {
        assert_eq!(auroc(&answers(&[(Some(0), 0, 1.0)])), None);
        assert_eq!(oscr(&answers(&[(None, 0, 1.0)])), None);
    }

    #[test]
    fn the_threshold_lies_between_two_known_scores() {
        // Known: 0, 1, ..., 10. At 95 % the threshold is the 5 % quantile, at position 0.5: 0.5.
        let mut rows: Vec<_> = (0..11).map(|score| (Some(0), 0, f64::from(score))).collect();
        rows.extend([(None, 0, 0.5), (None, 0, 0.49), (None, 0, -1.0), (None, 0, 20.0)]);
        assert_eq!(fpr_at_tpr(&answers(&rows), 0.95), Some(0.5));
        // All known queries are accepted from 0 on, and half of them from 5 on.
        assert_eq!(fpr_at_tpr(&answers(&rows), 1.0), Some(0.75));
        assert_eq!(fpr_at_tpr(&answers(&rows), 0.5), Some(0.25));
        assert_eq!(fpr_at_tpr(&answers(&rows[..11]), 0.95), None);
        assert_eq!(fpr_at_tpr(&answers(&rows[11..]), 0.95), None);
    }

    proptest! {
        #[test]
        fn areas_are_bounded_by_accuracy_and_one(
            rows in prop::collection::vec((prop::option::of(0usize..3), 0usize..3, 0u8..20), 2..80),
        ) {
            let rows: Vec<_> = rows.into_iter().map(|(truth, best, score)| (truth, best, f64::from(score))).collect();
            let answers = answers(&rows);
            if let (Some(auroc), Some(oscr)) = (auroc(&answers), oscr(&answers)) {
                let known = rows.iter().filter(|row| row.0.is_some()).count() as f64;
                let right = rows.iter().filter(|row| row.0 == Some(row.1)).count() as f64;
                prop_assert!((0.0..=1.0).contains(&auroc));
                prop_assert!(oscr >= -1e-12 && oscr <= right / known + 1e-12);
                prop_assert!(oscr <= auroc + 1e-12);
            }
        }
    }
}
