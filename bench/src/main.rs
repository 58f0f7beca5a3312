//! Races hayami against other servers and the bare-loop limits.
mod client;
mod histogram;
mod pin;
mod statistics;
mod wrk;
fn main() {}
