//! A simple, slow HPACK model: entries in a list, Huffman codes bit by bit. It returns the fields of a block
//! or that a rule is broken, not which one.

use std::collections::VecDeque;

/// Bytes by length of their codes, in order; EOS is the last of the longest.
const LENGTHS: &[(u32, &[u8])] = &[
    (5, b"012aceiost"),
    (6, b" %-./3456789=A_bdfghlmnpru"),
    (7, b":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz"),
    (8, b"&*,;XZ"),
    (10, b"!\"()?"),
    (11, b"'+|"),
    (12, b"#>"),
    (13, b"\x00$@[]~"),
    (14, b"^}"),
    (15, b"<`{"),
    (19, b"\\\xc3\xd0"),
    (20, b"\x80\x82\x83\xa2\xb8\xc2\xe0\xe2"),
    (21, b"\x99\xa1\xa7\xac\xb0\xb1\xb3\xd1\xd8\xd9\xe3\xe5\xe6"),
    (22, b"\x81\x84\x85\x86\x88\x92\x9a\x9c\xa0\xa3\xa4\xa9\xaa\xad\xb2\xb5\xb9\xba\xbb\xbd\xbe\xc4\xc6\xe4\xe8\xe9"),
    (23, b"\x01\x87\x89\x8a\x8b\x8c\x8d\x8f\x93\x95\x96\x97\x98\x9b\x9d\x9e\xa5\xa6\xa8\xae\xaf\xb4\xb6\xb7\xbc\xbf\xc5\xe7\xef"),
    (24, b"\x09\x8e\x90\x91\x94\x9f\xab\xce\xd7\xe1\xec\xed"),
    (25, b"\xc7\xcf\xea\xeb"),
    (26, b"\xc0\xc1\xc8\xc9\xca\xcd\xd2\xd5\xda\xdb\xee\xf0\xf2\xf3\xff"),
    (27, b"\xcb\xcc\xd3\xd4\xd6\xdd\xde\xdf\xf1\xf4\xf5\xf6\xf7\xf8\xfa\xfb\xfc\xfd\xfe"),
    (28, b"\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f\xdc\xf9"),
    (30, b"\x0a\x0d\x16"),
];

const STATIC: &str = "\
:authority\n\
:method GET\n\
:method POST\n\
:path /\n\
:path /index.html\n\
:scheme http\n\
:scheme https\n\
:status 200\n\
:status 204\n\
:status 206\n\
:status 304\n\
:status 400\n\
:status 404\n\
:status 500\n\
accept-charset\n\
accept-encoding gzip, deflate\n\
accept-language\n\
accept-ranges\n\
accept\n\
access-control-allow-origin\n\
age\n\
allow\n\
authorization\n\
cache-control\n\
content-disposition\n\
content-encoding\n\
content-language\n\
content-length\n\
content-location\n\
content-range\n\
content-type\n\
cookie\n\
date\n\
etag\n\
expect\n\
expires\n\
from\n\
host\n\
if-match\n\
if-modified-since\n\
if-none-match\n\
if-range\n\
if-unmodified-since\n\
last-modified\n\
link\n\
location\n\
max-forwards\n\
proxy-authenticate\n\
proxy-authorization\n\
range\n\
referer\n\
refresh\n\
retry-after\n\
server\n\
set-cookie\n\
strict-transport-security\n\
transfer-encoding\n\
user-agent\n\
vary\n\
via\n\
www-authenticate\n";

type Line = (Vec<u8>, Vec<u8>);

pub(crate) struct Model {
    entries: VecDeque<Line>,
    size_in_use: usize,
    limit: usize,
    demanded: Option<usize>,
}

impl Model {
    pub(crate) fn new() -> Self {
        Self { entries: VecDeque::new(), size_in_use: 4096, limit: 4096, demanded: None }
    }

    pub(crate) fn set_limit(&mut self, limit: u32) {
        self.limit = limit as usize;
        let lowest = self.demanded.unwrap_or(self.size_in_use);
        if self.limit < lowest {
            self.demanded = Some(self.limit);
        }
    }

    pub(crate) fn decode(&mut self, block: &[u8]) -> Option<Vec<Line>> {
        let (mut input, mut lines) = (block.iter().copied(), Vec::new());
        let mut at_start = true;
        let mut smallest = usize::MAX;
        while let Some(first) = input.next() {
            if first >> 5 == 1 {
                let size = integer(first, 5, &mut input)?;
                if !at_start || size > self.limit {
                    return None;
                }
                smallest = smallest.min(size);
                self.size_in_use = size;
                self.evict();
                continue;
            }
            self.settle(&mut at_start, smallest)?;
            lines.push(self.line(first, &mut input)?);
        }
        self.settle(&mut at_start, smallest)?;
        Some(lines)
    }

    fn settle(&mut self, at_start: &mut bool, smallest: usize) -> Option<()> {
        *at_start = false;
        match self.demanded.take() {
            Some(demanded) if smallest > demanded => None,
            _ => Some(()),
        }
    }

    fn line(&mut self, first: u8, input: &mut impl Iterator<Item = u8>) -> Option<Line> {
        if first >> 7 == 1 {
            return self.entry(integer(first, 7, input)?);
        }
        let add = first >> 6 == 1;
        let name = match integer(first, if add { 6 } else { 4 }, input)? {
            0 => string(input)?,
            index => self.entry(index)?.0,
        };
        let line = (name, string(input)?);
        if add {
            self.entries.push_front(line.clone());
            self.evict();
        }
        Some(line)
    }

    fn entry(&self, index: usize) -> Option<Line> {
        match STATIC.lines().nth(index.checked_sub(1)?) {
            Some(line) => {
                let (name, value) = line.split_once(' ').unwrap_or((line, ""));
                Some((name.into(), value.into()))
            }
            None => self.entries.get(index - 62).cloned(),
        }
    }

    fn evict(&mut self) {
        let size = |(name, value): &Line| name.len() + value.len() + 32;
        while self.entries.iter().map(size).sum::<usize>() > self.size_in_use {
            self.entries.pop_back();
        }
    }
}

fn integer(first: u8, prefix: u32, input: &mut impl Iterator<Item = u8>) -> Option<usize> {
    let most = (1 << prefix) - 1;
    let mut value = first as usize & most;
    if value < most {
        return Some(value);
    }
    for at in 0..4 {
        let byte = input.next()? as usize;
        value += (byte % 128) << (7 * at);
        if byte < 128 {
            return Some(value);
        }
    }
    None
}

fn string(input: &mut impl Iterator<Item = u8>) -> Option<Vec<u8>> {
    let first = input.next()?;
    let len = integer(first, 7, input)?;
    let mut text = Vec::new();
    for _ in 0..len {
        text.push(input.next()?);
    }
    if first >> 7 == 1 { huffman(&text) } else { Some(text) }
}

fn huffman(coded: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut code, mut bits) = (Vec::new(), 0, 0);
    for at in 0..8 * coded.len() {
        code = code << 1 | u32::from(coded[at / 8] >> (7 - at % 8) & 1);
        bits += 1;
        if bits == 30 && code == 0x3fff_ffff {
            return None;
        }
        if let Some(byte) = byte_of(code, bits) {
            out.push(byte);
            (code, bits) = (0, 0);
        }
    }
    (bits < 8 && code == (1 << bits) - 1).then_some(out)
}

fn byte_of(code: u32, bits: u32) -> Option<u8> {
    let (mut first, mut before) = (0, 5);
    for (len, bytes) in LENGTHS {
        first <<= len - before;
        if *len == bits {
            return bytes.get(code.checked_sub(first)? as usize).copied();
        }
        first += bytes.len() as u32;
        before = *len;
    }
    None
}
