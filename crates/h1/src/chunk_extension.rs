//! Chunk extensions (RFC 9112 §7.1.1). They have no meaning here. But a program that treats an unclosed quote
//! differently sees different chunks, which allows smuggling: so extensions must match the grammar.

use crate::bytes::{token_end, value_end};
use crate::fault::Fault;

/// Checks what stands between the digits of a chunk size and its CRLF:
/// `*( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )`.
pub(crate) fn check(extensions: &[u8]) -> Result<(), Fault> {
    if extensions.is_empty() {
        return Ok(());
    }
    if value_end(extensions, 0) != extensions.len() {
        return Err(Fault::MalformedExtension);
    }
    if !matches!(after_whitespace(extensions), [b';', ..]) {
        return Err(Fault::MalformedChunkSize);
    }
    let mut rest = extensions;
    while !rest.is_empty() {
        rest = after_extension(rest).ok_or(Fault::MalformedExtension)?;
    }
    Ok(())
}

/// What follows the first extension. Whitespace after it belongs to the next one.
fn after_extension(rest: &[u8]) -> Option<&[u8]> {
    let name = after_whitespace(after_whitespace(rest).strip_prefix(b";")?);
    let rest = after_token(name)?;
    match after_whitespace(rest) {
        [b'=', value @ ..] => after_value(after_whitespace(value)),
        _ => Some(rest),
    }
}

fn after_value(rest: &[u8]) -> Option<&[u8]> {
    match rest {
        [b'"', inner @ ..] => after_quoted(inner),
        _ => after_token(rest),
    }
}

fn after_token(rest: &[u8]) -> Option<&[u8]> {
    let end = token_end(rest, 0);
    (end > 0).then(|| &rest[end..])
}

/// What follows the closing quote (RFC 9110 §5.6.4). Controls have been looked for already.
fn after_quoted(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        rest = match rest {
            [b'"', after @ ..] => return Some(after),
            [b'\\', _, after @ ..] => after,
            [b'\\'] | [] => return None,
            [_, after @ ..] => after,
        }
    }
}

/// RFC 9110 §5.6.3: bad whitespace is that of OWS, and recipients remove it.
fn after_whitespace(rest: &[u8]) -> &[u8] {
    let len = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    &rest[len..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_of_the_grammar_are_taken_and_no_others() {
        let taken = Ok(());
        let broken = Err(Fault::MalformedExtension);
        let no_extension = Err(Fault::MalformedChunkSize);
        let cases: [(&[u8], _); 43] = [
            (b"", taken),
            (b";a", taken),
            (b";a;b;c", taken),
            (b";a=b", taken),
            (b" \t; \ta \t= \tb", taken),
            (b" ; a ; b = c", taken),
            (b";!#$%&'*+-.^_`|~0=!", taken),
            (b";a=\"\"", taken),
            (b";a=\"b;c=d\"", taken),
            (b";a=\"b\";c", taken),
            (b";a=\"b\" ;c=\"d\"", taken),
            (b";a=\"\\\"\"", taken),
            (b";a=\"\\\\\"", taken),
            (b";a=\"b\\c \t\xff\"", taken),
            // A name is needed, and one only.
            (b";", broken),
            (b"; ", broken),
            (b";;a", broken),
            (b";a;", broken),
            (b";=b", broken),
            (b";\"a\"=b", broken),
            (b";a b", broken),
            (b";a/b", broken),
            (b";a,b", broken),
            (b";\xff", broken),
            // So is a value after the equals sign.
            (b";a=", broken),
            (b";a=;b", broken),
            (b";a==b", broken),
            (b";a=b=c", broken),
            (b";a=b c", broken),
            // Whitespace is that in front of something.
            (b";a ", broken),
            (b";a=b\t", broken),
            // Quotes are closed, and nothing but the next extension follows.
            (b";a=\"", broken),
            (b";a=\"b", broken),
            (b";a=\"b\\\"", broken),
            (b";a=\"b\\", broken),
            (b";a=\"b\"c", broken),
            (b";a=\"b\"\"c\"", broken),
            (b";a=b\"c\"", broken),
            (b";a=\"\0\"", broken),
            (b";a=\"\\\x7f\"", broken),
            (b" ", no_extension),
            (b"x;a", no_extension),
            (b"\"", no_extension),
        ];
        for (extensions, want) in cases {
            assert_eq!(check(extensions), want, "{}", extensions.escape_ascii());
        }
    }
}
