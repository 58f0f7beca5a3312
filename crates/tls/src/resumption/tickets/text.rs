//! A set of ticket keys as text: h2o's form, for its ticket file and for remote stores.
//!
//! A YAML sequence of mappings with `name` (32 hexadecimal digits), `cipher`, `hash`, `key` (hexadecimal),
//! `not_before` and `not_after`. h2o's code takes the times as seconds since 1970 while its manual says
//! milliseconds; both are understood. `cipher` and `hash` say how h2o would use the key. Here keys are
//! derived from its bytes, so they are read and written, and have no effect.

use super::key::{NAME, Secret, TicketKey};
use super::ring::Ring;
use crate::resumption::secret::{hex, unhex};
use granit_parser::{Event, Options, Parser};
use std::fmt::Write;

/// The minimum length of a key. A shorter one couldn't be guessed either, but is most likely a mistake.
const SHORTEST: usize = 32;
/// A larger number is a time in milliseconds: as seconds it would be in the year 5138.
const SECONDS: u64 = 100_000_000_000;

/// Parses the keys in `text`.
///
/// # Errors
/// The error and its position: one line without its end.
pub(super) fn read(text: &str) -> Result<Ring, String> {
    let entries = entries(text)?;
    let key = |(index, entry): (usize, &Entry)| entry.key().map_err(|e| format!("key {}: {e}", index + 1));
    let keys: Vec<_> = entries.iter().enumerate().map(key).collect::<Result<_, _>>()?;
    Ok(Ring::new(keys))
}

/// The keys of `ring` as h2o writes them.
pub(super) fn write(ring: &Ring) -> Secret {
    let mut text = String::new();
    for key in ring.keys() {
        let secret = Secret(hex(&key.secret.0).into_bytes());
        let digits = std::str::from_utf8(&secret.0).unwrap_or_default();
        let _ = write!(
            text,
            "- name: {}\n  cipher: AES-256-CBC\n  hash: SHA256\n  key: {digits}\n  not_before: {}\n  not_after: {}\n",
            hex(&key.name),
            key.not_before,
            key.not_after
        );
    }
    Secret(text.into_bytes())
}

/// The attributes of one key as written.
#[derive(Debug, Default)]
struct Entry(Vec<(String, String)>);

impl Entry {
    fn key(&self) -> Result<TicketKey, String> {
        let name = unhex(self.get("name")?).and_then(|name| <[u8; NAME]>::try_from(name).ok());
        let name = name.ok_or("`name` must be 32 hexadecimal digits")?;
        let secret = unhex(self.get("key")?).ok_or("`key` must be hexadecimal digits")?;
        if secret.len() < SHORTEST {
            return Err(format!("`key` has {} digits and needs {}", secret.len() * 2, SHORTEST * 2));
        }
        let (not_before, not_after) = (self.time("not_before")?, self.time("not_after")?);
        if not_before > not_after {
            return Err("`not_after` is before `not_before`".into());
        }
        Ok(TicketKey::new(name, secret, not_before, not_after))
    }

    fn time(&self, name: &str) -> Result<u64, String> {
        let time: Option<u64> = self.get(name)?.parse().ok();
        let seconds = time.map(|time| if time > SECONDS { time / 1000 } else { time });
        // Beyond that, the written number would be read back as milliseconds.
        let seconds = seconds.filter(|seconds| *seconds <= SECONDS);
        seconds.ok_or_else(|| format!("`{name}` must be seconds since 1970"))
    }

    fn get(&self, name: &str) -> Result<&str, String> {
        let attribute = self.0.iter().find(|(key, _)| key == name);
        attribute.map(|(_, value)| value.as_str()).ok_or_else(|| format!("`{name}` is missing"))
    }
}

/// The mappings of a sequence of flat mappings.
fn entries(text: &str) -> Result<Vec<Entry>, String> {
    let mut options = Options::default();
    (options.flow_nesting_limit, options.block_nesting_limit) = (4, 4);
    let mut events = Parser::new_from_str_with_options(text, options);
    let mut entries = Vec::new();
    let (mut depth, mut attribute) = (0, None);
    while let Some(event) = events.next_event() {
        let (event, _) = event.map_err(|error| error.to_string())?;
        match (event, depth) {
            (Event::SequenceStart(..), 0) => depth = 1,
            (Event::MappingStart(..), 1) => (depth, attribute) = (2, Some((Entry::default(), None))),
            (Event::Scalar(text, ..), 2) => scalar(&mut attribute, text.into_owned()),
            (Event::MappingEnd, 2) => {
                entries.extend(attribute.take().map(|(entry, _)| entry));
                depth = 1;
            }
            (Event::SequenceEnd, 1) => depth = 0,
            (Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd, 0) => {}
            _ => return Err("it must be a list of mappings with `name`, `key`, …".into()),
        }
    }
    Ok(entries)
}

/// A scalar within a mapping: in turn an attribute's name and its value.
fn scalar(attribute: &mut Option<(Entry, Option<String>)>, text: String) {
    if let Some((entry, name)) = attribute {
        match name.take() {
            Some(name) => entry.0.push((name, text)),
            None => *name = Some(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From h2o's manual, except for the key: the manual's is too short for the cipher it names.
    const MANUAL: &str = "\
- name:       c173437296d6c2307fd39b40c944c227
  cipher:     aes-256-cbc
  hash:       sha256
  key:        e54210a0f6a6319aa155a33b8babd772319bad9f27903746dfbe6df7a4058485a8cedb057cfc5b70080cda2354fc3e13
  not_before: 1515110400000 # 2018-01-05 00:00:00.000
  not_after:  1515196799999 # 2018-01-05 23:59:59.999
- {name: bb1a15d75dc498624890dc5a7e164675, cipher: AES-256-CBC, hash: SHA256,
   key: \"b4120bc903d6521fefa357ac322561fc97aa9e5ae5e18eade64832439b9095ab\",
   not_before: 1515196800, not_after: 1515283199}
";

    #[test]
    fn the_file_of_h2os_manual_is_read() {
        let ring = read(MANUAL).unwrap();
        let keys: Vec<_> = ring.keys().map(|key| (key.name[0], key.not_before, key.not_after)).collect();
        assert_eq!(keys, [(0xbb, 1_515_196_800, 1_515_283_199), (0xc1, 1_515_110_400, 1_515_196_799)]);
        assert_eq!(ring.keys().next().unwrap().secret.0[..2], [0xb4, 0x12]);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let ring = read(MANUAL).unwrap().renewed(1_515_200_000, 100).unwrap();
        let text = write(&ring);
        let again = read(std::str::from_utf8(&text.0).unwrap()).unwrap();
        assert_eq!(write(&again), text);
        let all = |ring: &Ring| ring.keys().map(|k| (k.name, k.secret.0.clone())).collect::<Vec<_>>();
        assert_eq!(all(&again), all(&ring));
        assert!(text.0.starts_with(b"- name: "));
        assert_eq!(write(&Ring::default()).0, b"");
    }

    #[test]
    fn a_wrong_file_is_told_what_is_wrong() {
        let with = |from: &str, to: &str| read(&MANUAL.replace(from, to)).unwrap_err();
        assert_eq!(
            with("c173437296d6c2307fd39b40c944c227", "c1"),
            "key 1: `name` must be 32 hexadecimal digits"
        );
        assert_eq!(with("b4120bc9", "x"), "key 2: `key` must be hexadecimal digits");
        assert_eq!(
            with("2561fc97aa9e5ae5e18eade64832439b9095ab", ""),
            "key 2: `key` has 26 digits and needs 64"
        );
        assert_eq!(with("1515196800,", "soon,"), "key 2: `not_before` must be seconds since 1970");
        assert_eq!(
            with("1515196799999", "1515196799999000"),
            "key 1: `not_after` must be seconds since 1970",
            "microseconds"
        );
        assert_eq!(with("1515283199", "1"), "key 2: `not_after` is before `not_before`");
        assert_eq!(with("  key: ", "  kee: "), "key 1: `key` is missing");
        for wrong in ["a: b", "- a", "- [a]", "- {a: {b: c}}", "text"] {
            assert_eq!(
                read(wrong).unwrap_err(),
                "it must be a list of mappings with `name`, `key`, …",
                "{wrong}"
            );
        }
        assert!(read("- {a").is_err());
    }

    #[test]
    fn garbage_is_an_error_and_no_panic() {
        proptest::proptest!(|(bytes: Vec<u8>)| {
            let _ = read(&String::from_utf8_lossy(&bytes));
        });
    }

    #[test]
    fn an_empty_file_has_no_keys() {
        for empty in ["", "[]", "# nothing\n"] {
            assert_eq!(read(empty).map(|ring| ring.keys().count()), Ok(0), "{empty:?}");
        }
    }
}
