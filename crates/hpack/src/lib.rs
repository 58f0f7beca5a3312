//! HPACK (RFC 7541): the field sections of HTTP/2 as field blocks.
//!
//! Here are the [`Decoder`] and the [`Encoder`] of a connection with their tables. Here are no frames, no
//! sockets and no clock; blocks come whole, and what a section's fields have to say is up to the caller.
//!
//! ```text
//! block ──▶ Decoder ── Field ──▶ Sink        integer ─ huffman ─ static_table ─ dynamic_table
//! block ◀── Encoder ◀── name, value, Indexing
//! ```
#![forbid(unsafe_code)]

mod decoder;
mod dynamic_table;
mod encoder;
mod fault;
mod field;
mod huffman;
mod integer;
mod octets;
mod policy;
mod static_table;
mod well_formed;

pub use decoder::{Decoded, Decoder};
pub use encoder::{Encoder, Indexing, OUR_MOST};
pub use fault::Fault;
pub use field::{Field, Sink, Token};
pub use policy::indexing_of;
