//! libFuzzer's way to [`hayami_fuzz::authority`].
#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| hayami_fuzz::authority(octets));
