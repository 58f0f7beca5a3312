//! libFuzzer's way to [`hayami_fuzz::date`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::date(bytes));
