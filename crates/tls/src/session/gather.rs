//! Plaintext in several buffers, taken in record-sized lengths.

use std::io::IoSlice;

/// The rest of several pieces, as if they were one.
pub(crate) struct Gather<'a> {
    pieces: &'a [IoSlice<'a>],
    /// Bytes of the first piece that were taken.
    taken: usize,
    left: usize,
}

impl<'a> Gather<'a> {
    /// The first `most` bytes of `pieces`, or all if they are fewer.
    pub(crate) fn new(pieces: &'a [IoSlice<'a>], most: usize) -> Self {
        let all = pieces.iter().map(|piece| piece.len()).sum::<usize>();
        Self { pieces, taken: 0, left: all.min(most) }
    }

    /// Number of bytes that are left.
    pub(crate) fn len(&self) -> usize {
        self.left
    }

    /// Appends the next `len` bytes to `out`, or what is left.
    pub(crate) fn append_to(&mut self, out: &mut Vec<u8>, len: usize) {
        let mut wanted = len.min(self.left);
        self.left -= wanted;
        while wanted > 0
            && let Some((first, rest)) = self.pieces.split_first()
        {
            let part = &first[self.taken..];
            let count = part.len().min(wanted);
            out.extend_from_slice(&part[..count]);
            wanted -= count;
            if count == part.len() {
                (self.pieces, self.taken) = (rest, 0);
            } else {
                self.taken += count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_taken_as_if_they_were_one() {
        let all = b"abcdefghij";
        for split in 0..=all.len() {
            for len in 1..=all.len() {
                for most in [0, 1, 7, 10, 99] {
                    let (front, back) = all.split_at(split);
                    let pieces = [IoSlice::new(front), IoSlice::new(b""), IoSlice::new(back)];
                    let mut gather = Gather::new(&pieces, most);
                    let mut out = Vec::new();
                    while gather.len() > 0 {
                        let before = out.len();
                        gather.append_to(&mut out, len);
                        assert!(out.len() > before && out.len() <= before + len);
                    }
                    assert_eq!(out, all[..most.min(all.len())]);
                }
            }
        }
    }
}
