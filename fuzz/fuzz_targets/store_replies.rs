//! libFuzzer's way to [`hayami_fuzz::store_replies`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::store_replies(bytes));
