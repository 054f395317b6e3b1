//! Forests, by the probability of the class that they find likeliest.

use evmachine::{Labels, Run};
use evmachine_forest::{Boosted, BoostedOptions, Forest, ForestOptions};

use super::error::RivalError;
use super::rows::Rows;

/// Trees of a forest.
const TREES: usize = 300;

/// Extra trees or a random forest.
pub(crate) fn independent(
    run: &Run<'_>,
    options: &ForestOptions,
    (train, labels): (&Rows<'_>, &Labels),
    queries: &Rows<'_>,
) -> Result<Vec<(usize, f64)>, RivalError> {
    let options = ForestOptions { trees: TREES, ..options.clone() };
    let classes = labels.names().len();
    let forest = Forest::fit(run, &train.features(), labels.ids(), classes, &options)?;
    Ok(likeliest(&forest.probabilities(&queries.features())?, classes))
}

/// Gradient-boosted trees.
pub(crate) fn boosted(
    run: &Run<'_>,
    (train, labels): (&Rows<'_>, &Labels),
    queries: &Rows<'_>,
) -> Result<Vec<(usize, f64)>, RivalError> {
    let options = BoostedOptions::default();
    let classes = labels.names().len();
    let boosted = Boosted::fit(run, &train.features(), labels.ids(), classes, &options)?;
    Ok(likeliest(&boosted.probabilities(&queries.features())?, classes))
}

/// The largest probability of each row and its class; the first of equal ones.
fn likeliest(probabilities: &[f64], classes: usize) -> Vec<(usize, f64)> {
    let rows = probabilities.chunks_exact(classes.max(1));
    rows.map(|row| super::largest_of(row.iter().copied())).collect()
}
