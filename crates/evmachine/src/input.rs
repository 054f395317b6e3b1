//! What comes in, checked once, at the door.

pub(crate) mod fill;
pub(crate) mod holdout;
pub mod labels;
pub(crate) mod standard;
