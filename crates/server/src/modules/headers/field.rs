//! Validated field lines, field names and cookie names of a configuration.

use crate::config::error::ConfigError;
use crate::config::yaml::Node;

/// A field line, name in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::modules) struct Line {
    pub(super) name: Vec<u8>,
    pub(super) value: Vec<u8>,
}

/// Names that a configuration may not change, in lower case.
pub(in crate::modules) type Ours = [&'static str];

/// In responses: fields of the connection (RFC 9110 §7.6.1), of the framing (RFC 9112 §6), and those that the protocol
/// engine adds to every response.
pub(super) const OF_RESPONSES: &Ours = &[
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "proxy-connection",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];

/// `Name: value`.
pub(in crate::modules) fn line(node: &Node, ours: &Ours) -> Result<Line, ConfigError> {
    let wanted = || node.expected("`Name: value`");
    let (name, value) =
        node.text()?.split_once(':').filter(|(name, _)| !name.trim().is_empty()).ok_or_else(wanted)?;
    let value = value.trim_matches([' ', '\t']);
    // A field value consists of visible bytes, spaces and tabs (RFC 9110 §5.5): anything else could end the line.
    if value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
        return Err(node.error("a field value must not contain line breaks or other control characters"));
    }
    Ok(Line { name: field_name(node, name.trim(), ours)?, value: value.as_bytes().to_vec() })
}

/// Names of fields, in lower case.
pub(in crate::modules) fn names(nodes: &[&Node], ours: &Ours) -> Result<Vec<Vec<u8>>, ConfigError> {
    nodes.iter().map(|node| field_name(node, node.text()?.trim(), ours)).collect()
}

/// Names of cookies, whose case matters (RFC 6265 §5.4).
pub(in crate::modules) fn cookies(nodes: &[&Node]) -> Result<Vec<Vec<u8>>, ConfigError> {
    nodes.iter().map(|node| Ok(token(node, node.text()?.trim(), "cookie")?.to_vec())).collect()
}

fn field_name(node: &Node, text: &str, ours: &Ours) -> Result<Vec<u8>, ConfigError> {
    let name = token(node, text, "field")?.to_ascii_lowercase();
    match ours.iter().find(|ours| ours.as_bytes() == name) {
        None => Ok(name),
        Some(ours) => {
            let error = node.error(format!("`{ours}` is set by the server and cannot be changed"));
            Err(match *ours {
                "server" => error.help("see send-server-name"),
                "host" => error.help("see proxy.header.set"),
                _ => error,
            })
        }
    }
}

/// A token (RFC 9110 §5.6.2).
fn token<'a>(node: &Node, text: &'a str, what: &str) -> Result<&'a [u8], ConfigError> {
    if text.is_empty() {
        return Err(node.expected("a name"));
    }
    match text.chars().find(|c| !c.is_ascii_alphanumeric() && !"!#$%&'*+-.^_`|~".contains(*c)) {
        Some(odd) => {
            let odd = odd.escape_debug();
            Err(node.error(format!("`{text}` is not a valid name of a {what}: it contains `{odd}`")))
        }
        None => Ok(text.as_bytes()),
    }
}
