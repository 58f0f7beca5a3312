//! How much of everything one peer may send.

/// The limits of a connection. They are given with every call, so that a server can change them without
/// touching its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request line or status line before its LF. More is answered with 414. RFC 9112 §3
    /// recommends at least 8000.
    pub request_line: u32,
    /// Bytes of a whole head with its empty line. More is answered with 431. Browsers with many cookies
    /// send some 16 KiB; single sign-on tokens have been seen at 48 KiB.
    pub head: u32,
    /// Field lines of one section. More is answered with 431. Browsers send about 15, chains of proxies 40.
    pub fields: u16,
    /// Bytes of content. More is answered with 413. h2o's `limit-request-body`, with h2o's default.
    pub content: u64,
    /// Bytes of a chunk-size line with its CRLF: 16 digits and room for an extension, which is ignored.
    pub chunk_line: u32,
    /// Bytes of all chunk extensions of one content, and of leading zeros of its chunk sizes in excess of the
    /// data. Otherwise chunks of one byte with long extensions would cost 200 times the content they carry.
    pub chunk_extensions: u32,
    /// Bytes of a trailer section with its empty line. Trailers are digests and timings: short.
    pub trailer: u32,
    /// Interim responses a client takes before the final one; a server that sends more never ends.
    pub interim: u16,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_line: 8192,
            head: 65536,
            fields: 100,
            content: 1 << 30,
            chunk_line: 256,
            chunk_extensions: 16384,
            trailer: 8192,
            interim: 32,
        }
    }
}
