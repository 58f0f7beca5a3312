//! memcached's ASCII protocol (its `doc/protocol.txt`): `get`, `gets`, `set`, `add`, `cas`, `delete`.

use super::broken;
use super::wire::Wire;
use std::io;

/// The longest time that memcached takes as a number of seconds from now; more would be a date.
const LONGEST: u32 = 30 * 24 * 3600;

/// A connection to memcached.
#[derive(Debug)]
pub(super) struct Memcached {
    pub(super) wire: Wire,
}

/// A value, with the token that `cas` needs to detect concurrent changes.
struct Found {
    value: Vec<u8>,
    unique: Option<u64>,
}

impl Memcached {
    pub(super) fn get(&mut self, key: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.retrieve("get", key)?.map(|found| found.value))
    }

    pub(super) fn put(&mut self, key: &str, value: &[u8], lifetime: u32) -> io::Result<()> {
        match &*self.store("set", key, value, lifetime, None)? {
            b"STORED" => Ok(()),
            answer => Err(broken(answer)),
        }
    }

    pub(super) fn remove(&mut self, key: &str) -> io::Result<bool> {
        self.wire.send(format!("delete {key}\r\n").as_bytes())?;
        match &*self.wire.line()? {
            b"DELETED" => Ok(true),
            b"NOT_FOUND" => Ok(false),
            answer => Err(broken(answer)),
        }
    }

    pub(super) fn swap(
        &mut self,
        key: &str,
        old: Option<&[u8]>,
        new: &[u8],
        lifetime: u32,
    ) -> io::Result<bool> {
        let found = self.retrieve("gets", key)?;
        let answer = match (found, old) {
            (None, None) => self.store("add", key, new, lifetime, None)?,
            (Some(found), Some(old)) if found.value == old => {
                self.store("cas", key, new, lifetime, found.unique)?
            }
            _ => return Ok(false),
        };
        match &*answer {
            b"STORED" => Ok(true),
            b"NOT_STORED" | b"EXISTS" | b"NOT_FOUND" => Ok(false),
            answer => Err(broken(answer)),
        }
    }

    /// `VALUE <key> <flags> <bytes> [<unique>]`, the bytes, `END`; only `END` if there is nothing.
    fn retrieve(&mut self, command: &str, key: &str) -> io::Result<Option<Found>> {
        self.wire.send(format!("{command} {key}\r\n").as_bytes())?;
        let line = self.wire.line()?;
        if line == b"END" {
            return Ok(None);
        }
        let (len, unique) = head(&line, key).ok_or_else(|| broken(&line))?;
        let value = self.wire.value(len)?;
        match &*self.wire.line()? {
            b"END" => Ok(Some(Found { value, unique })),
            answer => Err(broken(answer)),
        }
    }

    fn store(
        &mut self,
        command: &str,
        key: &str,
        value: &[u8],
        lifetime: u32,
        unique: Option<u64>,
    ) -> io::Result<Vec<u8>> {
        let unique = unique.map_or_else(String::new, |unique| format!(" {unique}"));
        let lifetime = lifetime.clamp(1, LONGEST);
        let mut bytes = format!("{command} {key} 0 {lifetime} {}{unique}\r\n", value.len()).into_bytes();
        bytes.extend_from_slice(value);
        bytes.extend_from_slice(b"\r\n");
        self.wire.send(&bytes)?;
        self.wire.line()
    }
}

/// Length and `cas unique` of a `VALUE` line for `key`.
fn head(line: &[u8], key: &str) -> Option<(usize, Option<u64>)> {
    let rest = std::str::from_utf8(line).ok()?.strip_prefix("VALUE ")?.strip_prefix(key)?;
    let mut words = rest.strip_prefix(' ')?.split(' ');
    let (_flags, len) = (words.next()?, words.next()?.parse().ok()?);
    let unique = words.next().map(str::parse).transpose().ok()?;
    Some((len, unique))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_values() {
        for (line, want) in [
            ("VALUE key 0 12", Some((12, None))),
            ("VALUE key 0 12 345", Some((12, Some(345)))),
            ("VALUE other 0 12", None),
            ("VALUE keys 0 12", None),
            ("VALUE key 0", None),
            ("VALUE key 0 -1", None),
            ("VALUE key 0 1 x", None),
            ("SERVER_ERROR out of memory", None),
        ] {
            assert_eq!(head(line.as_bytes(), "key"), want, "{line}");
        }
    }
}
