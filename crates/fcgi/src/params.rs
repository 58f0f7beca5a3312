//! Names and values (FastCGI §3.4).

/// Appends a pair.
pub(crate) fn push(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    push_length(name.len(), out);
    push_length(value.len(), out);
    out.extend_from_slice(name);
    out.extend_from_slice(value);
}

/// One byte up to 127, four beyond, the highest bit of which says so.
fn push_length(length: usize, out: &mut Vec<u8>) {
    match u8::try_from(length) {
        Ok(byte @ ..=127) => out.push(byte),
        // A request's head is far shorter than 2 GiB.
        _ => out.extend_from_slice(&(length as u32 | 1 << 31).to_be_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_one_byte_or_four() {
        let long = vec![b'x'; 300];
        let cases: [(&[u8], &[u8], &[u8]); 4] = [
            (b"", b"", b"\0\0"),
            (b"A", b"bc", b"\x01\x02Abc"),
            (b"A", &long[..127], b"\x01\x7fA"),
            (&long[..128], b"", b"\x80\0\0\x80\0x"),
        ];
        for (name, value, want) in cases {
            let mut out = Vec::new();
            push(name, value, &mut out);
            assert!(out.starts_with(want), "{:?}", out.escape_ascii().to_string());
            assert!(out.ends_with(value));
        }
    }
}
