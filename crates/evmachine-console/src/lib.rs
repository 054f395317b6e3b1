//! What a program over files of rows needs to look and behave like the others: messages, progress, failures with their exit codes,
//! Ctrl-C, and the flags that all have.

pub mod console;
pub mod data;
mod device;
pub mod failure;
pub mod hint;
pub mod inputs;
pub mod interrupt;
pub mod large;
pub mod letter;
pub mod megabytes;
pub mod origin;
pub mod program;
pub mod text;
