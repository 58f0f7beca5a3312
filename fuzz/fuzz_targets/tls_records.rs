//! libFuzzer's way to [`hayami_fuzz::tls_records`].
#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| hayami_fuzz::tls_records(octets));
