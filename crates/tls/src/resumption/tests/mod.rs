//! With real stores: what two machines see of each other, and behaviour when a store fails.

mod sessions;
mod store;
mod tickets;
