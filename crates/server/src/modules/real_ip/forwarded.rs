//! The `for` nodes of the Forwarded field (RFC 7239 §4).

/// The values of `for` in the elements of a field's value, in order; empty for an element without one. `None`: the
/// value is malformed, so that its elements cannot be told apart.
pub(super) fn nodes(value: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut nodes = Vec::new();
    for element in pieces(value, b',')? {
        if element.is_empty() {
            continue;
        }
        let mut node = None;
        for pair in pieces(element, b';')?.into_iter().filter(|pair| !pair.is_empty()) {
            let equals = pair.iter().position(|byte| *byte == b'=')?;
            let (name, value) = (&pair[..equals], unquoted(&pair[equals + 1..])?);
            // §4: each parameter occurs at most once per element.
            if name.eq_ignore_ascii_case(b"for") && node.replace(value).is_some() {
                return None;
            }
        }
        nodes.push(node.unwrap_or_default());
    }
    Some(nodes)
}

/// Splits at separators outside of quotation marks, and trims the pieces.
fn pieces(value: &[u8], separator: u8) -> Option<Vec<&[u8]>> {
    let (mut pieces, mut start) = (Vec::new(), 0);
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in value.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            byte if *byte == separator && !quoted => {
                pieces.push(value[start..at].trim_ascii());
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(value[start..].trim_ascii());
    (!quoted).then_some(pieces)
}

/// The value of a token or quoted string.
fn unquoted(value: &[u8]) -> Option<Vec<u8>> {
    let Some(inner) = value.strip_prefix(b"\"") else {
        return (!value.contains(&b'"')).then(|| value.to_vec());
    };
    let inner = inner.strip_suffix(b"\"")?;
    let (mut meant, mut escaped) = (Vec::with_capacity(inner.len()), false);
    for byte in inner {
        match byte {
            b'\\' if !escaped => escaped = true,
            b'"' if !escaped => return None,
            byte => {
                meant.push(*byte);
                escaped = false;
            }
        }
    }
    (!escaped).then_some(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Option<Vec<String>> {
        let nodes = nodes(value.as_bytes())?;
        Some(nodes.into_iter().map(|node| String::from_utf8(node).expect("text")).collect())
    }

    #[test]
    fn the_nodes_of_all_elements_are_read() {
        let cases: [(&str, &[&str]); 7] = [
            ("for=192.0.2.1", &["192.0.2.1"]),
            (
                "For=\"[2001:db8::1]:4711\" ; proto=https, for=_hidden;by=10.0.0.1",
                &["[2001:db8::1]:4711", "_hidden"],
            ),
            ("proto=http, for=1", &["", "1"]),
            (", for=a,", &["a"]),
            ("host=\"a,b;for=x\";for=1", &["1"]),
            ("for=\"a\\\"b\"", &["a\"b"]),
            ("", &[]),
        ];
        for (value, want) in cases {
            assert_eq!(read(value).expect(value), want, "{value}");
        }
    }

    #[test]
    fn malformed_fields_name_no_address() {
        for value in ["for=\"1", "for", "for=1;for=2", "for=\"1\"2\"", "for=1\"", "a;for=1", "for=\"1\\\""] {
            assert_eq!(read(value), None, "{value}");
        }
    }
}
