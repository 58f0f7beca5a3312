//! Redis' protocol, RESP 2: GET, SET, DEL, and WATCH with MULTI for an atomic change.

use super::broken;
use super::wire::Wire;
use std::io;

/// A connection to Redis.
#[derive(Debug)]
pub(super) struct Redis {
    pub(super) wire: Wire,
}

/// The kinds of replies that these commands get.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Simple(Vec<u8>),
    Integer(i64),
    Bulk(Vec<u8>),
    Null,
    /// An array; its elements follow as separate answers.
    Array(usize),
}

impl Redis {
    /// Authenticates, if there is a password.
    pub(super) fn authenticate(&mut self, password: &str) -> io::Result<()> {
        self.send(&[b"AUTH", password.as_bytes()])?;
        self.ok()
    }

    pub(super) fn get(&mut self, key: &str) -> io::Result<Option<Vec<u8>>> {
        self.send(&[b"GET", key.as_bytes()])?;
        match self.answer()? {
            Answer::Bulk(value) => Ok(Some(value)),
            Answer::Null => Ok(None),
            other => Err(unexpected(&other)),
        }
    }

    pub(super) fn put(&mut self, key: &str, value: &[u8], lifetime: u32) -> io::Result<()> {
        self.set(key, value, lifetime)?;
        self.ok()
    }

    pub(super) fn remove(&mut self, key: &str) -> io::Result<bool> {
        self.send(&[b"DEL", key.as_bytes()])?;
        match self.answer()? {
            Answer::Integer(count) => Ok(count > 0),
            other => Err(unexpected(&other)),
        }
    }

    pub(super) fn swap(
        &mut self,
        key: &str,
        old: Option<&[u8]>,
        new: &[u8],
        lifetime: u32,
    ) -> io::Result<bool> {
        self.send(&[b"WATCH", key.as_bytes()])?;
        self.ok()?;
        if self.get(key)?.as_deref() != old {
            self.send(&[b"UNWATCH"])?;
            self.ok()?;
            return Ok(false);
        }
        self.send(&[b"MULTI"])?;
        self.ok()?;
        self.set(key, new, lifetime)?;
        self.answer_is(b"QUEUED")?;
        self.send(&[b"EXEC"])?;
        match self.answer()? {
            Answer::Array(1) => self.ok().map(|()| true),
            Answer::Null => Ok(false),
            other => Err(unexpected(&other)),
        }
    }

    fn set(&mut self, key: &str, value: &[u8], lifetime: u32) -> io::Result<()> {
        let lifetime = lifetime.max(1).to_string();
        self.send(&[b"SET", key.as_bytes(), value, b"EX", lifetime.as_bytes()])
    }

    fn send(&mut self, words: &[&[u8]]) -> io::Result<()> {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            bytes.extend_from_slice(word);
            bytes.extend_from_slice(b"\r\n");
        }
        self.wire.send(&bytes)
    }

    fn ok(&mut self) -> io::Result<()> {
        self.answer_is(b"OK")
    }

    fn answer_is(&mut self, want: &[u8]) -> io::Result<()> {
        match self.answer()? {
            Answer::Simple(text) if text == want => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// A Redis error (`-ERR …`) counts as a failure too: none of these commands fails on a healthy Redis.
    fn answer(&mut self) -> io::Result<Answer> {
        let line = self.wire.line()?;
        let answer = match line.split_first() {
            Some((b'+', text)) => Some(Answer::Simple(text.to_vec())),
            Some((b':', digits)) => number(digits).map(Answer::Integer),
            Some((b'$' | b'*', b"-1")) => Some(Answer::Null),
            Some((b'$', digits)) => match number(digits).and_then(|len| usize::try_from(len).ok()) {
                Some(len) => Some(Answer::Bulk(self.wire.value(len)?)),
                None => None,
            },
            Some((b'*', digits)) => {
                number(digits).and_then(|len| usize::try_from(len).ok()).map(Answer::Array)
            }
            _ => None,
        };
        answer.ok_or_else(|| broken(&line))
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn unexpected(answer: &Answer) -> io::Error {
    match answer {
        Answer::Simple(text) => broken(text),
        Answer::Integer(number) => broken(number.to_string().as_bytes()),
        // Without the value: it may be a secret, and this goes to the error log.
        Answer::Bulk(value) => broken(format!("a value of {} bytes", value.len()).as_bytes()),
        Answer::Null => broken(b"nothing"),
        Answer::Array(len) => broken(format!("an array of {len}").as_bytes()),
    }
}
