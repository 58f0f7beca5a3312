//! The constant answer, repeated for as many pipelined requests as one read can hold.

/// The maximum number of answers in one send; a race client never has more in flight.
pub(crate) const MOST_AT_ONCE: usize = 256;

/// A response of a given size, ready to send any number of times.
pub(crate) struct Answer {
    repeated: Vec<u8>,
    size: usize,
}

impl Answer {
    /// A response of `bytes` with `content` bytes of content. A field line of padding fills the head
    /// up to the wanted size; a head that would have to be shorter than the shortest stays as it is.
    pub(crate) fn new(bytes: usize, content: usize, close: bool) -> Self {
        let connection = if close { "Connection: close\r\n" } else { "" };
        let start = format!("HTTP/1.1 200 OK\r\nContent-Length: {content}\r\n{connection}");
        let missing = bytes.saturating_sub(content + start.len() + 2);
        let padding = match missing.checked_sub("P: \r\n".len()) {
            Some(fill) => format!("P: {}\r\n", "p".repeat(fill)),
            None => String::new(),
        };
        let mut one = format!("{start}{padding}\r\n").into_bytes();
        one.resize(one.len() + content, b'x');
        Self { size: one.len(), repeated: one.repeat(MOST_AT_ONCE) }
    }

    /// The bytes of `count` answers, at most [`MOST_AT_ONCE`].
    pub(crate) fn times(&self, count: usize) -> &[u8] {
        &self.repeated[..self.size * count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_has_the_wanted_size_when_the_head_fits() {
        for (bytes, content, close) in
            [(850, 612, false), (850, 612, true), (200, 12, false), (60, 12, false)]
        {
            let answer = Answer::new(bytes, content, close);
            assert_eq!(answer.times(1).len(), bytes, "{bytes} {content}");
            assert_eq!(answer.times(3).len(), bytes * 3, "{bytes} {content}");
        }
        assert_eq!(Answer::new(0, 612, false).times(1).len(), 612 + 40);
    }
}
