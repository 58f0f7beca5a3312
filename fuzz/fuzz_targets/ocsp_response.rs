//! libFuzzer's way to [`hayami_fuzz::ocsp_response`].
#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| hayami_fuzz::ocsp_response(octets));
