//! Response heads from field blocks (RFC 9113 §8.3.2).

use crate::config::Config;
use crate::fault::Fault;
use crate::field_block::{HeadFields, append, check, content_length};
use hayami_hpack::{Field, Sink, Token};
use hayami_http::{Known, ResponseHead, Status};

/// Fills a head from fields.
pub(crate) struct ResponseFields<'a> {
    head: &'a mut ResponseHead,
    max_fields: usize,
    status: Option<Status>,
    regular: bool,
    content_length: Option<u64>,
    fault: Option<Fault>,
}

impl Sink for ResponseFields<'_> {
    #[inline]
    fn field(&mut self, field: Field<'_>) {
        self.take(&field);
    }
}

impl HeadFields for ResponseFields<'_> {
    #[inline]
    fn fault(&mut self) -> &mut Option<Fault> {
        &mut self.fault
    }

    /// `:status` once, before the others, and nothing else (RFC 9113 §8.3.2).
    fn pseudo(&mut self, field: &Field<'_>) -> Result<(), Fault> {
        match field.token {
            Token::Status if self.regular => Err(Fault::PseudoLate),
            Token::Status if self.status.is_some() => Err(Fault::PseudoRepeated),
            Token::Status => {
                self.status = Some(status(field.value).ok_or(Fault::Status)?);
                Ok(())
            }
            _ => Err(Fault::PseudoUnknown),
        }
    }

    fn regular(&mut self, field: &Field<'_>) -> Result<(), Fault> {
        self.regular = true;
        check(field)?;
        if field.token == Token::Known(Known::ContentLength) {
            self.content_length = Some(content_length(self.content_length, field.value)?);
        }
        let own = self.head.own_all();
        if own.len() >= self.max_fields {
            return Err(Fault::HeadTooLarge);
        }
        append(own, field);
        Ok(())
    }
}

impl<'a> ResponseFields<'a> {
    pub(crate) fn new(head: &'a mut ResponseHead, config: &Config) -> Self {
        head.clear();
        let max_fields = usize::from(config.max_fields);
        Self { head, max_fields, status: None, regular: false, content_length: None, fault: None }
    }

    /// The head is complete: returns its Content-Length. `too_large`: fields are missing.
    pub(crate) fn finish(self, too_large: bool) -> Result<Option<u64>, Fault> {
        match (self.fault, self.status) {
            (Some(fault), _) => Err(fault),
            _ if too_large => Err(Fault::HeadTooLarge),
            (None, None) => Err(Fault::PseudoMissing),
            (None, Some(status)) => {
                self.head.set_status(status);
                Ok(self.content_length)
            }
        }
    }
}

/// Three digits; 101 is not allowed in HTTP/2 (RFC 9113 §8.6).
fn status(value: &[u8]) -> Option<Status> {
    let [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = value else { return None };
    let digit = |byte: &u8| u16::from(byte - b'0');
    let status = Status::new(digit(a) * 100 + digit(b) * 10 + digit(c))?;
    (status != Status::SWITCHING_PROTOCOLS).then_some(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Status, Content-Length and number of fields.
    type Read = Result<(u16, Option<u64>, usize), Fault>;

    fn parse(lines: &str) -> Read {
        let mut head = ResponseHead::new(Status::OK);
        head.append(b"left", b"over");
        let mut fields = ResponseFields::new(&mut head, &Config { max_fields: 2, ..Config::default() });
        for line in lines.lines() {
            let (name, value) = line.split_once(": ").expect("a line");
            let (name, value, token) = (name.as_bytes(), value.as_bytes(), Token::of(name.as_bytes()));
            let well_formed = token.is_pseudo() || !name.iter().any(|o| matches!(o, b':' | b'A'..=b'Z'));
            fields.field(Field { name, value, token, well_formed, never_indexed: false });
        }
        let length = fields.finish(false)?;
        Ok((head.status().code(), length, head.iter().count()))
    }

    #[test]
    fn a_head_has_a_status_and_its_fields() {
        let cases: &[(&str, Read)] = &[
            (":status: 200\n", Ok((200, None, 0))),
            (":status: 404\ncontent-length: 5\nx: y\n", Ok((404, Some(5), 2))),
            ("x: y\n", Err(Fault::PseudoMissing)),
            ("x: y\n:status: 200\n", Err(Fault::PseudoLate)),
            (":status: 200\n:status: 200\n", Err(Fault::PseudoRepeated)),
            (":status: 200\n:path: /\n", Err(Fault::PseudoUnknown)),
            (":status: 200\n:what: /\n", Err(Fault::PseudoUnknown)),
            (":status: 099\n", Err(Fault::Status)),
            (":status: 20\n", Err(Fault::Status)),
            (":status: 2000\n", Err(Fault::Status)),
            (":status: 101\n", Err(Fault::Status)),
            (":status: 200\nX: y\n", Err(Fault::FieldMalformed)),
            (":status: 200\nconnection: close\n", Err(Fault::FieldOfConnection)),
            (":status: 200\ncontent-length: 1\ncontent-length: 1\n", Err(Fault::ContentLength)),
            (":status: 200\na: 1\nb: 2\nc: 3\n", Err(Fault::HeadTooLarge)),
        ];
        for (lines, want) in cases {
            assert_eq!(parse(lines), *want, "{lines}");
        }
    }
}
