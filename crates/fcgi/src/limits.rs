//! How much of everything an application may send.

/// The limits of a response. They are given with every call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a response's head with its empty line.
    pub head: u32,
    /// Field lines of a head.
    pub fields: u16,
    /// Bytes of content.
    pub content: u64,
    /// Bytes of records that carry neither head nor content (STDERR, padding, ignored records), headers
    /// included: an application could send these without end. A script that warns in each of 100,000
    /// iterations of a loop writes about 10 MiB.
    pub overhead: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { head: 64 * 1024, fields: 100, content: u64::MAX, overhead: 16 * 1024 * 1024 }
    }
}
