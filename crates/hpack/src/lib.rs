//! HPACK (RFC 7541): the field sections of HTTP/2 as field blocks.
//!
//! Here are the [`Decoder`] and the [`Encoder`] of a connection with their tables. Here are no frames, no
//! sockets and no clock; blocks must be complete, and the rules for a section's fields are left to the
//! caller.
//!
//! ```text
//! block ──▶ Decoder ── Field ──▶ Sink        integer ─ huffman ─ static_table ─ dynamic_table
//! block ◀── Encoder ◀── name, value, Indexing
//! ```
//!
//! ```
//! use hayami_hpack::{Decoder, Encoder, Field, Indexing, Token};
//!
//! let (mut encoder, mut block) = (Encoder::new(), Vec::new());
//! encoder.begin(&mut block);
//! encoder.status(200, &mut block);
//! encoder.field(b"Server", b"hayami", Indexing::Add, &mut block);
//!
//! let mut lines = Vec::new();
//! let sink = &mut |field: Field<'_>| lines.push((field.token, field.value.to_vec()));
//! let decoded = Decoder::new(4096).decode(&block, 65_536, sink).unwrap();
//! assert_eq!(decoded.size, 32 + 10 + 32 + 12);
//! assert_eq!(lines[0], (Token::Status, b"200".to_vec()));
//! assert_eq!(lines[1].1, b"hayami");
//! ```
#![forbid(unsafe_code)]

mod bytes;
mod decoder;
mod dynamic_table;
mod encoder;
mod fault;
mod field;
mod huffman;
mod integer;
mod policy;
mod static_table;
mod well_formed;

pub use decoder::{Decoded, Decoder};
pub use encoder::{Encoder, Indexing, MAX_TABLE_SIZE};
pub use fault::Fault;
pub use field::{Field, Sink, Token};
pub use policy::indexing_of;
