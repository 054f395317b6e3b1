//! One answer for rows that belong together: frames of one face, windows of one speaker, photos of one animal.
//!
//! The supports of a class are averaged over the rows of a track, each kept within what calibrating rows have, so that one bad row does not
//! decide. Rows of a track depend on each other, so that thresholds of rows say nothing about averages: [`rule::TrackRule`] is set on tracks
//! if there are any, and is one that holds whatever the dependence if not.

pub(crate) mod decision;
pub(crate) mod named;
pub(crate) mod rule;
