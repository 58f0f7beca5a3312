//! libFuzzer's way to [`hayami_fuzz::h2_client`].
#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| hayami_fuzz::h2_client(octets));
