//! Reads conditions from the keys `if` and `unless` of a directive.

use super::{Conditions, Criteria, Named};
use crate::address_set::AddressSet;
use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use crate::pattern;

/// The keys of a criteria mapping.
const KEYS: &[&str] = &["method", "address", "field", "query"];

const WANTED: &str = "a mapping of method, address, field or query, such as `{method: [GET, HEAD]}`";

impl Conditions {
    /// Reads the conditions in the mapping of a directive.
    ///
    /// # Errors
    /// An element is not a valid condition.
    pub(crate) fn read(directive: &Node) -> Result<Self, ConfigError> {
        let list = |key| alternatives(directive.get(key));
        Ok(Self { when: list("if")?, unless: list("unless")? })
    }
}

fn alternatives(node: Option<&Node>) -> Result<Vec<Criteria<String>>, ConfigError> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let nodes = node.one_or_many();
    if nodes.is_empty() {
        return Err(node.expected(WANTED));
    }
    nodes.into_iter().map(criteria).collect()
}

fn criteria(node: &Node) -> Result<Criteria<String>, ConfigError> {
    let pairs = node.mapping().map_err(|_| node.expected(WANTED))?;
    if pairs.is_empty() {
        return Err(node.expected(WANTED));
    }
    let mut criteria = Criteria::default();
    for (key, value) in pairs {
        match KEYS[key.one_of(KEYS)?] {
            "method" => criteria.methods = methods(value)?,
            "address" => criteria.addresses = Some(AddressSet::read(value)?),
            "field" => criteria.fields = patterns(value, field_name)?,
            _ => criteria.query = patterns(value, parameter_name)?,
        }
    }
    Ok(criteria)
}

fn methods(node: &Node) -> Result<Vec<Box<[u8]>>, ConfigError> {
    let nodes = node.one_or_many();
    if nodes.is_empty() {
        return Err(node.expected("a method such as GET, or a sequence of methods"));
    }
    nodes.into_iter().map(method).collect()
}

/// A method (RFC 9110 §9.1).
fn method(node: &Node) -> Result<Box<[u8]>, ConfigError> {
    let wanted = "a method such as GET";
    let text = node.token(wanted)?;
    if text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        let help = format!("methods are case-sensitive: write {}", text.to_ascii_uppercase());
        return Err(node.expected(wanted).help(help));
    }
    Ok(text.as_bytes().into())
}

/// Regular expressions by name.
fn patterns(
    node: &Node,
    name: fn(&Node) -> Result<Box<[u8]>, ConfigError>,
) -> Result<Vec<Named<String>>, ConfigError> {
    let wanted = "names with regular expressions, such as `{accept-language: ^de}`";
    let pairs = node.mapping().map_err(|_| node.expected(wanted))?;
    if pairs.is_empty() {
        return Err(node.expected(wanted));
    }
    let pair = |(key, value): &(Node, Node)| {
        let wanted = "a regular expression, such as `^de`; an empty one matches every value";
        let text = value.text().map_err(|_| value.expected(wanted))?;
        pattern::check(value, text)?;
        Ok(Named { name: name(key)?, pattern: text.to_owned() })
    };
    pairs.iter().map(pair).collect()
}

fn field_name(node: &Node) -> Result<Box<[u8]>, ConfigError> {
    let text = node.token("the name of a field, such as user-agent")?;
    // Over HTTP/2 a request may have `:authority` instead of Host.
    if text.eq_ignore_ascii_case("host") {
        return Err(node
            .error("`host` cannot be a condition")
            .help("requests are matched by host below `hosts`"));
    }
    Ok(text.as_bytes().into())
}

fn parameter_name(node: &Node) -> Result<Box<[u8]>, ConfigError> {
    node.text().map(|text| text.as_bytes().into()).map_err(|_| node.expected("the name of a parameter"))
}

#[cfg(test)]
mod tests {
    use crate::modules::test_support::error;

    #[test]
    fn errors_name_what_is_wrong() {
        let mapping = super::WANTED;
        for (conditions, want) in [
            ("if: GET", format!("expected {mapping}, found `GET`")),
            ("if: []", format!("expected {mapping}, found a sequence")),
            ("unless: {}", format!("expected {mapping}, found a mapping")),
            ("if: {host: a}", "expected one of method, address, field, query, found `host`".into()),
            (
                "if: {method: get}",
                "expected a method such as GET, found `get`; methods are case-sensitive: write GET".into(),
            ),
            ("if: {method: 'GET POST'}", "expected a method such as GET, found `GET POST`".into()),
            (
                "if: {address: localhost}",
                "expected an address, a network such as 10.0.0.0/8, or `unix:`, found `localhost`".into(),
            ),
            (
                "if: {field: cookie}",
                "expected names with regular expressions, such as `{accept-language: ^de}`, found `cookie`".into(),
            ),
            (
                "if: {field: {'a b': x}}",
                "expected the name of a field, such as user-agent, found `a b`".into(),
            ),
            (
                "if: {field: {Host: x}}",
                "`host` cannot be a condition; requests are matched by host below `hosts`".into(),
            ),
            (
                "if: {query: {a: '['}}",
                "invalid regular expression `[`: unclosed character class at character 1; write `\\[` for a literal \
                 bracket"
                    .into(),
            ),
        ] {
            assert_eq!(error(&format!("rewrite: {{to: /a, {conditions}}}")), want, "{conditions}");
        }
    }
}
