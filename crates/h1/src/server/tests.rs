//! Wire tests of the server role: each case whole and octet by octet.

use super::*;

#[test]
fn a_connection_is_small() {
    assert!(size_of::<Server>() <= 96, "{}", size_of::<Server>());
}
