//! libFuzzer's way to [`hayami_fuzz::conditional`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::conditional(bytes));
