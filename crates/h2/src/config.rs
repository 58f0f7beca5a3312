//! The settings that are announced, and how much of everything one peer may send.

/// The settings and limits of a connection. They are given with every call, so that thousands of idle
/// connections don't each hold a copy; what [`start`](crate::Server::start) announced must not change
/// within a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Streams that the peer may have open at once: SETTINGS_MAX_CONCURRENT_STREAMS. RFC 9113 §6.5.2
    /// recommends at least 100.
    pub max_concurrent_streams: u32,
    /// Bytes of content that a stream may bring before more is granted: SETTINGS_INITIAL_WINDOW_SIZE.
    pub initial_window: u32,
    /// The size up to which a stream's window grows while its peer uses it up within a round trip.
    pub max_stream_window: u32,
    /// Bytes of content that all streams together may bring before more is granted; 65,535 at least
    /// (RFC 9113 §6.9.2).
    pub connection_window: u32,
    /// The size up to which the connection's window grows.
    pub max_connection_window: u32,
    /// By how much the windows of all streams together may grow if their content is buffered until it is
    /// consumed. It bounds the additional memory of a connection.
    pub max_windows_grown: u32,
    /// Bytes of a section of fields, 32 for each field on top: SETTINGS_MAX_HEADER_LIST_SIZE. More is
    /// answered with 431.
    pub max_header_list: u32,
    /// Field lines of one section. More is answered with 431.
    pub max_fields: u16,
    /// Bytes of `:path`. More is answered with 414, as h1's request line.
    pub max_target: u32,
    /// Bytes of the table for the peer's fields: SETTINGS_HEADER_TABLE_SIZE.
    pub table_size: u32,
    /// Bytes of a frame's payload: SETTINGS_MAX_FRAME_SIZE, 16,384 to 16,777,215. The caller's input
    /// buffer has to hold a frame of that size and its 9 bytes of header.
    pub max_frame: u32,
    /// Whether requests may name a protocol: SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441 §3).
    pub enable_connect_protocol: bool,
    /// Interim responses that a client takes before the final one.
    pub max_interim: u16,
    /// How much a peer may send that costs work and achieves nothing.
    pub budgets: Budgets,
}

impl Default for Config {
    fn default() -> Self {
        DEFAULT
    }
}

/// The default [`Config`], for constants.
pub const DEFAULT: Config = Config {
    max_concurrent_streams: 100,
    initial_window: 65_536,
    max_stream_window: 16 << 20,
    connection_window: 1 << 20,
    max_connection_window: 16 << 20,
    max_windows_grown: 4 << 20,
    max_header_list: 102_400,
    max_fields: 100,
    max_target: 8192,
    table_size: 4096,
    max_frame: 16_384,
    enable_connect_protocol: false,
    max_interim: 32,
    budgets: DEFAULT_BUDGETS,
};

/// A budget that time restores and, for some budgets, useful work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Events that may occur at once.
    pub burst: u32,
    /// Events that are allowed again for each second.
    pub per_second: u32,
}

impl Budget {
    /// A budget of `burst` at once and `per_second` sustained.
    pub const fn new(burst: u32, per_second: u32) -> Self {
        Self { burst, per_second }
    }
}

/// The budgets of a connection. A peer that exceeds one gets GOAWAY with ENHANCE_YOUR_CALM (RFC 9113 §10.5).
/// Each field says what restores it besides time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// RST_STREAM frames for open streams ("rapid reset", CVE-2023-44487). A stream that ends regularly
    /// restores one. A browser that leaves a page cancels all its open streams.
    pub rapid_reset: Budget,
    /// RST_STREAM frames that the peer provokes ("MadeYouReset", CVE-2025-8671): malformed requests, window
    /// violations, frames after the end of a stream.
    pub provoked_reset: Budget,
    /// Streams beyond SETTINGS_MAX_CONCURRENT_STREAMS. Clients may send some before they know the settings.
    pub refused: Budget,
    /// DATA frames without content that don't end their stream (CVE-2019-9518).
    pub empty_data: Budget,
    /// SETTINGS frames, acknowledgements too (CVE-2019-9515).
    pub settings: Budget,
    /// PING frames (CVE-2019-9512). A DATA frame in either direction restores one.
    pub ping: Budget,
    /// PRIORITY and PRIORITY_UPDATE frames (CVE-2019-9513). A new stream restores four.
    pub priority: Budget,
    /// Frames of unknown types.
    pub unknown: Budget,
    /// WINDOW_UPDATE frames of less than 1,024 bytes. A DATA frame that is sent restores 16.
    pub tiny_window: Budget,
    /// Frames on streams that are closed. A stream that closes restores four.
    pub stale: Budget,
    /// Heads beyond the limits, each of which must be decoded and answered.
    pub large_head: Budget,
    /// CONTINUATION frames of one field block (CVE-2024-27316). Their bytes are bounded by
    /// [`Config::max_header_list`].
    pub continuations: u16,
}

impl Default for Budgets {
    fn default() -> Self {
        DEFAULT_BUDGETS
    }
}

const DEFAULT_BUDGETS: Budgets = Budgets {
    rapid_reset: Budget::new(2000, 100),
    provoked_reset: Budget::new(200, 20),
    refused: Budget::new(2000, 100),
    empty_data: Budget::new(200, 20),
    settings: Budget::new(100, 10),
    ping: Budget::new(500, 50),
    priority: Budget::new(2000, 200),
    unknown: Budget::new(500, 50),
    tiny_window: Budget::new(2000, 200),
    stale: Budget::new(2000, 200),
    large_head: Budget::new(100, 10),
    continuations: 32,
};
