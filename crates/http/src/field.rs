//! Field sections: the header and trailer fields of a message (RFC 9110 §5 and §6.3).
//!
//! A section is one buffer of bytes and a list of spans into it, so that reusing a section allocates nothing.
//! Fields that the server itself reads have a [`Known`] name and are found without comparing strings.

use crate::known::Known;

/// A piece of a section's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    /// Index of the first byte.
    pub start: u32,
    /// Number of bytes.
    pub len: u32,
}

impl Span {
    /// The span from `start` to `end`, both indices into the bytes.
    pub fn new(start: usize, end: usize) -> Self {
        debug_assert!(start <= end && end <= u32::MAX as usize);
        Self { start: start as u32, len: (end - start) as u32 }
    }

    /// The bytes it stands for. Out of range it is empty.
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        let start = self.start as usize;
        bytes.get(start..start + self.len as usize).unwrap_or_default()
    }
}

/// Whether all of `bytes` is one token, as methods and field names are (RFC 9110 §5.6.2).
pub fn is_token(bytes: &[u8]) -> bool {
    let is_tchar = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !bytes.is_empty() && bytes.iter().all(is_tchar)
}

#[derive(Clone, Copy, Debug)]
struct LineSpans {
    name: Span,
    value: Span,
    known: Option<Known>,
    sensitive: bool,
}

/// A line of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLine<'a> {
    /// As received.
    pub name: &'a [u8],
    /// Without surrounding whitespace.
    pub value: &'a [u8],
    /// The name's [`Known::of`].
    pub known: Option<Known>,
    /// The sender wants no hop to keep a copy of it in a compression table: "never indexed" in HPACK
    /// (RFC 7541 §7.1.3).
    pub sensitive: bool,
}

/// The fields of one message part, in order.
///
/// Lines come in two ways: [`append`](Self::append) writes `name: value` CRLF into the bytes, so that
/// a section made only by it *is* its own HTTP/1.1 form ([`wire_form`](Self::wire_form));
/// [`push_span`](Self::push_span) names bytes that a parser put there.
#[derive(Clone, Debug)]
pub struct FieldSection {
    bytes: Vec<u8>,
    lines: Vec<LineSpans>,
    /// By [`Known`]: 1 + index of the first line of that name; 0 = none, 255 = look for it.
    first: [u8; Known::COUNT],
    appended_only: bool,
}

impl Default for FieldSection {
    fn default() -> Self {
        Self { bytes: Vec::new(), lines: Vec::new(), first: [0; Known::COUNT], appended_only: true }
    }
}

impl FieldSection {
    /// A section with memory for this many bytes and lines.
    pub fn with_capacity(bytes: usize, lines: usize) -> Self {
        let (bytes, lines) = (Vec::with_capacity(bytes), Vec::with_capacity(lines));
        Self { bytes, lines, ..Self::default() }
    }

    /// Removes all lines and bytes and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.lines.clear();
        self.first = [0; Known::COUNT];
        self.appended_only = true;
    }

    /// Replaces the bytes by `bytes` and removes all lines; [`push_span`](Self::push_span) follows.
    pub fn reset_to(&mut self, bytes: &[u8]) {
        self.clear();
        self.bytes.extend_from_slice(bytes);
        self.appended_only = false;
    }

    /// All bytes, lines and whatever else the parser kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds a line whose name and value are already in the bytes.
    pub fn push_span(&mut self, name: Span, value: Span) {
        self.appended_only = false;
        self.push(name, value);
    }

    /// Adds a line whose name and value are in the bytes that [`set_bytes`](Self::set_bytes) sets later;
    /// `known` is the name's [`Known::of`].
    pub fn push_known_span(&mut self, name: Span, value: Span, known: Option<Known>) {
        self.appended_only = false;
        self.push_line(LineSpans { name, value, known, sensitive: false });
    }

    /// Replaces the bytes and keeps the lines: a parser knows the length of a head only after its last line.
    pub fn set_bytes(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.appended_only = false;
    }

    /// Appends bytes that belong to no line yet, as the parts of a request line do.
    #[inline]
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Span {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.appended_only = false;
        Span::new(start, start + bytes.len())
    }

    /// Adds a line whose bytes have no separators, for protocols that frame fields in another way;
    /// `known` is the name's [`Known::of`].
    #[inline]
    pub fn append_known(&mut self, name: &[u8], value: &[u8], known: Option<Known>) {
        self.bytes.reserve(name.len() + value.len());
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.appended_only = false;
        let (name, value) = (Span::new(start, middle), Span::new(middle, self.bytes.len()));
        self.push_line(LineSpans { name, value, known, sensitive: false });
    }

    /// Marks the line added last as [sensitive](FieldLine::sensitive).
    pub fn mark_sensitive(&mut self) {
        if let Some(line) = self.lines.last_mut() {
            line.sensitive = true;
        }
    }

    /// Appends to the value of the last line, if it's of that known name and its value stands at the end of
    /// the bytes. Returns whether it did.
    pub fn extend_last(&mut self, known: Known, separator: &[u8], more: &[u8]) -> bool {
        let Some(line) = self.lines.last_mut().filter(|line| line.known == Some(known)) else { return false };
        if (line.value.start + line.value.len) as usize != self.bytes.len() {
            return false;
        }
        self.bytes.extend_from_slice(separator);
        self.bytes.extend_from_slice(more);
        line.value.len += (separator.len() + more.len()) as u32;
        true
    }

    /// Joins all lines of a known name into the first one (RFC 9110 §5.3; RFC 9113 §8.2.3 for Cookie,
    /// whose separator is `; `).
    pub fn join(&mut self, known: Known, separator: &[u8]) {
        let Some(first) = self.lines.iter().position(|line| line.known == Some(known)) else { return };
        let (start, mut sensitive) = (self.bytes.len(), false);
        for line in self.lines.iter().filter(|line| line.known == Some(known)) {
            sensitive |= line.sensitive;
            if self.bytes.len() > start {
                self.bytes.extend_from_slice(separator);
            }
            let from = line.value.start as usize;
            self.bytes.extend_from_within(from..from + line.value.len as usize);
        }
        self.lines[first].value = Span::new(start, self.bytes.len());
        self.lines[first].sensitive = sensitive;
        self.appended_only = false;
        let mut index = 0;
        self.lines.retain(|line| {
            index += 1;
            index <= first + 1 || line.known != Some(known)
        });
        self.find_firsts();
    }

    fn find_firsts(&mut self) {
        self.first = [0; Known::COUNT];
        for (index, line) in self.lines.iter().enumerate().rev() {
            if let Some(known) = line.known {
                self.first[known as usize] = (index + 1).min(255) as u8;
            }
        }
    }

    /// Adds a line of another section at the end, as [`append`](Self::append) does.
    #[inline]
    pub fn append_line(&mut self, line: FieldLine<'_>) {
        self.append(line.name, line.value);
        if line.sensitive {
            self.mark_sensitive();
        }
    }

    /// Adds a line at the end. Neither part may contain CR, LF or NUL; callers check input that comes from
    /// outside.
    pub fn append(&mut self, name: &[u8], value: &[u8]) {
        debug_assert!(!value.iter().any(|b| matches!(b, b'\r' | b'\n' | 0)));
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(b": ");
        let value_start = self.bytes.len();
        self.bytes.extend_from_slice(value);
        let end = self.bytes.len();
        self.bytes.extend_from_slice(b"\r\n");
        self.push(Span::new(start, start + name.len()), Span::new(value_start, end));
    }

    fn push(&mut self, name: Span, value: Span) {
        let known = Known::of(name.of(&self.bytes));
        self.push_line(LineSpans { name, value, known, sensitive: false });
    }

    #[inline]
    fn push_line(&mut self, line: LineSpans) {
        self.lines.push(line);
        if let Some(known) = line.known {
            let slot = &mut self.first[known as usize];
            if *slot == 0 {
                *slot = self.lines.len().min(255) as u8;
            }
        }
    }

    /// The section as HTTP/1.1 field lines, each with its CRLF, if it was made by [`append`](Self::append) alone.
    pub fn wire_form(&self) -> Option<&[u8]> {
        self.appended_only.then_some(&self.bytes)
    }

    /// Number of field lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is no field line.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// All lines in order: name as received, value without surrounding whitespace.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], &[u8])> + ExactSizeIterator {
        self.lines.iter().map(|l| (l.name.of(&self.bytes), l.value.of(&self.bytes)))
    }

    /// All lines in order, with their known names and marks.
    pub fn lines(&self) -> impl Iterator<Item = FieldLine<'_>> {
        self.lines.iter().map(|line| FieldLine {
            name: line.name.of(&self.bytes),
            value: line.value.of(&self.bytes),
            known: line.known,
            sensitive: line.sensitive,
        })
    }

    /// Value of the first line of a known name.
    pub fn get(&self, known: Known) -> Option<&[u8]> {
        let line = match self.first[known as usize] {
            0 => return None,
            255 => self.lines.iter().find(|l| l.known == Some(known))?,
            n => &self.lines[n as usize - 1],
        };
        Some(line.value.of(&self.bytes))
    }

    /// Values of every line of a known name, in order.
    pub fn get_all(&self, known: Known) -> impl Iterator<Item = &[u8]> {
        let none = self.first[known as usize] == 0;
        let lines = if none { &[][..] } else { &self.lines[..] };
        lines.iter().filter(move |l| l.known == Some(known)).map(|l| l.value.of(&self.bytes))
    }

    /// Value of the first line of any name, whatever its case.
    pub fn get_named(&self, name: &[u8]) -> Option<&[u8]> {
        self.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v)
    }

    /// Keeps the lines that `keep` wants.
    ///
    /// Bytes that a parser put there stay where they are, since a request line points into them; a section that is its
    /// own wire form stays that.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) {
        if self.iter().all(|(n, v)| keep(n, v)) {
            return;
        }
        if self.appended_only {
            let mut kept = Self::default();
            for line in self.lines().filter(|line| keep(line.name, line.value)) {
                kept.append_line(line);
            }
            *self = kept;
        } else {
            let bytes = &self.bytes;
            self.lines.retain(|line| keep(line.name.of(bytes), line.value.of(bytes)));
            self.find_firsts();
        }
    }

    /// Removes every line of that name. Returns whether there was one.
    pub fn remove(&mut self, name: &[u8]) -> bool {
        let before = self.len();
        self.retain(|n, _| !n.eq_ignore_ascii_case(name));
        self.len() != before
    }

    /// Removes every line of that name and appends this one.
    pub fn set(&mut self, name: &[u8], value: &[u8]) {
        self.remove(name);
        self.append(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_name_is_found_in_any_case() {
        let mut section = FieldSection::default();
        section.append(b"HOST", b"a");
        section.append(b"x-other", b"b");
        section.append(b"If-None-Match", b"\"1\"");
        section.append(b"host", b"c");
        assert_eq!(section.get(Known::Host), Some(&b"a"[..]));
        assert_eq!(section.get_all(Known::Host).collect::<Vec<_>>(), [b"a", b"c"]);
        assert_eq!(section.get(Known::IfNoneMatch), Some(&b"\"1\""[..]));
        assert_eq!(section.get(Known::Range), None);
        assert_eq!(section.get_named(b"X-OTHER"), Some(&b"b"[..]));
    }

    #[test]
    fn an_appended_section_is_its_own_wire_form() {
        let mut section = FieldSection::default();
        section.append(b"a", b"1");
        section.append(b"b", b"2");
        assert_eq!(section.wire_form(), Some(&b"a: 1\r\nb: 2\r\n"[..]));
        assert!(section.remove(b"A"));
        assert_eq!(section.wire_form(), Some(&b"b: 2\r\n"[..]));
        section.reset_to(b"GET / HTTP/1.1\r\nhost:x\r\n");
        section.push_span(Span::new(16, 20), Span::new(21, 22));
        assert_eq!(section.wire_form(), None);
        assert_eq!(section.get(Known::Host), Some(&b"x"[..]));
    }

    #[test]
    fn what_is_sensitive_stays_so() {
        let mut section = FieldSection::default();
        section.mark_sensitive(); // of nothing
        for (name, sensitive) in [("cookie", false), ("x-key", true), ("cookie", true), ("x-other", false)] {
            section.append_known(name.as_bytes(), b"1", Known::of(name.as_bytes()));
            if sensitive {
                section.mark_sensitive();
            }
        }
        let marks = |section: &FieldSection| {
            let lines = section.lines().map(|line| (line.name.to_vec(), line.sensitive));
            lines.map(|(name, sensitive)| (String::from_utf8(name).unwrap(), sensitive)).collect::<Vec<_>>()
        };
        section.join(Known::Cookie, b"; ");
        let want = [("cookie", true), ("x-key", true), ("x-other", false)];
        assert_eq!(marks(&section), want.map(|(name, sensitive)| (name.to_owned(), sensitive)));
        section.remove(b"cookie");
        section.append(b"x-last", b"1");
        let want = [("x-key", true), ("x-other", false), ("x-last", false)];
        assert_eq!(marks(&section), want.map(|(name, sensitive)| (name.to_owned(), sensitive)));
        let mut copy = FieldSection::default();
        section.lines().for_each(|line| copy.append_line(line));
        assert_eq!(marks(&copy), marks(&section));
        section.clear();
        section.append(b"x-key", b"1");
        assert_eq!(marks(&section), [("x-key".to_owned(), false)]);
    }

    #[test]
    fn lines_of_a_name_are_joined_into_the_first() {
        let mut section = FieldSection::default();
        for (name, value) in [("a", "1"), ("cookie", "x=1"), ("b", "2"), ("cookie", "y=2"), ("range", "r")] {
            section.append_known(name.as_bytes(), value.as_bytes(), Known::of(name.as_bytes()));
        }
        assert!(section.extend_last(Known::Range, b", ", b"s"));
        assert!(!section.extend_last(Known::Cookie, b"; ", b"z=3"));
        section.join(Known::Cookie, b"; ");
        assert_eq!(section.get(Known::Cookie), Some(&b"x=1; y=2"[..]));
        assert_eq!(section.get(Known::Range), Some(&b"r, s"[..]));
        let lines: Vec<_> = section.iter().collect();
        let want: [(&[u8], &[u8]); 4] =
            [(b"a", b"1"), (b"cookie", b"x=1; y=2"), (b"b", b"2"), (b"range", b"r, s")];
        assert_eq!(lines, want);
        assert_eq!(section.wire_form(), None);
    }

    #[test]
    fn a_known_name_behind_three_hundred_lines_is_found() {
        let mut section = FieldSection::default();
        for _ in 0..300 {
            section.append(b"x-filler", b"");
        }
        section.append(b"range", b"bytes=0-");
        assert_eq!(section.get(Known::Range), Some(&b"bytes=0-"[..]));
    }
}
