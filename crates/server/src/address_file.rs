//! Files of addresses, as `allow`, `deny` and `exempt` name them.

use crate::config::directive::Scope;
use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use crate::network_table::NetworkTable;
use crate::watched_file::{WatchedFile, WatchedFiles};
use hayami_net::Network;
use std::path::Path;
use std::sync::Arc;

/// Reads the file that `path` names, once for all places of a configuration that do.
///
/// # Errors
/// It is no path, or the file cannot be read or parsed.
pub(crate) fn open(
    scope: &mut Scope<'_>,
    path: &Node,
) -> Result<Arc<WatchedFile<NetworkTable>>, ConfigError> {
    let text = path.text().ok().filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| path.expected("the name of a file"))?;
    let files = scope.global.reading.features.get_mut::<WatchedFiles<NetworkTable>>();
    files.open(Path::new(text), parse).map_err(|problem| path.error(problem))
}

/// The addresses and networks of a file, one or several per line, separated by blanks or commas; `#` begins a comment.
///
/// # Errors
/// Something is neither; a line for the user.
fn parse(bytes: &[u8]) -> Result<NetworkTable, String> {
    let text = str::from_utf8(bytes).map_err(|_| "the file is not valid UTF-8".to_owned())?;
    // Some editors begin a file with a mark of the byte order.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines().enumerate().flat_map(|(number, line)| of_line(number + 1, line)).collect()
}

fn of_line(number: usize, line: &str) -> impl Iterator<Item = Result<Network, String>> {
    let content = line.split('#').next().unwrap_or_default();
    let words = content.split([' ', '\t', ',', '\r']).filter(|word| !word.is_empty());
    words.map(move |word| {
        let wrong = || format!("line {number}: `{}` is not an address or a network", short(word));
        word.parse().map_err(|_| wrong())
    })
}

/// What is shown of a word: on one line, and not too long.
fn short(word: &str) -> String {
    word.chars().take(60).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_comments_and_several_words_on_a_line() {
        let text = "\u{feff}# the office\n10.0.0.0/8 # all of it\r\n\n  192.0.2.1,2001:db8::/32\t::1\n#x";
        let table = parse(text.as_bytes()).expect("a list");
        for (ip, want) in [
            ("10.9.9.9", Some(0)),
            ("192.0.2.1", Some(1)),
            ("2001:db8::9", Some(2)),
            ("::1", Some(3)),
            ("192.0.2.2", None),
        ] {
            assert_eq!(table.find(ip.parse().expect(ip)), want, "{ip}");
        }
        assert_eq!(parse(b"").expect("no list is a list").len(), 0);
    }

    #[test]
    fn what_is_no_address_is_named_with_its_line() {
        for (bytes, want) in [
            (&b"10.0.0.1\n\nexample.org\n"[..], "line 3: `example.org` is not an address or a network"),
            (b"10.0.0.0/8;", "line 1: `10.0.0.0/8;` is not an address or a network"),
            (b"\x1b[2J", "line 1: `\\u{1b}[2J` is not an address or a network"),
            (b"\xff", "the file is not valid UTF-8"),
        ] {
            assert_eq!(parse(bytes).expect_err(want), want);
        }
    }
}
