//! libFuzzer's way to [`hayami_fuzz::negotiate`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::negotiate(bytes));
