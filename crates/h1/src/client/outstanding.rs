//! The requests that are not yet answered, in order.

/// What decides how a response is read (RFC 9112 §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// HEAD: no content.
    Head,
    /// CONNECT: a tunnel if it succeeds.
    Connect,
    /// A request with Upgrade: a tunnel if 101 answers it (RFC 9110 §7.8).
    Upgrade,
    /// Any other method.
    Other,
}

/// A queue of up to 64 requests, two bits each: a client that pipelines more waits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outstanding {
    count: u8,
    heads: u64,
    connects: u64,
}

impl Outstanding {
    /// Requests in the queue.
    pub(crate) fn count(self) -> usize {
        self.count.into()
    }

    /// Whether the queue has no room for another request.
    pub(crate) fn is_full(self) -> bool {
        u32::from(self.count) == u64::BITS
    }

    /// Adds a request at the end of a queue that is not full.
    pub(crate) fn push(&mut self, kind: RequestKind) {
        self.heads |= u64::from(matches!(kind, RequestKind::Head | RequestKind::Upgrade)) << self.count;
        self.connects |= u64::from(matches!(kind, RequestKind::Connect | RequestKind::Upgrade)) << self.count;
        self.count += 1;
    }

    /// The request that is answered next.
    pub(crate) fn first(self) -> Option<RequestKind> {
        match (self.count, self.heads & 1, self.connects & 1) {
            (0, ..) => None,
            (_, 1, 1) => Some(RequestKind::Upgrade),
            (_, 1, _) => Some(RequestKind::Head),
            (_, _, 1) => Some(RequestKind::Connect),
            _ => Some(RequestKind::Other),
        }
    }

    /// Whether a request in the queue may make a tunnel of the connection.
    pub(crate) fn may_switch(self) -> bool {
        self.connects != 0
    }

    /// Removes the first request.
    pub(crate) fn pop(&mut self) {
        self.count = self.count.saturating_sub(1);
        self.heads >>= 1;
        self.connects >>= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_four_requests_keep_their_order() {
        let mut queue = Outstanding::default();
        let kind = |i: usize| {
            [RequestKind::Other, RequestKind::Head, RequestKind::Connect, RequestKind::Upgrade][i % 4]
        };
        (0..64).for_each(|i| queue.push(kind(i)));
        assert!(queue.is_full());
        for i in 0..64 {
            assert_eq!(queue.first(), Some(kind(i)));
            queue.pop();
        }
        assert_eq!((queue.first(), queue.count()), (None, 0));
    }
}
