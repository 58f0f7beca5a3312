//! The semantics of HTTP: what every version of the protocol has in common (RFC 9110).
//!
//! Here are heads, fields, targets, content, conditions and ranges. Here are no sockets, no clock,
//! no files being opened and nothing that depends on the wire format of one protocol version. Every other
//! crate may use this one; this one uses none of them.
//!
//! ```
//! use hayami_http::{Known, ResponseHead, Status};
//!
//! let mut head = ResponseHead::new(Status::OK);
//! head.append(b"content-type", b"text/plain");
//! assert_eq!(head.get(Known::ContentType), Some(&b"text/plain"[..]));
//! ```
#![forbid(unsafe_code)]

pub mod authority;
pub mod conditional;
pub mod content;
pub mod date;
pub mod etag;
pub mod field;
pub mod known;
pub mod method;
pub mod negotiate;
pub mod pass_through;
pub mod range;
pub mod request;
pub mod response;
pub mod status;
pub mod target;

pub use authority::{is_same_authority, split_authority};
pub use content::{Content, FileSlice, Shared, Source, SourceError};
pub use field::{FieldSection, Span};
pub use known::Known;
pub use method::Method;
pub use pass_through::PassThrough;
pub use request::{RequestHead, TargetForm, Version};
pub use response::{Response, ResponseHead};
pub use status::Status;
pub use target::{PathFault, encode_path, encode_query, encode_query_value, normalize, push_percent_encoded};
