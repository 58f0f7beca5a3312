//! A response as it came over the wire, taken apart as plainly as can be: the tests must not share the
//! program's own parser.

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The status code.
    pub(crate) status: u16,
    /// The field lines, names in lower case.
    pub(crate) fields: Vec<(String, String)>,
    /// The content.
    pub(crate) content: Vec<u8>,
}

/// How a response ends.
enum Length {
    Bytes(usize),
    Chunked,
    UntilClose,
}

impl Answer {
    /// The first response in `bytes` and the number of bytes it takes; `None` if it is incomplete. `closed`
    /// means that no more bytes follow, `bodiless` that the request was a HEAD.
    pub(crate) fn parse(bytes: &[u8], bodiless: bool, closed: bool) -> Option<(Self, usize)> {
        let end = find(bytes, b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&bytes[..end]);
        let mut lines = head.split("\r\n");
        let status_line = lines.next()?;
        let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("a status line, not {status_line:?}"));
        let fields = lines.map(field).collect();
        let mut answer = Self { status, fields, content: Vec::new() };
        let rest = &bytes[end + 4..];
        let without = bodiless || status < 200 || matches!(status, 204 | 304);
        let used = match answer.length() {
            _ if without => 0,
            Length::Bytes(length) => {
                answer.content = rest.get(..length)?.to_vec();
                length
            }
            Length::Chunked => answer.take_chunks(rest)?,
            Length::UntilClose if !closed => return None,
            Length::UntilClose => {
                answer.content = rest.to_vec();
                rest.len()
            }
        };
        Some((answer, end + 4 + used))
    }

    /// The first value of that field, or nothing.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// All values of that field.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.fields.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str()).collect()
    }

    /// The content as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.content).into_owned()
    }

    fn length(&self) -> Length {
        if self.field("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
            return Length::Chunked;
        }
        match self.all("content-length")[..] {
            [length] => Length::Bytes(length.parse().expect("content-length is a number")),
            [] => Length::UntilClose,
            _ => panic!("content-length is repeated: {self:?}"),
        }
    }

    fn take_chunks(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            let line = find(bytes.get(at..)?, b"\r\n")?;
            let digits = String::from_utf8_lossy(&bytes[at..at + line]).into_owned();
            let size = usize::from_str_radix(&digits, 16).expect("a chunk size without extensions");
            at += line + 2;
            if size == 0 {
                return self.take_trailers(bytes, at);
            }
            self.content.extend_from_slice(bytes.get(at..at + size)?);
            assert_eq!(bytes.get(at + size..at + size + 2)?, b"\r\n", "a chunk ends");
            at += size + 2;
        }
    }
}

impl Answer {
    /// Adds the trailer section to the fields; returns the index after it.
    fn take_trailers(&mut self, bytes: &[u8], mut at: usize) -> Option<usize> {
        loop {
            let line = find(bytes.get(at..)?, b"\r\n")?;
            let text = String::from_utf8_lossy(&bytes[at..at + line]).into_owned();
            at += line + 2;
            if text.is_empty() {
                return Some(at);
            }
            self.fields.push(field(&text));
        }
    }
}

fn field(line: &str) -> (String, String) {
    let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("a field line, not {line:?}"));
    (name.to_ascii_lowercase(), value.trim().to_owned())
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
