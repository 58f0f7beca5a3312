//! libFuzzer's way to [`hayami_fuzz::log_format`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::log_format(bytes));
