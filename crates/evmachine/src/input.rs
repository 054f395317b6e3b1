//! What comes in, checked once, at the door.

pub mod class_name;
pub(crate) mod columns;
pub(crate) mod fill;
pub(crate) mod fingerprint;
pub(crate) mod holdout;
pub mod labels;
pub(crate) mod similar;
pub(crate) mod standard;
