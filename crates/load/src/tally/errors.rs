//! How many requests and connections failed, by kind.

/// Failures, by kind. Each failed request or connection is counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// The connection failed.
    pub connect: u64,
    /// The TLS handshake failed, or a record was broken.
    pub tls: u64,
    /// The connection was reset, or closed before an answer began.
    pub reset: u64,
    /// The plan's timeout expired.
    pub timeout: u64,
    /// The peer broke a rule of HTTP.
    pub protocol: u64,
    /// The answer ended before its content did.
    pub short: u64,
    /// An answer whose status is not expected.
    pub status: u64,
    /// An answer whose content is not expected.
    pub content: u64,
    /// Connections dropped by the emulated loss: not the server's fault, so not part of any sum.
    pub lost: u64,
}

impl Errors {
    /// The kind of [`Errors::connect`], as reports call it.
    pub const CONNECT: &str = "connect";
    /// The kind of [`Errors::tls`].
    pub const TLS: &str = "tls";
    /// The kind of [`Errors::status`].
    pub const STATUS: &str = "status";

    /// The total, without emulated losses.
    pub fn total(&self) -> u64 {
        self.connect
            + self.tls
            + self.reset
            + self.timeout
            + self.protocol
            + self.short
            + self.status
            + self.content
    }

    /// Adds another count.
    pub fn merge(&mut self, other: &Self) {
        self.connect += other.connect;
        self.tls += other.tls;
        self.reset += other.reset;
        self.timeout += other.timeout;
        self.protocol += other.protocol;
        self.short += other.short;
        self.status += other.status;
        self.content += other.content;
        self.lost += other.lost;
    }

    /// Each kind of error with its name in reports, in the order of a request's life.
    #[must_use]
    pub fn by_kind(&self) -> [(&'static str, u64); 8] {
        [
            (Self::CONNECT, self.connect),
            (Self::TLS, self.tls),
            ("reset", self.reset),
            ("timeout", self.timeout),
            ("protocol", self.protocol),
            ("short", self.short),
            (Self::STATUS, self.status),
            ("content", self.content),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_of_errors_add_up_to_their_total() {
        let mut errors = Errors {
            connect: 1,
            tls: 2,
            reset: 3,
            timeout: 4,
            protocol: 5,
            short: 6,
            status: 7,
            content: 8,
            lost: 100,
        };
        assert_eq!(errors.by_kind().iter().map(|(_, count)| count).sum::<u64>(), errors.total());
        errors.merge(&errors.clone());
        assert_eq!((errors.total(), errors.lost), (72, 200));
    }
}
