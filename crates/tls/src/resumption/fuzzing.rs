//! Ticket files and the replies of stores, for fuzz targets.

pub use super::RemoteKind as Store;
pub use super::remote::replies as store_replies;
pub use super::tickets::round_trip as ticket_keys;
