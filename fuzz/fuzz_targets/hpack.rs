//! libFuzzer's way to [`hayami_fuzz::hpack`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::hpack(bytes));
