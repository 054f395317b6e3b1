//! JSON lines.

#![no_main]

use evmachine_data::Format;

libfuzzer_sys::fuzz_target!(|input: &[u8]| evmachine_fuzz::read(Format::Jsonl, input));
