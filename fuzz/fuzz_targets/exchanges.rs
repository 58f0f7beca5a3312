//! libFuzzer's way to [`hayami_fuzz::exchanges`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::exchanges(bytes));
