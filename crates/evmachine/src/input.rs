//! What comes in, checked once, at the door.

pub(crate) mod fill;
pub mod labels;
pub(crate) mod standard;
