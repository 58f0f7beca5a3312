//! With real stores: what two machines see of each other, and what happens when a store is not well.

mod sessions;
mod store;
mod tickets;
