//! Numbers that JSON can hold.

/// The number, or the largest there is where it is infinite, as the support of a query is that lies on an extreme vector: whoever acts on
/// it can compare it with 0.
pub(crate) fn bounded(value: f64) -> f64 {
    value.clamp(f64::MIN, f64::MAX)
}
