//! The `health-check` option.

use super::settings::Check;
use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};
use std::ops::RangeInclusive;

const KEYS: &[&str] = &["path", "interval", "timeout", "status", "rises", "falls", "host", "tcp"];
const WANTED: &str = "a path, TCP, OFF, or {path, host, status, interval, timeout, rises, falls}";

/// A path, `TCP`, `OFF`, or a mapping.
pub(super) fn read(node: &Node) -> Result<Option<Check>, ConfigError> {
    let mut check = Check::default();
    let Value::Mapping(pairs) = &node.value else {
        let text = node.text().map_err(|_| node.expected(WANTED))?;
        match text {
            "OFF" => return Ok(None),
            "TCP" | "tcp" => {}
            path if path.starts_with('/') => check.path = Some(self::path(node)?),
            _ => return Err(node.expected(WANTED)),
        }
        return Ok(Some(check));
    };
    let mut tcp = false;
    for (key, value) in pairs {
        match KEYS[key.one_of(KEYS)?] {
            "path" => check.path = Some(path(value)?),
            "host" => check.host = Some(host(value)?),
            "status" => {
                check.statuses = value.one_or_many().into_iter().map(statuses).collect::<Result<_, _>>()?
            }
            "interval" => check.interval = value.milliseconds(10)?,
            "timeout" => check.timeout = value.milliseconds(10)?,
            "rises" => check.rises = value.integer(1..=1000)? as u32,
            "falls" => check.falls = value.integer(1..=1000)? as u32,
            _ => tcp = value.one_of(&["NO", "YES", "OFF", "ON"])? % 2 == 1,
        }
    }
    match (&check.path, tcp) {
        (None, false) => Err(node.error("a health check requires a `path` or `tcp: YES`")),
        (Some(_), true) => Err(node.error("a health check must have a `path` or `tcp: YES`, not both")),
        _ => Ok(Some(check)),
    }
}

/// A path with or without a query, sent as is.
fn path(node: &Node) -> Result<String, ConfigError> {
    let text = node.text()?;
    match text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
        true => Ok(text.to_owned()),
        false => Err(node.expected("a path, such as `/health`")),
    }
}

fn host(node: &Node) -> Result<String, ConfigError> {
    let text = node.text()?;
    match hayami_http::split_authority(text.as_bytes()) {
        Some(_) => Ok(text.to_owned()),
        None => Err(node.expected("a host, with or without a port")),
    }
}

/// `200`, or `200-299`.
fn statuses(node: &Node) -> Result<RangeInclusive<u16>, ConfigError> {
    let wanted = || node.expected("a status from 100 to 599, or a range such as 200-299");
    let text = node.text().map_err(|_| wanted())?;
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let status = |text: &str| text.parse().ok().filter(|status| (100..=599).contains(status));
    match (status(first), status(last)) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        _ => Err(wanted()),
    }
}
