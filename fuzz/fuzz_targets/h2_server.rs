//! libFuzzer's way to [`hayami_fuzz::h2_server`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::h2_server(bytes));
