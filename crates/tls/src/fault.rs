//! How a peer breaks the protocol.

use std::fmt;

/// Why a session ended early. Its alert is already in the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The first bytes are a plain HTTP request, which gets a plain HTTP answer that says so.
    PlainHttp,
    /// The first bytes are neither a TLS record nor HTTP.
    NotTls,
    /// The peer aborted with this alert (RFC 8446 §6).
    Alert(u8),
    /// The handshake failed; the text says why.
    Handshake(String),
    /// A record that doesn't decrypt: damaged in transit, or forged.
    BadRecord,
    /// A record longer than records may be (RFC 8446 §5.1).
    RecordTooLong,
    /// A message or record that is not allowed after a handshake.
    Unexpected,
    /// Content that does not match its record type.
    Malformed,
    /// A value that its field doesn't define.
    IllegalParameter,
    /// Too many records in a row without content: empty ones, key updates, warnings.
    TooManyIdleRecords,
    /// The session had already ended.
    Over,
}

/// The level of alerts that end a connection.
const FATAL: u8 = 2;

impl Fault {
    /// The alert to be sent for a fault that the record layer found (RFC 8446 §6.2).
    pub(crate) fn alert(&self) -> Option<[u8; 2]> {
        let description = match self {
            Self::NotTls | Self::Unexpected | Self::TooManyIdleRecords => 10, // unexpected_message
            Self::BadRecord => 20,                                            // bad_record_mac
            Self::RecordTooLong => 22,                                        // record_overflow
            Self::IllegalParameter => 47,                                     // illegal_parameter
            Self::Malformed => 50,                                            // decode_error
            Self::PlainHttp | Self::Alert(_) | Self::Handshake(_) | Self::Over => return None,
        };
        Some([FATAL, description])
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PlainHttp => f.write_str("plain HTTP on a TLS port"),
            Self::NotTls => f.write_str("neither TLS nor HTTP"),
            Self::Alert(number) => {
                write!(f, "the peer sent alert {number} ({})", alert_name(*number))
            }
            Self::Handshake(why) => write!(f, "the handshake failed: {why}"),
            Self::BadRecord => f.write_str("a record cannot be decrypted"),
            Self::RecordTooLong => f.write_str("a record that is too long"),
            Self::Unexpected => f.write_str("unexpected message"),
            Self::Malformed => f.write_str("a malformed message"),
            Self::IllegalParameter => f.write_str("illegal parameter"),
            Self::TooManyIdleRecords => f.write_str("too many empty records"),
            Self::Over => f.write_str("the session is closed"),
        }
    }
}

impl std::error::Error for Fault {}

/// The alerts that appear in logs (RFC 8446 §6, RFC 5246 §7.2).
fn alert_name(number: u8) -> &'static str {
    match number {
        10 => "unexpected_message",
        20 => "bad_record_mac",
        22 => "record_overflow",
        40 => "handshake_failure",
        42 => "bad_certificate",
        43 => "unsupported_certificate",
        44 => "certificate_revoked",
        45 => "certificate_expired",
        46 => "certificate_unknown",
        47 => "illegal_parameter",
        48 => "unknown_ca: it doesn't trust the certificate's issuer",
        49 => "access_denied",
        50 => "decode_error",
        51 => "decrypt_error",
        70 => "protocol_version",
        71 => "insufficient_security",
        80 => "internal_error",
        86 => "inappropriate_fallback",
        90 => "user_canceled",
        109 => "missing_extension",
        112 => "unrecognized_name",
        116 => "certificate_required",
        120 => "no_application_protocol",
        _ => "of another kind",
    }
}
