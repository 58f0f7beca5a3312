//! libFuzzer's way to [`hayami_fuzz::dns_answer`].
#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| hayami_fuzz::dns_answer(octets));
