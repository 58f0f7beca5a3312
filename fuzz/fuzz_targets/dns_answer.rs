//! libFuzzer's way to [`hayami_fuzz::dns_answer`].
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hayami_fuzz::dns_answer(bytes));
