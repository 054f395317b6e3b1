//! From rows to a model, and from a model to a larger one.

pub(crate) mod fit;
pub(crate) mod forget;
pub(crate) mod reduce;
pub(crate) mod training;
pub(crate) mod update;
