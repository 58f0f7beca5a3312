//! Header compression as plainly as can be (RFC 7541): literals are written, everything is read. The tests
//! must not share the program's own coder.

/// The names and values of the static table, entry 1 first (RFC 7541 appendix A).
#[rustfmt::skip]
const STATIC: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""),
    ("cache-control", ""), ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""),
    ("content-length", ""), ("content-location", ""), ("content-range", ""), ("content-type", ""),
    ("cookie", ""), ("date", ""), ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
    ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
    ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""),
    ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""),
    ("via", ""), ("www-authenticate", ""),
];

/// The code length of each byte in bits, 256 being EOS (RFC 7541 appendix B). The code is canonical: bytes of
/// one length have consecutive codes in order, so that the lengths determine it.
#[rustfmt::skip]
const BITS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6,
    6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8,
    7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7,
    7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23,
    24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22,
    23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25,
    26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24,
    20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
    27, 27, 27, 26, 30,
];

/// Field lines as literals that are never indexed, without Huffman coding.
pub(crate) fn literals(fields: &[(&str, &str)]) -> Vec<u8> {
    literals_of(0x10, fields)
}

/// Field lines as literals that enter the table, without Huffman coding.
pub(crate) fn indexed(fields: &[(&str, &str)]) -> Vec<u8> {
    literals_of(0x40, fields)
}

fn literals_of(kind: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(kind);
        for text in [name, value] {
            integer(&mut block, 0, 7, text.len());
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

/// An integer with a prefix of that many bits (RFC 7541 section 5.1).
pub(crate) fn integer(block: &mut Vec<u8>, first: u8, bits: u8, value: usize) {
    let most = (1 << bits) - 1;
    if value < most {
        return block.push(first | value as u8);
    }
    block.push(first | most as u8);
    let mut rest = value - most;
    while rest >= 128 {
        block.push(rest as u8 | 128);
        rest >>= 7;
    }
    block.push(rest as u8);
}

/// Reads the field blocks of one direction.
#[derive(Default)]
pub(crate) struct Decoder {
    /// The dynamic table, newest first; eviction is not needed to read what a correct peer refers to.
    table: Vec<(String, String)>,
    /// The names of literals that were never to be indexed (RFC 7541 section 6.2.3), of all blocks.
    pub(crate) never: Vec<String>,
}

impl Decoder {
    /// The field lines of a whole block.
    ///
    /// # Panics
    /// It is not one.
    #[track_caller]
    pub(crate) fn read(&mut self, mut block: &[u8]) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        while let Some(&first) = block.first() {
            let (bits, kept) = match first {
                0x80.. => (7, false),
                0x40..=0x7f => (6, true),
                0x20..=0x3f => {
                    take_integer(&mut block, 5);
                    continue;
                }
                _ => (4, false),
            };
            let index = take_integer(&mut block, bits);
            if first >= 0x80 {
                fields.push(self.entry(index));
                continue;
            }
            let name = if index == 0 { take_text(&mut block) } else { self.entry(index).0 };
            let field = (name, take_text(&mut block));
            if first & 0xf0 == 0x10 {
                self.never.push(field.0.clone());
            }
            if kept {
                self.table.insert(0, field.clone());
            }
            fields.push(field);
        }
        fields
    }

    fn entry(&self, index: usize) -> (String, String) {
        assert!(index > 0, "an index is not 0 (RFC 7541 section 6.1)");
        match STATIC.get(index - 1) {
            Some((name, value)) => ((*name).to_owned(), (*value).to_owned()),
            None => self.table.get(index - 1 - STATIC.len()).expect("an entry of the table").clone(),
        }
    }
}

fn take(block: &mut &[u8], len: usize) -> Vec<u8> {
    let (taken, rest) = block.split_at_checked(len).expect("the block is whole");
    *block = rest;
    taken.to_vec()
}

fn take_integer(block: &mut &[u8], bits: u8) -> usize {
    let most = (1 << bits) - 1;
    let mut value = usize::from(take(block, 1)[0]) & most;
    if value < most {
        return value;
    }
    for shift in (0..).step_by(7) {
        let byte = usize::from(take(block, 1)[0]);
        value += (byte & 127) << shift;
        if byte < 128 {
            break;
        }
    }
    value
}

fn take_text(block: &mut &[u8]) -> String {
    let huffman = block.first().is_some_and(|first| first & 128 != 0);
    let len = take_integer(block, 7);
    let bytes = take(block, len);
    let bytes = if huffman { unpacked(&bytes) } else { bytes };
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads Huffman codes bit by bit: the first code of each length and their number define the code.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut by_length: Vec<usize> = (0..BITS.len()).collect();
    by_length.sort_by_key(|byte| (BITS[*byte], *byte));
    let (mut text, mut code, mut length) = (Vec::new(), 0_u32, 0_u8);
    let (mut first, mut start) = (0_u32, 0_usize);
    for bit in bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1)) {
        (code, first, length) = (code << 1 | u32::from(bit), first << 1, length + 1);
        let count = BITS.iter().filter(|bits| **bits == length).count();
        if code - first < count as u32 {
            text.push(by_length[start + (code - first) as usize] as u8);
            (code, first, length, start) = (0, 0, 0, 0);
        } else {
            first += count as u32;
            start += count;
        }
    }
    text
}

#[test]
fn the_examples_of_the_rfc_are_read() {
    let mut decoder = Decoder::default();
    // RFC 7541 appendix C.6.1: a response with Huffman coding.
    let block = [
        0x48, 0x82, 0x64, 0x02, 0x58, 0x85, 0xae, 0xc3, 0x77, 0x1a, 0x4b, 0x61, 0x96, 0xd0, 0x7a, 0xbe, 0x94,
        0x10, 0x54, 0xd4, 0x44, 0xa8, 0x20, 0x05, 0x95, 0x04, 0x0b, 0x81, 0x66, 0xe0, 0x82, 0xa6, 0x2d, 0x1b,
        0xff, 0x6e, 0x91, 0x9d, 0x29, 0xad, 0x17, 0x18, 0x63, 0xc7, 0x8f, 0x0b, 0x97, 0xc8, 0xe9, 0xae, 0x82,
        0xae, 0x43, 0xd3,
    ];
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let fields = [
        own(":status", "302"),
        own("cache-control", "private"),
        own("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
        own("location", "https://www.example.com"),
    ];
    assert_eq!(decoder.read(&block), fields);
    // C.6.2 refers to entries that the first one has added to the table.
    let again = decoder.read(&[0x48, 0x83, 0x64, 0x0e, 0xff, 0xc1, 0xc0, 0xbf]);
    assert_eq!(again[0], own(":status", "307"));
    assert_eq!(again[1..], fields[1..]);
}
