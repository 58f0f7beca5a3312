//! Flow-control windows (RFC 9113 §5.2, §6.9): how much may still be sent and received.

/// The window of a stream or connection before any setting or frame changes it (RFC 9113 §6.9.2).
pub(crate) const DEFAULT_WINDOW: u32 = 65_535;

/// Bytes that this side may still send. Below zero once the peer lowers SETTINGS_INITIAL_WINDOW_SIZE
/// (RFC 9113 §6.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct SendWindow(i32);

impl SendWindow {
    pub(crate) fn new(bytes: u32) -> Self {
        debug_assert!(bytes <= i32::MAX as u32);
        Self(bytes as i32)
    }

    /// Bytes that may be sent.
    #[inline]
    pub(crate) fn room(self) -> usize {
        self.0.max(0) as usize
    }

    /// Bytes were sent.
    #[inline]
    pub(crate) fn spend(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.room(), "the caller keeps to the room it was given");
        self.0 = self.0.saturating_sub(bytes as i32);
    }

    /// The peer grants bytes, or revokes some; `None` if the window would exceed 2^31-1, which is an error
    /// (RFC 9113 §6.9.1).
    #[must_use]
    pub(crate) fn grow(&mut self, bytes: i32) -> Option<()> {
        self.0 = self.0.checked_add(bytes)?;
        Some(())
    }
}

/// Bytes that the peer may still send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceiveWindow {
    /// What the peer may still send.
    available: u32,
    /// The window's size when everything received was consumed.
    size: u32,
    /// Bytes that were consumed and not yet granted again.
    consumed: u32,
    /// When bytes were last granted, in milliseconds.
    granted: u32,
}

/// What decides whether a window grows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// The current time, in milliseconds.
    pub(crate) now: u32,
    /// The round-trip time, in milliseconds; 0 while it isn't known.
    pub(crate) round_trip: u32,
    /// No window grows beyond.
    pub(crate) most: u32,
}

impl ReceiveWindow {
    /// A window of that size, of which the peer has `available` bytes left.
    pub(crate) fn new(size: u32, available: u32, now: u32) -> Self {
        Self { available, size, consumed: 0, granted: now }
    }

    /// The window's size when everything received was consumed.
    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// What the peer may still send.
    pub(crate) fn available(&self) -> u32 {
        self.available
    }

    /// Bytes were received, padding included (RFC 9113 §6.9.1). `None` if they are more than the window
    /// allows.
    #[inline]
    #[must_use]
    pub(crate) fn take(&mut self, bytes: u32) -> Option<()> {
        self.available = self.available.checked_sub(bytes)?;
        Some(())
    }

    /// Received bytes were consumed. Returns an increment to send once half a window was consumed: earlier
    /// would cost frames, later would make the peer wait.
    ///
    /// Half a window used up within one round trip means that the peer may be waiting for credit: the window
    /// doubles until it is twice what arrives within a round trip.
    pub(crate) fn consume(&mut self, bytes: u32, growth: Growth) -> Option<u32> {
        self.consumed += bytes;
        if self.consumed == 0 || u64::from(self.consumed) * 2 < u64::from(self.size) {
            return None;
        }
        let grown = self.size.saturating_mul(2).min(growth.most);
        let hurried = growth.round_trip > 0 && growth.now.wrapping_sub(self.granted) <= growth.round_trip;
        if hurried && grown > self.size {
            self.consumed += grown - self.size;
            self.size = grown;
        }
        self.granted = growth.now;
        let increment = std::mem::take(&mut self.consumed);
        self.available += increment;
        Some(increment)
    }

    /// Bytes to grant so that the window has its size from the start; 0 if it has.
    pub(crate) fn open(&mut self) -> u32 {
        let increment = self.size.saturating_sub(self.available);
        self.available += increment;
        increment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_send_window_may_be_below_zero_but_not_beyond_31_bits() {
        let mut window = SendWindow::new(10);
        window.spend(8);
        assert_eq!(window.grow(-7), Some(()));
        assert_eq!((window, window.room()), (SendWindow(-5), 0));
        assert_eq!(window.grow(6), Some(()));
        assert_eq!(window.room(), 1);
        assert_eq!(window.grow(i32::MAX), None);
    }

    #[test]
    fn bytes_are_granted_again_when_half_of_them_are_consumed() {
        let idle = Growth { now: 1000, round_trip: 0, most: 1 << 20 };
        let mut window = ReceiveWindow::new(100, 100, 0);
        assert_eq!(window.take(101), None);
        assert_eq!(window.take(100), Some(()));
        assert_eq!(window.consume(49, idle), None);
        assert_eq!(window.consume(1, idle), Some(50));
        assert_eq!(window.take(51), None);
        assert_eq!(window.consume(0, idle), None);
    }

    #[test]
    fn a_window_that_is_used_up_within_a_round_trip_doubles_up_to_its_bound() {
        let mut window = ReceiveWindow::new(100, 100, 0);
        let grants: Vec<_> = [5, 10, 200, 205]
            .map(|now| {
                window.take(50).expect("room");
                window.consume(window.size / 2, Growth { now, round_trip: 5, most: 400 })
            })
            .into_iter()
            .collect();
        assert_eq!(grants, [Some(150), Some(300), Some(200), Some(200)]);
        assert_eq!(window.size, 400);
    }
}
