//! What a peer did wrong: a variant per broken rule, and the code that answers it.

use crate::code::ErrorCode;
use std::fmt;

macro_rules! faults {
    ($($variant:ident $code:ident $text:literal $rule:literal,)*) => {
        /// A rule that the peer's frames broke.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Fault {
            $(#[doc = concat!("The ", $text, " (", $rule, ").")] $variant,)*
        }

        impl Fault {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The error code that answers it, in GOAWAY or RST_STREAM.
            pub fn code(self) -> ErrorCode {
                match self { $(Self::$variant => ErrorCode::$code,)* }
            }

            /// The fault as a phrase that follows "the".
            fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

faults! {
    Preface PROTOCOL_ERROR "connection does not begin with the preface" "RFC 9113 §3.4",
    FirstNotSettings PROTOCOL_ERROR "first frame is not SETTINGS" "RFC 9113 §3.4",
    UpgradeSettings PROTOCOL_ERROR "HTTP2-Settings field is malformed" "RFC 7540 §3.2.1",
    FrameTooLong FRAME_SIZE_ERROR "frame is longer than our settings allow" "RFC 9113 §4.2",
    FrameLength FRAME_SIZE_ERROR "frame's length doesn't fit its type" "RFC 9113 §4.2",
    Compression COMPRESSION_ERROR "field block can't be decoded" "RFC 9113 §4.3",
    BlockInterrupted PROTOCOL_ERROR "field block is interrupted by another frame" "RFC 9113 §4.3",
    UnexpectedContinuation PROTOCOL_ERROR "CONTINUATION frame continues nothing" "RFC 9113 §6.10",
    OnStreamZero PROTOCOL_ERROR "frame of a stream is on stream 0" "RFC 9113 §5.1.1",
    NotOnStreamZero PROTOCOL_ERROR "frame of the connection is on a stream" "RFC 9113 §6.5",
    PaddingTooLong PROTOCOL_ERROR "padding is longer than the frame" "RFC 9113 §6.1",
    IdleStream PROTOCOL_ERROR "frame is on a stream that was not opened" "RFC 9113 §5.1",
    StreamIdOrder PROTOCOL_ERROR "stream's number is lower than that of one opened before" "RFC 9113 §5.1.1",
    StreamIdParity PROTOCOL_ERROR "stream's number is not one that the peer may open" "RFC 9113 §5.1.1",
    StreamClosed STREAM_CLOSED "frame is on a stream that the peer has ended" "RFC 9113 §5.1",
    SelfDependency PROTOCOL_ERROR "stream depends on itself" "RFC 7540 §5.3.1",
    PushPromise PROTOCOL_ERROR "peer sent PUSH_PROMISE, which is not allowed" "RFC 9113 §8.4",
    TooManyStreams REFUSED_STREAM "peer opened more streams than our settings allow" "RFC 9113 §5.1.2",
    SettingsAckLength FRAME_SIZE_ERROR "acknowledgement of settings has settings" "RFC 9113 §6.5",
    SettingsEnablePush PROTOCOL_ERROR "value of SETTINGS_ENABLE_PUSH is neither 0 nor 1" "RFC 9113 §6.5.2",
    SettingsInitialWindow FLOW_CONTROL_ERROR "value of SETTINGS_INITIAL_WINDOW_SIZE has 32 bits" "RFC 9113 §6.5.2",
    SettingsMaxFrame PROTOCOL_ERROR "value of SETTINGS_MAX_FRAME_SIZE is out of range" "RFC 9113 §6.5.2",
    SettingsConnectProtocol PROTOCOL_ERROR "value of SETTINGS_ENABLE_CONNECT_PROTOCOL is neither 0 nor 1, or 0 after 1" "RFC 8441 §3",
    SettingsNoPriorities PROTOCOL_ERROR "value of SETTINGS_NO_RFC7540_PRIORITIES is neither 0 nor 1" "RFC 9218 §2.1",
    ZeroIncrement PROTOCOL_ERROR "window increment is 0" "RFC 9113 §6.9",
    WindowOverflow FLOW_CONTROL_ERROR "window grows beyond 31 bits" "RFC 9113 §6.9.1",
    WindowExceeded FLOW_CONTROL_ERROR "content is more than the window allows" "RFC 9113 §6.9",
    PriorityUpdateStream PROTOCOL_ERROR "PRIORITY_UPDATE frame names no stream that the peer may open" "RFC 9218 §7.1",
    FieldMalformed PROTOCOL_ERROR "field has a name or value that HTTP/2 doesn't allow" "RFC 9113 §8.2.1",
    FieldOfConnection PROTOCOL_ERROR "field belongs to a connection of HTTP/1.1" "RFC 9113 §8.2.2",
    PseudoUnknown PROTOCOL_ERROR "pseudo-header field is not one of this kind of message" "RFC 9113 §8.3",
    PseudoLate PROTOCOL_ERROR "pseudo-header field follows other fields" "RFC 9113 §8.3",
    PseudoRepeated PROTOCOL_ERROR "pseudo-header field is repeated" "RFC 9113 §8.3",
    PseudoMissing PROTOCOL_ERROR "pseudo-header fields are incomplete" "RFC 9113 §8.3.1",
    PseudoInTrailers PROTOCOL_ERROR "trailer section has a pseudo-header field" "RFC 9113 §8.1",
    TrailersWithoutEnd PROTOCOL_ERROR "trailer section doesn't end the stream" "RFC 9113 §8.1",
    TrailersTooLarge ENHANCE_YOUR_CALM "trailer section is longer than the limit" "RFC 9113 §10.5.1",
    HeadTooLarge ENHANCE_YOUR_CALM "response's head is longer than the limit" "RFC 9113 §10.5.1",
    Method PROTOCOL_ERROR "method is not a token" "RFC 9113 §8.3.1",
    Scheme PROTOCOL_ERROR "scheme is malformed" "RFC 9113 §8.3.1",
    Target PROTOCOL_ERROR "path is empty, has no form of its method, or has a byte that must be percent-encoded" "RFC 9113 §8.3.1",
    Authority PROTOCOL_ERROR "authority is missing or malformed" "RFC 9113 §8.3.1",
    HostDiffers PROTOCOL_ERROR "Host field differs from the authority" "RFC 9113 §8.3.1",
    HostRepeated PROTOCOL_ERROR "Host field is repeated" "RFC 9110 §7.2",
    ConnectForm PROTOCOL_ERROR "CONNECT request has a scheme or a path, or lacks a port" "RFC 9113 §8.5",
    ProtocolForm PROTOCOL_ERROR "protocol is named in a request other than CONNECT, or was not enabled by SETTINGS" "RFC 8441 §4",
    Status PROTOCOL_ERROR "status is not three digits" "RFC 9113 §8.3.2",
    InterimEnds PROTOCOL_ERROR "interim response ends the stream" "RFC 9113 §8.1",
    MissingResponse PROTOCOL_ERROR "content comes before the response's head" "RFC 9113 §8.1",
    ContentLength PROTOCOL_ERROR "Content-Length field is malformed or repeated" "RFC 9113 §8.1.1",
    ContentLengthDiffers PROTOCOL_ERROR "content is not as long as its Content-Length field says" "RFC 9113 §8.1.1",
    ContinuationFlood ENHANCE_YOUR_CALM "field block has too many frames or bytes" "RFC 9113 §10.5",
    RapidReset ENHANCE_YOUR_CALM "peer cancels too many streams" "RFC 9113 §10.5",
    ProvokedResets ENHANCE_YOUR_CALM "peer makes us reset too many streams" "RFC 9113 §10.5",
    RefusedFlood ENHANCE_YOUR_CALM "peer opens too many streams beyond its limit" "RFC 9113 §10.5",
    EmptyFrameFlood ENHANCE_YOUR_CALM "peer sends too many empty frames" "RFC 9113 §10.5",
    SettingsFlood ENHANCE_YOUR_CALM "peer sends too many SETTINGS frames" "RFC 9113 §10.5",
    PingFlood ENHANCE_YOUR_CALM "peer sends too many PING frames" "RFC 9113 §10.5",
    PriorityFlood ENHANCE_YOUR_CALM "peer changes priorities too often" "RFC 9218 §13.1",
    UnknownFlood ENHANCE_YOUR_CALM "peer sends too many frames of unknown types" "RFC 9113 §10.5",
    TinyWindowFlood ENHANCE_YOUR_CALM "peer grants windows in too small pieces" "RFC 9113 §10.5",
    DiscardedFlood ENHANCE_YOUR_CALM "peer sends more content on closed streams than their windows allow" "RFC 9113 §10.5",
    StaleFlood ENHANCE_YOUR_CALM "peer sends too many frames on closed streams" "RFC 9113 §10.5",
    LargeHeadFlood ENHANCE_YOUR_CALM "peer sends too many heads beyond the limit" "RFC 9113 §10.5.1",
    InterimFlood ENHANCE_YOUR_CALM "server sent more interim responses than the limit" "RFC 9110 §15.2",
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {}", self.text())
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_a_code_and_a_sentence_of_its_own() {
        let mut sentences: Vec<_> = Fault::ALL.iter().map(Fault::to_string).collect();
        sentences.sort();
        sentences.dedup();
        assert_eq!(sentences.len(), Fault::ALL.len());
        assert!(Fault::ALL.iter().all(|fault| fault.code() != ErrorCode::NO_ERROR));
    }
}
