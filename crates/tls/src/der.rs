//! As much of DER (X.690) as reading a certificate's fields takes.
//!
//! Checking signatures and chains is webpki's work; this module only extracts what webpki doesn't expose.

/// The elements of a constructed value, from its front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Der<'a>(pub(crate) &'a [u8]);

/// One element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element<'a> {
    /// The identifier byte: class, constructed, number.
    pub(crate) tag: u8,
    /// Its content.
    pub(crate) content: &'a [u8],
    /// Identifier, length and content.
    pub(crate) whole: &'a [u8],
}

/// The identifier of a SEQUENCE.
pub(crate) const SEQUENCE: u8 = 0x30;

impl<'a> Der<'a> {
    /// The next element; `None` at the end, and where the bytes are no DER.
    pub(crate) fn next(&mut self) -> Option<Element<'a>> {
        let (head, len) = match *self.0 {
            [_, len @ 0..=0x7f, ..] => (2, usize::from(len)),
            [_, 0x81, len, ..] => (3, usize::from(len)),
            [_, 0x82, high, low, ..] => (4, usize::from(high) << 8 | usize::from(low)),
            [_, 0x83, a, b, c, ..] => (5, usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c)),
            _ => return None,
        };
        let whole = self.0.get(..head + len)?;
        self.0 = &self.0[head + len..];
        Some(Element { tag: whole[0], content: &whole[head..], whole })
    }

    /// The next element, which has to be one of `tag`.
    pub(crate) fn expect(&mut self, tag: u8) -> Option<Element<'a>> {
        self.next().filter(|element| element.tag == tag)
    }
}

impl<'a> Element<'a> {
    /// The elements within.
    pub(crate) fn inner(&self) -> Der<'a> {
        Der(self.content)
    }
}
