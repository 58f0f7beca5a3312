//! Request methods (RFC 9110 §9).

/// A request method. Methods outside RFC 9110 and RFC 5789 are [`Method::Other`]; their name stays in
/// the request head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs)] // the variants are the methods of RFC 9110 §9.3 and RFC 5789
pub enum Method {
    #[default]
    Get,
    Head,
    Post,
    Put,
    Delete,
    Connect,
    Options,
    Trace,
    Patch,
    Other,
}

impl Method {
    /// The method of that name. Names are case-sensitive (RFC 9110 §9.1).
    pub fn from_name(name: &[u8]) -> Self {
        match name {
            b"GET" => Self::Get,
            b"HEAD" => Self::Head,
            b"POST" => Self::Post,
            b"PUT" => Self::Put,
            b"DELETE" => Self::Delete,
            b"CONNECT" => Self::Connect,
            b"OPTIONS" => Self::Options,
            b"TRACE" => Self::Trace,
            b"PATCH" => Self::Patch,
            _ => Self::Other,
        }
    }

    /// Whether the client only requests information (RFC 9110 §9.2.1).
    pub fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options | Self::Trace)
    }

    /// Whether sending it twice does what sending it once does (RFC 9110 §9.2.2).
    pub fn is_idempotent(self) -> bool {
        self.is_safe() || matches!(self, Self::Put | Self::Delete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_case_sensitive() {
        assert_eq!(Method::from_name(b"GET"), Method::Get);
        assert_eq!(Method::from_name(b"get"), Method::Other);
        assert!(Method::Head.is_safe());
        assert!(!Method::Post.is_safe());
        assert!(Method::Delete.is_idempotent() && !Method::Delete.is_safe());
        assert!(!Method::Post.is_idempotent());
    }
}
