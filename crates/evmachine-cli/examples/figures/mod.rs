//! Figures as lines of a table.

use evmachine_eval::{Answers, Evaluation};

/// `| name | ratio | accuracy | AUROC | OSCR | FPR95 |`
pub(crate) fn line(name: &str, ratio: f64, answers: &Answers, classes: usize) {
    let evaluation = Evaluation::new(answers, classes);
    let figure = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.4}"));
    println!(
        "| {name} | {ratio:.3} | {} | {} | {} | {} |",
        figure(evaluation.closed_accuracy),
        figure(evaluation.auroc),
        figure(evaluation.oscr),
        figure(evaluation.fpr95)
    );
}
