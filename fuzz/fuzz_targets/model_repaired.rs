//! Model files whose length field and checksum were made right, so that what lies behind them is reached.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| evmachine_fuzz::load(&evmachine_fuzz::repaired(input)));
