//! From rows to a model, and from a model to a larger one.

pub(crate) mod forget;
pub(crate) mod report;
pub(crate) mod training;
pub(crate) mod update;
