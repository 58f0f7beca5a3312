//! libFuzzer's way to [`hayami_fuzz::proxy_protocol`].
#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| hayami_fuzz::proxy_protocol(octets));
