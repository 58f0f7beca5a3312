//! libFuzzer's way to [`hayami_fuzz::request_head`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::request_head(bytes));
