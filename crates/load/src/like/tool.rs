//! The options of another load generator and their equivalents here.

/// Another load generator.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) options: &'static [Opt],
    /// Arguments for its defaults: added unless one of these options occurred.
    pub(super) defaults: &'static [(&'static [&'static str], &'static [&'static str])],
    /// The method of requests with content, if it is not POST.
    pub(super) method: Option<DefaultMethod>,
    /// With a duration, a number of requests has no effect.
    pub(super) duration_wins: bool,
    /// Options of several letters begin with one dash, and letters are not joined (Go's `flag`).
    pub(super) long_with_one_dash: bool,
}

/// The method of requests with content.
#[derive(Clone, Copy)]
pub(super) struct DefaultMethod {
    /// The options for content.
    pub(super) content: &'static [&'static str],
    /// The option that names a method.
    pub(super) named_by: &'static str,
    /// The method without it.
    pub(super) method: &'static str,
}

/// An option with its names and its translation.
pub(super) struct Opt {
    pub(super) names: &'static [&'static str],
    pub(super) does: Does,
}

/// The translation of an option.
pub(super) enum Does {
    /// Nothing: it changes the output only.
    Ignore,
    /// The same, with a value.
    IgnoreValue,
    /// The `hayami bench` option, with the value.
    Same(&'static str),
    /// These arguments; the option has no value.
    Flag(&'static [&'static str]),
    /// Arguments made from its value.
    Through(fn(&str) -> Result<Vec<String>, String>),
}

impl Does {
    pub(super) fn takes_value(&self) -> bool {
        matches!(self, Self::IgnoreValue | Self::Same(_) | Self::Through(_))
    }
}

impl Tool {
    pub(super) fn find(&self, name: &str) -> Option<&'static Opt> {
        self.options.iter().find(|option| option.names.contains(&name))
    }
}

pub(super) const fn opt(names: &'static [&'static str], does: Does) -> Opt {
    Opt { names, does }
}

pub(super) fn field(name: &str, value: &str) -> Vec<String> {
    vec!["-H".into(), format!("{name}: {value}")]
}

/// The Basic scheme (RFC 7617 §2): user, colon and password in base64 (RFC 4648 §4).
pub(super) fn basic(credentials: &str) -> Vec<String> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for bytes in credentials.as_bytes().chunks(3) {
        let group =
            bytes.iter().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte)) << (8 * (3 - bytes.len()));
        for place in 0..4 {
            match place <= bytes.len() {
                true => text.push(DIGITS[(group >> (18 - 6 * place) & 63) as usize] as char),
                false => text.push('='),
            }
        }
    }
    field("Authorization", &format!("Basic {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        for (text, coded) in [("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("user:pass", "dXNlcjpwYXNz")] {
            assert_eq!(basic(text)[1], format!("Authorization: Basic {coded}"));
        }
    }
}
