//! Classes, their extreme vectors and Psi-models: how they are fitted, updated and asked.

pub(crate) mod alone;
pub(crate) mod batch;
pub(crate) mod fit;
pub(crate) mod ignored;
pub(crate) mod reach;
pub(crate) mod refit;
pub(crate) mod smoothing;
pub(crate) mod support;
pub(crate) mod sweep;
pub(crate) mod tail_memory;
pub(crate) mod whitening;
