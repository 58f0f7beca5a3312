//! Wire tests of the client role: each case whole and octet by octet.
