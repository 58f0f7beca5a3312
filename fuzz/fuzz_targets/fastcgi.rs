//! libFuzzer's way to [`hayami_fuzz::fastcgi`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::fastcgi(bytes));
