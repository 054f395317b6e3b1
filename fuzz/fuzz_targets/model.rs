//! Model files as they are.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| evmachine_fuzz::load(input));
