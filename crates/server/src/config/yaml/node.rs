//! The tree: scalars, sequences, mappings, each with its position, and the methods to read them.

use crate::config::error::ConfigError;
use crate::config::nearest;
use crate::config::position::Position;
use hayami_http::field::is_token;
use std::ops::RangeInclusive;

/// A value with its position.
#[derive(Clone, Debug)]
pub struct Node {
    /// The position.
    pub at: Position,
    /// The value.
    pub value: Value,
}

/// The value of a node.
#[derive(Clone, Debug)]
pub enum Value {
    /// Text; null is the empty text.
    Scalar(String),
    /// A list.
    Sequence(Vec<Node>),
    /// Pairs in the order written; keys may repeat.
    Mapping(Vec<(Node, Node)>),
}

impl Node {
    /// A scalar without a position, for tests of setters.
    pub fn scalar(text: &str) -> Self {
        Self { at: Position::default(), value: Value::Scalar(text.to_owned()) }
    }

    /// The position of a scalar with this text, in this node or below it.
    pub fn find(&self, text: &str) -> Option<Position> {
        match &self.value {
            Value::Scalar(own) => (own == text).then_some(self.at),
            Value::Sequence(nodes) => nodes.iter().find_map(|node| node.find(text)),
            Value::Mapping(pairs) => pairs.iter().find_map(|(_, value)| value.find(text)),
        }
    }

    /// An error at this node.
    pub fn error(&self, message: impl Into<String>) -> ConfigError {
        ConfigError::new(self.at, message)
    }

    /// "Expected this, found that", at this node.
    pub fn expected(&self, what: &str) -> ConfigError {
        self.error(format!("expected {what}, found {}", self.found()))
    }

    /// A description of the value, for messages.
    fn found(&self) -> String {
        match &self.value {
            Value::Scalar(text) if text.is_empty() => "nothing".to_owned(),
            Value::Scalar(text) => format!("`{}`", short(text)),
            Value::Sequence(_) => "a sequence".to_owned(),
            Value::Mapping(_) => "a mapping".to_owned(),
        }
    }

    /// The text of a scalar; may be empty.
    pub fn text(&self) -> Result<&str, ConfigError> {
        match &self.value {
            Value::Scalar(text) => Ok(text),
            _ => Err(self.expected("a scalar")),
        }
    }

    /// The index in `names` of the scalar, ignoring case.
    pub fn one_of(&self, names: &[&str]) -> Result<usize, ConfigError> {
        let wanted = || self.expected(&format!("one of {}", names.join(", ")));
        let text = self.text().map_err(|_| wanted())?;
        names.iter().position(|name| name.eq_ignore_ascii_case(text)).ok_or_else(|| {
            match nearest::nearest(text, names.iter().copied()) {
                Some(name) => wanted().help(format!("did you mean `{name}`?")),
                None => wanted(),
            }
        })
    }

    /// `ON` or `OFF`, in any case.
    pub fn on_off(&self) -> Result<bool, ConfigError> {
        let text = self.text().map_err(|_| self.expected("ON or OFF"))?;
        let meant = match text.to_ascii_lowercase().as_str() {
            "on" => return Ok(true),
            "off" => return Ok(false),
            "true" | "yes" | "y" | "1" | "enable" | "enabled" => "ON",
            "false" | "no" | "n" | "0" | "disable" | "disabled" => "OFF",
            _ => return Err(self.expected("ON or OFF")),
        };
        Err(self.expected("ON or OFF").help(format!("write `{meant}`")))
    }

    /// An integer within `range`.
    pub fn integer(&self, range: RangeInclusive<u64>) -> Result<u64, ConfigError> {
        let what = match (*range.start(), *range.end()) {
            (0, u64::MAX) => "a whole number".to_owned(),
            (least, u64::MAX) => format!("an integer of at least {least}"),
            (least, most) => format!("an integer from {least} to {most}"),
        };
        let number = self.text().ok().and_then(whole);
        number.filter(|number| range.contains(number)).ok_or_else(|| self.expected(&what))
    }

    /// The elements of a sequence.
    pub fn sequence(&self) -> Result<&[Node], ConfigError> {
        match &self.value {
            Value::Sequence(nodes) => Ok(nodes),
            _ => Err(self.expected("a sequence")),
        }
    }

    /// The text of a node that must be a token, such as a method or a field name (RFC 9110 §5.6.2).
    pub fn token(&self, wanted: &str) -> Result<&str, ConfigError> {
        let text = self.text().ok().filter(|text| is_token(text.as_bytes()));
        text.ok_or_else(|| self.expected(wanted))
    }

    /// The elements of a sequence, or the node itself if it is not one: `expires: x` is `expires: [x]`.
    pub fn one_or_many(&self) -> Vec<&Node> {
        match &self.value {
            Value::Sequence(nodes) => nodes.iter().collect(),
            _ => vec![self],
        }
    }

    /// The pairs of a mapping, in the order written; keys may repeat.
    pub fn mapping(&self) -> Result<&[(Node, Node)], ConfigError> {
        match &self.value {
            Value::Mapping(pairs) => Ok(pairs),
            _ => Err(self.expected("a mapping")),
        }
    }

    /// The value of the first pair with this key, if this is a mapping that has one.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Value::Mapping(pairs) = &self.value else { return None };
        pairs.iter().find(|(name, _)| name.is(key)).map(|(_, value)| value)
    }

    /// The node on one line of YAML.
    pub fn flow(&self) -> String {
        match &self.value {
            Value::Scalar(text) => quoted(text),
            Value::Sequence(nodes) => {
                let nodes: Vec<_> = nodes.iter().map(Self::flow).collect();
                format!("[{}]", nodes.join(", "))
            }
            Value::Mapping(pairs) => {
                let pairs: Vec<_> =
                    pairs.iter().map(|(key, value)| format!("{}: {}", key.flow(), value.flow())).collect();
                format!("{{{}}}", pairs.join(", "))
            }
        }
    }

    /// Whether this is the scalar `text`.
    pub fn is(&self, text: &str) -> bool {
        matches!(&self.value, Value::Scalar(own) if own == text)
    }
}

/// Text as a scalar within brackets, quoted if it is ambiguous.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+()=;$~ ".contains(c);
    let inner = |c: char| plain(c) || "%*:@&!|'\"<>?^\\`#".contains(c);
    let safe = text.starts_with(|c: char| c.is_alphanumeric() || "/._(=;$~+".contains(c))
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && text.chars().all(inner);
    if safe { text.to_owned() } else { escaped(text) }
}

/// Text in double quotes (YAML 1.1 §9.1).
fn escaped(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() || c == '\u{feff}' => quoted.push_str(&format!("\\U{:08X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Text shortened for a message: on one line, with control characters escaped.
fn short(text: &str) -> String {
    let shown: String = text.chars().take(60).collect();
    let dots = if shown.len() < text.len() { "…" } else { "" };
    let control = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    shown.chars().map(control).collect::<String>() + dots
}

/// An integer of digits only: `parse` would also accept a plus sign.
pub(super) fn whole(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T: std::fmt::Debug>(result: Result<T, ConfigError>) -> String {
        let error = result.expect_err("an error");
        if error.help.is_empty() { error.message } else { format!("{}; {}", error.message, error.help) }
    }

    #[test]
    fn on_and_off_are_read_in_any_case_and_nothing_else_is() {
        for (text, want) in [("ON", true), ("On", true), ("off", false), ("OFF", false)] {
            assert_eq!(Node::scalar(text).on_off().unwrap(), want, "{text}");
        }
        for (text, want) in [
            ("true", "expected ON or OFF, found `true`; write `ON`"),
            ("No", "expected ON or OFF, found `No`; write `OFF`"),
            ("", "expected ON or OFF, found nothing"),
            ("often", "expected ON or OFF, found `often`"),
        ] {
            assert_eq!(message(Node::scalar(text).on_off()), want);
        }
    }

    #[test]
    fn an_integer_has_digits_only_and_keeps_to_its_range() {
        assert_eq!(Node::scalar("1024").integer(1..=1024).unwrap(), 1024);
        for text in ["", "+1", "-1", "1.5", "0x10", "0", "1025", "99999999999999999999", "1k"] {
            let node = Node::scalar(text);
            assert!(message(node.integer(1..=1024)).starts_with("expected an integer from 1 to 1024"));
        }
        assert_eq!(
            message(Node::scalar("0").integer(1..=u64::MAX)),
            "expected an integer of at least 1, found `0`"
        );
    }
}
