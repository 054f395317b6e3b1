//! How far chance lets a share of mistakes be off; how likely a count is, [`evmachine_eval::Chance`] says.

/// The standard deviation of the share of mistakes among so many test rows, `m` rows having set the threshold.
pub(crate) fn deviation(m: usize, rate: f64, tests: usize) -> f64 {
    (rate * (1.0 - rate) * (1.0 / (m + 2) as f64 + 1.0 / tests as f64)).sqrt()
}
