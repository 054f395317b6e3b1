//! What the fuzz targets do with their input.

mod model;
mod reader;

pub use model::{load, parts, repaired};
pub use reader::{Options, read};
