//! libFuzzer's way to [`hayami_fuzz::server_engine`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::server_engine(bytes));
