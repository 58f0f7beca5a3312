//! libFuzzer's way to [`hayami_fuzz::request_head`].
#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| hayami_fuzz::request_head(octets));
