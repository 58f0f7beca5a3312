//! What a peer did wrong: a variant per broken rule, and the status that answers it.

use hayami_http::Status;
use std::fmt;

macro_rules! faults {
    ($($variant:ident $status:ident $text:literal $rule:literal,)*) => {
        /// A rule that the peer's bytes broke. The connection closes after the answer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Fault {
            $(#[doc = concat!("The ", $text, " (", $rule, ").")] $variant,)*
        }

        impl Fault {
            /// All of them, in the order of a message.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The status with which a server answers. Faults that only a response can have are
            /// 502; a gateway answers so for every fault of a response (RFC 9110 §15.6.3).
            pub fn status(self) -> Status {
                match self { $(Self::$variant => Status::$status,)* }
            }

            /// The fault as a phrase that follows "the".
            pub fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

faults! {
    TooManyEmptyLines BAD_REQUEST "request has too many empty lines before its request line" "RFC 9112 §2.2",
    RequestLineTooLong URI_TOO_LONG "request line is longer than the limit" "RFC 9112 §3",
    MalformedMethod BAD_REQUEST "method is not a token followed by one space" "RFC 9112 §3.1",
    MissingTarget BAD_REQUEST "request target is missing" "RFC 9112 §3.2",
    TargetCharacter BAD_REQUEST "request target has a byte that must be percent-encoded" "RFC 9112 §3.2",
    TargetFragment BAD_REQUEST "request target has a fragment" "RFC 9112 §3.2",
    TargetForm BAD_REQUEST "request target has none of the forms its method allows" "RFC 9112 §3.2",
    TargetUserinfo BAD_REQUEST "request target's authority has userinfo" "RFC 9110 §4.2.4",
    TargetAuthority BAD_REQUEST "request target's authority is malformed" "RFC 9112 §3.2.3",
    MissingVersion BAD_REQUEST "request line has no version" "RFC 9112 §2.3",
    MalformedVersion BAD_REQUEST "version is malformed or followed by other text" "RFC 9112 §2.3",
    NotHttp BAD_REQUEST "first line names no HTTP version" "RFC 9112 §2.3",
    UnsupportedVersion HTTP_VERSION_NOT_SUPPORTED "version is not HTTP/1" "RFC 9110 §15.6.6",
    HeadTooLarge REQUEST_HEADER_FIELDS_TOO_LARGE "head is longer than the limit" "RFC 6585 §5",
    TooManyFields REQUEST_HEADER_FIELDS_TOO_LARGE "head has more field lines than the limit" "RFC 6585 §5",
    BareCr BAD_REQUEST "head has a CR that no LF follows" "RFC 9112 §2.2",
    LeadingWhitespace BAD_REQUEST "first field line starts with whitespace" "RFC 9112 §2.2",
    ObsoleteFold BAD_REQUEST "field line starts with whitespace, as folded lines once did" "RFC 9112 §5.2",
    FieldName BAD_REQUEST "field name is empty or not a token" "RFC 9112 §5",
    SpaceBeforeColon BAD_REQUEST "field name has whitespace before its colon" "RFC 9112 §5.1",
    MissingColon BAD_REQUEST "field line has no colon" "RFC 9112 §5",
    FieldValue BAD_REQUEST "field value has a control character" "RFC 9110 §5.5",
    MissingHost BAD_REQUEST "Host field is missing" "RFC 9112 §3.2",
    RepeatedHost BAD_REQUEST "Host field is repeated" "RFC 9112 §3.2",
    InvalidHost BAD_REQUEST "Host field is not a host with an optional port" "RFC 9112 §3.2",
    RepeatedLength BAD_REQUEST "Content-Length field is repeated" "RFC 9112 §6.3",
    MalformedLength BAD_REQUEST "Content-Length field is not a decimal number of 64 bits" "RFC 9112 §6.3",
    LengthAndEncoding BAD_REQUEST "message has both Content-Length and Transfer-Encoding" "RFC 9112 §6.3",
    EncodingInHttp10 BAD_REQUEST "HTTP/1.0 message has a Transfer-Encoding" "RFC 9112 §6.1",
    ChunkedNotLast BAD_REQUEST "Transfer-Encoding is not chunked, once and last" "RFC 9112 §6.1",
    UnknownCoding NOT_IMPLEMENTED "transfer coding is unknown" "RFC 9112 §6.1",
    UnknownExpectation EXPECTATION_FAILED "Expect field asks for something unknown" "RFC 9110 §10.1.1",
    ContentTooLarge CONTENT_TOO_LARGE "content is longer than the limit" "RFC 9110 §15.5.14",
    MalformedChunkSize BAD_REQUEST "chunk size is not hexadecimal digits" "RFC 9112 §7.1",
    ChunkSizeOverflow BAD_REQUEST "chunk size has more than 64 bits" "RFC 9112 §7.1",
    MalformedExtension BAD_REQUEST "chunk extension is malformed" "RFC 9112 §7.1.1",
    ChunkLineTooLong BAD_REQUEST "chunk-size line is longer than the limit" "RFC 9112 §7.1.1",
    ExtensionsTooLong BAD_REQUEST "chunk extensions are together longer than the limit" "RFC 9112 §7.1.1",
    MissingChunkEnd BAD_REQUEST "chunk's data is not followed by CRLF" "RFC 9112 §7.1",
    TrailerTooLarge REQUEST_HEADER_FIELDS_TOO_LARGE "trailer section is longer than the limit" "RFC 6585 §5",
    UnsolicitedResponse BAD_GATEWAY "response answers no request" "RFC 9112 §9.2",
    MalformedStatusLine BAD_GATEWAY "status line is malformed" "RFC 9112 §4",
    StatusLineTooLong BAD_GATEWAY "status line is longer than the limit" "RFC 9112 §4",
    UnexpectedSwitch BAD_GATEWAY "server sent 101 without being asked to" "RFC 9110 §15.2.2",
    TooManyInterim BAD_GATEWAY "server sent more interim responses than the limit" "RFC 9110 §15.2",
    ClosedEarly BAD_GATEWAY "server closed before the response was complete" "RFC 9112 §8",
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {}", self.text())
    }
}

impl std::error::Error for Fault {}

/// Why a parser stopped before the end of what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The bytes end first.
    Incomplete,
    /// A rule is broken.
    Fault(Fault),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_an_error_status_and_a_sentence_of_its_own() {
        let mut sentences: Vec<_> = Fault::ALL.iter().map(Fault::to_string).collect();
        sentences.sort();
        sentences.dedup();
        assert_eq!(sentences.len(), Fault::ALL.len());
        assert!(Fault::ALL.iter().all(|f| f.status().is_error()));
    }
}
