//! Wire tests of the server role: each case whole and byte by byte.

mod content;
mod heads;
mod limits;
mod responses;
mod states;
mod tunnels;

use super::*;
use crate::testing::{by_byte, requests};

/// Feeds each wire whole and byte by byte, and compares the notes with those expected.
fn check(cases: &[(&str, &str)]) {
    for (wire, want) in cases {
        assert_eq!(requests(&[wire.as_bytes()]), *want, "{wire:?} whole");
        assert_eq!(requests(&by_byte(wire.as_bytes())), *want, "{wire:?} by byte");
    }
}

#[test]
fn a_connection_is_small() {
    assert!(size_of::<Server>() <= 96, "{}", size_of::<Server>());
}
