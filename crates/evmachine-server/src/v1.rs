//! `/v1`: what people and their programs ask of the server, one file for each resource.

pub(crate) mod answers;
pub(crate) mod classes;
pub(crate) mod closely;
pub(crate) mod copies;
pub(crate) mod corrections;
pub(crate) mod decisions;
pub(crate) mod drift;
pub(crate) mod enrolment;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod groups;
pub(crate) mod health;
pub(crate) mod map;
pub(crate) mod measures;
pub(crate) mod opinions;
pub(crate) mod people;
pub(crate) mod predict;
pub(crate) mod recognised;
pub(crate) mod samples;
pub(crate) mod status;
pub(crate) mod training;
pub(crate) mod update;
pub(crate) mod versions;
