//! libFuzzer's way to [`hayami_fuzz::client_engine`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::client_engine(bytes));
