//! What is computed when it is first asked for, by threads that take each other's work.

use std::sync::OnceLock;

/// The value of the cell, computed if it has none. Nobody waits for whoever computes: a thread that shares its computation with
/// others may meanwhile be handed work that asks for the same value, and would wait for itself. So several may compute
/// it at once, and the first to finish is heard.
pub fn computed<T>(cell: &OnceLock<T>, compute: impl FnOnce() -> T) -> &T {
    if let Some(value) = cell.get() {
        return value;
    }
    let value = compute();
    cell.get_or_init(|| value)
}
