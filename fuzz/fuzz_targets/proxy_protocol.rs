//! libFuzzer's way to [`hayami_fuzz::proxy_protocol`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::proxy_protocol(bytes));
