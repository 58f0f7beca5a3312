//! Status codes and their reason phrases (RFC 9110 §15, IANA registry).

/// A three-digit status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Status(u16);

macro_rules! statuses {
    ($($name:ident $code:literal $reason:literal,)*) => {
        #[allow(missing_docs)] // the constants are the registry's names
        impl Status {
            $(pub const $name: Status = Status($code);)*

            /// The registered reason phrase, or `""` for a code the registry does not know.
            pub fn reason(self) -> &'static str {
                match self.0 { $($code => $reason,)* _ => "" }
            }
        }
    };
}

statuses! {
    CONTINUE 100 "Continue",
    SWITCHING_PROTOCOLS 101 "Switching Protocols",
    EARLY_HINTS 103 "Early Hints",
    OK 200 "OK",
    CREATED 201 "Created",
    ACCEPTED 202 "Accepted",
    NON_AUTHORITATIVE_INFORMATION 203 "Non-Authoritative Information",
    NO_CONTENT 204 "No Content",
    RESET_CONTENT 205 "Reset Content",
    PARTIAL_CONTENT 206 "Partial Content",
    MULTIPLE_CHOICES 300 "Multiple Choices",
    MOVED_PERMANENTLY 301 "Moved Permanently",
    FOUND 302 "Found",
    SEE_OTHER 303 "See Other",
    NOT_MODIFIED 304 "Not Modified",
    TEMPORARY_REDIRECT 307 "Temporary Redirect",
    PERMANENT_REDIRECT 308 "Permanent Redirect",
    BAD_REQUEST 400 "Bad Request",
    UNAUTHORIZED 401 "Unauthorized",
    FORBIDDEN 403 "Forbidden",
    NOT_FOUND 404 "Not Found",
    METHOD_NOT_ALLOWED 405 "Method Not Allowed",
    NOT_ACCEPTABLE 406 "Not Acceptable",
    PROXY_AUTHENTICATION_REQUIRED 407 "Proxy Authentication Required",
    REQUEST_TIMEOUT 408 "Request Timeout",
    CONFLICT 409 "Conflict",
    GONE 410 "Gone",
    LENGTH_REQUIRED 411 "Length Required",
    PRECONDITION_FAILED 412 "Precondition Failed",
    CONTENT_TOO_LARGE 413 "Content Too Large",
    URI_TOO_LONG 414 "URI Too Long",
    UNSUPPORTED_MEDIA_TYPE 415 "Unsupported Media Type",
    RANGE_NOT_SATISFIABLE 416 "Range Not Satisfiable",
    EXPECTATION_FAILED 417 "Expectation Failed",
    MISDIRECTED_REQUEST 421 "Misdirected Request",
    TOO_EARLY 425 "Too Early",
    UPGRADE_REQUIRED 426 "Upgrade Required",
    TOO_MANY_REQUESTS 429 "Too Many Requests",
    REQUEST_HEADER_FIELDS_TOO_LARGE 431 "Request Header Fields Too Large",
    INTERNAL_SERVER_ERROR 500 "Internal Server Error",
    NOT_IMPLEMENTED 501 "Not Implemented",
    BAD_GATEWAY 502 "Bad Gateway",
    SERVICE_UNAVAILABLE 503 "Service Unavailable",
    GATEWAY_TIMEOUT 504 "Gateway Timeout",
    HTTP_VERSION_NOT_SUPPORTED 505 "HTTP Version Not Supported",
    INSUFFICIENT_STORAGE 507 "Insufficient Storage",
}

impl Status {
    /// The status of that code, if it has three digits (RFC 9110 §15).
    pub fn new(code: u16) -> Option<Self> {
        (100..=999).contains(&code).then_some(Self(code))
    }

    /// The code as a number.
    pub fn code(self) -> u16 {
        self.0
    }

    /// 1xx: an interim response, another one follows (RFC 9110 §15.2).
    pub fn is_informational(self) -> bool {
        self.0 < 200
    }

    /// 4xx or 5xx.
    pub fn is_error(self) -> bool {
        (400..600).contains(&self.0)
    }

    /// Whether a response of this status never has content: 1xx, 204, 304 (RFC 9110 §6.4.1).
    pub fn forbids_content(self) -> bool {
        self.is_informational() || self == Self::NO_CONTENT || self == Self::NOT_MODIFIED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_three_digits_make_a_status() {
        assert_eq!(Status::new(99), None);
        assert_eq!(Status::new(1000), None);
        assert_eq!(Status::new(404), Some(Status::NOT_FOUND));
    }

    #[test]
    fn statuses_without_content_are_those_of_the_rfc() {
        let without: Vec<u16> = (100..600).filter(|c| Status(*c).forbids_content()).collect();
        assert_eq!(without.len(), 102);
        assert!(without.ends_with(&[199, 204, 304]));
    }
}
