//! Whether queries still come as the calibrating rows did, and if not, why.
//!
//! Every row is ranked among the calibrating rows and the stream so far, by its score and by a few numbers of its vector. As long as rows
//! are exchangeable these ranks are uniform and independent, and test martingales bet that they are not. Each watch has its share of one
//! rate: the chance that any of them ever raises a false alarm is at most that rate, however long the stream is and whenever one looks.

pub(crate) mod cause;
pub(crate) mod group;
pub(crate) mod martingale;
pub(crate) mod monitor;
pub(crate) mod rank;
pub(crate) mod report;
pub(crate) mod rows;
pub(crate) mod shift;
pub(crate) mod view;
