//! Corrections of what was learned, and what to correct.

pub(crate) mod edit;
pub(crate) mod migrate;
pub(crate) mod suspects;
