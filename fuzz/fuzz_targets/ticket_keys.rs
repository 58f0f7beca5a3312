//! libFuzzer's way to [`hayami_fuzz::ticket_keys`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::ticket_keys(bytes));
