//! Wire tests of the server.
