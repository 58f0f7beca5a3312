//! Which fields are worth their place in the table. The caller decides; this is what hayami decides.

use crate::Indexing;
use hayami_http::Known;

/// How to encode a field, `known` being the name's [`Known::of`].
pub fn indexing_of(_known: Option<Known>, _name: &[u8], _value: &[u8]) -> Indexing {
    Indexing::Add
}
