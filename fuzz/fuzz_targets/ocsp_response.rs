//! libFuzzer's way to [`hayami_fuzz::ocsp_response`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::ocsp_response(bytes));
