//! What the model says of a query, and why.

pub(crate) mod decider;
pub(crate) mod decision;
pub(crate) mod distribution;
pub(crate) mod doubt;
pub(crate) mod explain;
pub(crate) mod named;
pub(crate) mod supports;
pub(crate) mod threshold;
