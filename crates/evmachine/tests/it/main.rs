//! The library from outside, in one binary:
//!
//! - `golden`: fits against reference numbers;
//! - `laws`: what holds for every training set, metric and tail model;
//! - `letter`: figures on UCI Letter;
//! - `whitening`: the matrix, what it does to distances, and who keeps it;
//! - `update`: increments under every policy, errors, progress and cancellation;
//! - `probe`: the linear classifier, beside scikit-learn's;
//! - `witness`: what is heard beside the features, how it is kept and learned further, and how far a model reaches;
//! - `compact`: fits that keep the fewest rows that cost next to nothing;
//! - `threshold`: promises about mistakes, and what probabilities mean;
//! - `pool`: the open-world loop;
//! - `enrolment`: which labelled samples may be learned;
//! - `edit`, `deny`: corrections;
//! - `encoder`: the encoder of a model, and the way to another one;
//! - `drift`: alarms of quiet streams, and causes of others;
//! - `track`: one answer for rows that belong together;
//! - `explain`: the reasons of a decision;
//! - `file`: the model file, sound and broken;
//! - `table`: derived models and measured distances;
//! - `run`: whatever takes long, watched and stopped;
//! - `scratch`: rows and tails on a disk;
//! - `steps`: tails that are found in parts;
//! - `device`: work that something other than the processor does, fails to do, or is stopped in.

#![allow(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

#[path = "../../examples/letter/mod.rs"]
mod data;

mod common;
mod compact;
mod decider;
mod deny;
mod device;
mod drift;
mod edit;
mod encoder;
mod enrolment;
mod explain;
mod file;
mod golden;
mod laws;
mod letter;
mod parameters;
mod pool;
mod pooled;
mod probe;
mod promise;
#[path = "../../examples/random/mod.rs"]
mod random;
mod run;
mod scratch;
mod slow_device;
mod steps;
#[path = "../../examples/streams/mod.rs"]
mod streams;
mod table;
mod threshold;
mod track;
mod update;
mod whitening;
mod witness;
