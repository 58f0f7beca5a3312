//! libFuzzer's way to [`hayami_fuzz::range`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::range(bytes));
