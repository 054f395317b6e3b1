//! What a threshold promises, beside what rows with labels show.

use evmachine::{Promise, Rejection};
use evmachine_eval::{Answers, Chance};

/// Beyond chance is what happens once in 1000 times, by half to each side.
const HARDLY: f64 = 0.0005;

/// What these rows show of the promise, and whether it differs by more than chance; `None` where nothing is promised or no rows show it.
pub(crate) fn measured(promise: &Promise, answers: &Answers) -> Option<String> {
    if !promise.rule.is_calibrated() {
        return None;
    }
    let is_of_unknown = matches!(promise.rule, Rejection::FalseKnown(_));
    let asked = || (0..answers.len()).filter(|&row| answers.truth[row].is_none() == is_of_unknown);
    let rows = asked().count();
    if rows == 0 {
        return None;
    }
    let mistakes = asked().filter(|&row| answers.accepted[row] == is_of_unknown).count();
    let (kind, what) = if is_of_unknown { ("unknown", "accepted") } else { ("known", "rejected") };
    let measured = format!("{:.1} % of {rows} {kind} rows {what}", 100.0 * mistakes as f64 / rows as f64);
    let judged = match promise.range {
        Some((low, high)) => {
            let share = if promise.confidence == 0.0 { promise.rule.value() } else { low.midpoint(high) };
            let chance = Chance::of(mistakes, rows, share, promise.effective_rows);
            if chance.as_many < HARDLY {
                "more than chance explains: these rows are not like those that the threshold was set on, and the promise does not hold here"
            } else if chance.as_few < HARDLY {
                "fewer than chance explains: these rows are not like those that the threshold was set on; did the model learn them?"
            } else {
                "as promised, within chance"
            }
        }
        None if promise.is_estimate() => "where the promise was an estimate",
        None => "where nothing could be promised",
    };
    Some(format!("{measured}, {judged}"))
}

#[cfg(test)]
mod tests {
    use evmachine::{Evm, Features, Labels, Params};

    use super::*;

    #[test]
    fn what_differs_beyond_chance_is_said() {
        let values: Vec<f32> = (0..400).map(|i| (i % 200) as f32 / 100.0 + (i / 200) as f32 * 9.0).collect();
        let labels = Labels::new((0..400).map(|i| if i < 200 { "low" } else { "high" })).expect("labels");
        let features = Features::new(values, 1).expect("features");
        let (evm, _) = Evm::fit(&Params::plain(), &features, &labels).expect("a model");
        let said = |rejected: usize| {
            let mut answers = Answers::default();
            for row in 0..1000 {
                answers.push(Some(0), 0, 1.0, row >= rejected);
            }
            measured(&evm.promise(), &answers).expect("a promise")
        };
        assert_eq!(said(50), "5.0 % of 1000 known rows rejected, as promised, within chance");
        assert!(said(300).contains("more than chance explains"), "{}", said(300));
        assert!(said(0).contains("fewer than chance explains"), "{}", said(0));
        assert_eq!(measured(&evm.promise(), &Answers::default()), None);
    }
}
