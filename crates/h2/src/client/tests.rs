//! Wire tests of the client.
