//! Reasons for a connection to refuse a request by itself, whatever the protocol.

use hayami_h1::Fault;
use hayami_http::Status;
use std::fmt;

/// Why the connection, and not the service, refuses a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The client violated the protocol; the connection is closed after the response.
    Malformed {
        /// The status of the response.
        status: Status,
        /// What is wrong, phrased to follow "the".
        fault: &'static str,
    },
    /// The request exceeds a configured limit.
    Beyond(Limit),
    /// The head or the content did not arrive in time (408).
    Timeout,
    /// Plain HTTP on a TLS port (400).
    PlainHttp,
    /// Too much request content is buffered in memory, part of it for this request (503).
    Overload,
}

/// A configured limit that a request exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Length of the request line.
    RequestLine,
    /// Size of the whole head.
    Head,
    /// Number of field lines.
    Fields,
    /// Size of the content.
    Content,
    /// Length of a chunk-size line.
    ChunkLine,
    /// Total size of chunk extensions.
    ChunkExtensions,
    /// Size of the trailer section.
    Trailer,
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Beyond(match fault {
            Fault::RequestLineTooLong => Limit::RequestLine,
            Fault::HeadTooLarge => Limit::Head,
            Fault::TooManyFields => Limit::Fields,
            Fault::ContentTooLarge => Limit::Content,
            Fault::ChunkLineTooLong => Limit::ChunkLine,
            Fault::ExtensionsTooLong => Limit::ChunkExtensions,
            Fault::TrailerTooLarge => Limit::Trailer,
            fault => return Self::Malformed { status: fault.status(), fault: fault.text() },
        })
    }
}

impl Refusal {
    /// The status of the response.
    pub fn status(&self) -> Status {
        match self {
            Self::Malformed { status, .. } => *status,
            Self::Beyond(limit) => limit.status(),
            Self::Timeout => Status::REQUEST_TIMEOUT,
            Self::PlainHttp => Status::BAD_REQUEST,
            Self::Overload => Status::SERVICE_UNAVAILABLE,
        }
    }

    /// The limit that the request exceeds, if any.
    pub fn limit(&self) -> Option<Limit> {
        if let Self::Beyond(limit) = self { Some(*limit) } else { None }
    }
}

impl Limit {
    /// RFC 9110 §15.5.14, §15.5.15; RFC 6585 §5.
    fn status(self) -> Status {
        match self {
            Self::RequestLine => Status::URI_TOO_LONG,
            Self::Head | Self::Fields | Self::Trailer => Status::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Content => Status::CONTENT_TOO_LARGE,
            Self::ChunkLine | Self::ChunkExtensions => Status::BAD_REQUEST,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RequestLine => "the request line is longer than the limit",
            Self::Head => "the head is longer than the limit",
            Self::Fields => "the head has more field lines than the limit",
            Self::Content => "the content is longer than the limit",
            Self::ChunkLine => "the chunk-size line is longer than the limit",
            Self::ChunkExtensions => "the chunk extensions are together longer than the limit",
            Self::Trailer => "the trailer section is longer than the limit",
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { fault, .. } => write!(f, "the {fault}"),
            Self::Beyond(limit) => limit.fmt(f),
            Self::Timeout => f.write_str("the request did not arrive in time"),
            Self::PlainHttp => f.write_str("this port requires TLS: use https:// instead of http://"),
            Self::Overload => {
                f.write_str("the memory for request content is exhausted (limit-request-memory)")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_http_1_is_answered_with_its_status_and_told_in_its_words() {
        for fault in Fault::ALL {
            let refusal = Refusal::from(*fault);
            assert_eq!((refusal.status(), refusal.to_string()), (fault.status(), fault.to_string()));
        }
    }
}
