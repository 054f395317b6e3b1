//! The crate through its public interface, on real files.

// The lint spares test functions, but not the helpers beside them.
#![allow(clippy::unwrap_used, clippy::float_cmp)]

mod columnar;
mod damage;
mod detection;
mod jsonl;
mod libsvm;
mod memory;
mod npy;
mod npz;
mod roundtrip;
mod series;
mod stdin;
mod support;
mod text;
mod writer;
