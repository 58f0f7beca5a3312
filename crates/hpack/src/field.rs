//! The decoder's output: a field, the token of its name, and whether HTTP/2 may carry it.

use hayami_http::Known;

/// The token of a name, so that no string comparison is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Token {
    /// `:authority`
    Authority,
    /// `:method`
    Method,
    /// `:path`
    Path,
    /// `:scheme`
    Scheme,
    /// `:status`
    Status,
    /// `:protocol` (RFC 8441 §4)
    Protocol,
    /// A field name that hayami itself reads or writes.
    Known(Known),
    /// Any other name, and every name that isn't well-formed.
    #[default]
    Other,
}

impl Token {
    /// The token of a name in lower case.
    pub fn of(name: &[u8]) -> Self {
        match name {
            [b':', ..] => Self::of_pseudo(name),
            _ => Known::of(name).map_or(Self::Other, Self::Known),
        }
    }

    fn of_pseudo(name: &[u8]) -> Self {
        match name {
            b":authority" => Self::Authority,
            b":method" => Self::Method,
            b":path" => Self::Path,
            b":scheme" => Self::Scheme,
            b":status" => Self::Status,
            b":protocol" => Self::Protocol,
            _ => Self::Other,
        }
    }

    /// The name it stands for; empty for [`Other`](Self::Other).
    pub fn name(self) -> &'static [u8] {
        match self {
            Self::Authority => b":authority",
            Self::Method => b":method",
            Self::Path => b":path",
            Self::Scheme => b":scheme",
            Self::Status => b":status",
            Self::Protocol => b":protocol",
            Self::Known(known) => known.name(),
            Self::Other => b"",
        }
    }

    /// Whether it's the name of a pseudo-header field (RFC 9113 §8.3).
    pub fn is_pseudo(self) -> bool {
        !matches!(self, Self::Known(_) | Self::Other)
    }
}

/// A field line of a field section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The name as received.
    pub name: &'a [u8],
    /// The value as received.
    pub value: &'a [u8],
    /// What the name means.
    pub token: Token,
    /// Whether the name is one of lower-case token bytes or that of a known pseudo-header field, and the
    /// value holds no CR, LF or NUL and neither begins nor ends with SP or HTAB (RFC 9113 §8.2.1).
    pub well_formed: bool,
    /// Whether intermediaries must keep it out of compression tables too (RFC 7541 §6.2.3).
    pub never_indexed: bool,
}

/// Receives the fields of a block. Implemented by closures.
pub trait Sink {
    /// The next field.
    fn field(&mut self, field: Field<'_>);
}

impl<F: FnMut(Field<'_>)> Sink for F {
    #[inline]
    fn field(&mut self, field: Field<'_>) {
        self(field);
    }
}
