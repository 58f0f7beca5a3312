//! The forms of `listen`: a port, `host:port`, a mapping.

use super::{Address, Host, HostPort, Listener, Options, UnixSocket, ssl};
use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};
use hayami_net::Network;
use hayami_net::proxy_protocol::Expectation;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads any form except a sequence; also returns warnings.
pub(super) fn listener(node: &Node) -> Result<(Listener, Vec<ConfigError>), ConfigError> {
    match &node.value {
        Value::Mapping(_) => mapping(node),
        Value::Scalar(_) => {
            let address = Address::Tcp(host_port(node)?);
            Ok((
                Listener {
                    at: node.at,
                    address,
                    options: Options::default(),
                    proxy_protocol: None,
                    ssl: None,
                },
                Vec::new(),
            ))
        }
        Value::Sequence(_) => Err(node.expected("a port, `host:port` or a mapping")),
    }
}

/// `port` or `host:port`
fn host_port(node: &Node) -> Result<HostPort, ConfigError> {
    let text = node.text()?;
    let wanted =
        || node.expected("a port, such as 80, or an address with a port, such as 127.0.0.1:80 or [::1]:80");
    if let Some(help) = text.split_whitespace().skip(1).find_map(nginx_parameter) {
        return Err(wanted().help(help));
    }
    if text.starts_with('/') || text.starts_with("unix:") {
        let path = text.trim_start_matches("unix:");
        return Err(wanted().help(format!("for a unix socket write `{{ type: unix, port: {path} }}`")));
    }
    match text.rsplit_once(':') {
        None => Ok(HostPort { host: Host::All, port: port(text).ok_or_else(wanted)? }),
        Some((name, digits)) => {
            let host = host(name).ok_or_else(wanted)?;
            Ok(HostPort { host, port: port(digits).ok_or_else(wanted)? })
        }
    }
}

/// The equivalent of a parameter of nginx's `listen`.
fn nginx_parameter(word: &str) -> Option<&'static str> {
    match word {
        "default_server" | "default" => Some("omit `default_server`: the first host is the default"),
        "ssl" => Some("for TLS write `{ port: 443, ssl: { certificate-file: FILE, key-file: FILE } }`"),
        "http2" => Some("omit `http2`: HTTP/2 is enabled by default"),
        "proxy_protocol" => Some("write `{ port: 80, proxy-protocol: ON }`"),
        _ => None,
    }
}

fn port(text: &str) -> Option<u16> {
    Node::scalar(text).integer(0..=65535).ok().and_then(|port| u16::try_from(port).ok())
}

/// An address, in brackets if it is IPv6, or a name; `*` means all addresses.
fn host(text: &str) -> Option<Host> {
    if text == "*" {
        return Some(Host::All);
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    if let Some(bare) = bare {
        return bare.parse().ok().map(|address| Host::Address(IpAddr::V6(address)));
    }
    if let Ok(address) = text.parse() {
        return Some(Host::Address(IpAddr::V4(address)));
    }
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (!text.is_empty() && text.bytes().all(letter)).then(|| Host::Name(text.to_owned()))
}

/// The keys of the mapping form.
const KEYS: &[&str] = &[
    "port",
    "host",
    "type",
    "cc",
    "initcwnd",
    "sndbuf",
    "rcvbuf",
    "owner",
    "group",
    "permission",
    "proxy-protocol",
    "ssl",
];

fn mapping(node: &Node) -> Result<(Listener, Vec<ConfigError>), ConfigError> {
    for (key, _) in node.mapping()? {
        check_key(key)?;
    }
    let kind = match node.get("type") {
        Some(kind) => kind.one_of(&["tcp", "unix", "quic"])?,
        None => 0,
    };
    let unix = kind == 1;
    for (key, _) in node.mapping()? {
        let of_unix = ["owner", "group", "permission"].iter().any(|name| key.is(name));
        let of_inet = ["host", "cc", "initcwnd"].iter().any(|name| key.is(name));
        if (of_unix && !unix) || (of_inet && unix) {
            let sockets = if unix { "is not supported for unix sockets" } else { "needs `type: unix`" };
            return Err(key.error(format!("`{}` {sockets}", key.text()?)));
        }
    }
    let address = match kind {
        1 => Address::Unix(unix_socket(node)?),
        2 => Address::Quic(inet(node)?),
        _ => Address::Tcp(inet(node)?),
    };
    let (ssl, warnings) = match node.mapping()?.iter().find(|(key, _)| key.is("ssl")) {
        Some((key, value)) => {
            let (ssl, warnings) = ssl::read(key, value)?;
            (Some(Box::new(ssl)), warnings)
        }
        None => (None, Vec::new()),
    };
    let (options, proxy_protocol) = (options(node)?, proxy_protocol(node, &address)?);
    Ok((Listener { at: node.at, address, options, proxy_protocol, ssl }, warnings))
}

fn proxy_protocol(node: &Node, address: &Address) -> Result<Option<Expectation>, ConfigError> {
    let own = node.mapping()?.iter().find(|(key, _)| key.is("proxy-protocol"));
    let Some((key, value)) = own else { return Ok(None) };
    let expectation = match &value.value {
        Value::Mapping(_) => Some(expectation(value, matches!(address, Address::Unix(_)))?),
        _ => {
            let on = value.on_off().map_err(|_| value.expected("ON, OFF, or {from, optional}"))?;
            on.then(Expectation::default)
        }
    };
    if expectation.is_some() && matches!(address, Address::Quic(_)) {
        return Err(key.error("`proxy-protocol` is not supported for QUIC"));
    }
    Ok(expectation)
}

/// `{from: [10.0.0.0/8], optional: ON}`
fn expectation(node: &Node, unix: bool) -> Result<Expectation, ConfigError> {
    let mut expectation = Expectation::default();
    for (key, value) in node.mapping()? {
        match key.one_of(&["from", "optional"])? {
            0 if unix => {
                let error = key.error("`from` is not supported for unix sockets");
                return Err(error.help("use `owner`, `group` and `permission` to restrict who may connect"));
            }
            0 => expectation.from = Some(networks(value)?),
            _ => expectation.optional = value.on_off()?,
        }
    }
    if expectation.optional && expectation.from.is_none() && !unix {
        // Otherwise every client could forge its address.
        let error = node.error("`optional: ON` requires `from`, the addresses whose headers are trusted");
        return Err(error.help("add `from: [10.0.0.2]` with the addresses of your load balancers"));
    }
    Ok(expectation)
}

fn networks(node: &Node) -> Result<Arc<[Network]>, ConfigError> {
    let wanted = "an address or a network, such as 10.0.0.2, 10.0.0.0/8 or 2001:db8::/32";
    let nodes = node.one_or_many();
    if nodes.is_empty() {
        return Err(node.expected(wanted));
    }
    let network = |node: &Node| node.text().ok().and_then(|text| text.parse().ok());
    nodes.into_iter().map(|node| network(node).ok_or_else(|| node.expected(wanted))).collect()
}

/// Rejects keys that are unknown or not supported yet.
fn check_key(key: &Node) -> Result<(), ConfigError> {
    let name = key.text()?;
    let later = |what: &str| {
        let error = key.error(format!("{what} is not supported yet in hayami {}", crate::config::VERSION));
        Err(error.help(format!("remove `{name}`, or terminate HTTP/3 in a server in front of hayami")))
    };
    match name {
        "quic" => later("QUIC tuning"),
        name if KEYS.contains(&name) => Ok(()),
        name => {
            let error = key.error(format!("unknown key `{name}` in `listen`"));
            Err(match crate::config::nearest::nearest(name, KEYS.iter().copied()) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help(format!("supported keys: {}", KEYS.join(", "))),
            })
        }
    }
}

fn needed<'n>(node: &'n Node, key: &str) -> Result<&'n Node, ConfigError> {
    node.get(key).ok_or_else(|| node.error(format!("`listen` needs `{key}`")))
}

fn inet(node: &Node) -> Result<HostPort, ConfigError> {
    let number = needed(node, "port")?;
    let port = number.text().ok().and_then(port).ok_or_else(|| {
        let error = number.expected("a port from 0 to 65535");
        if number.text().is_ok_and(|text| text.starts_with('/')) {
            return error.help("a path needs `type: unix`");
        }
        error
    })?;
    let Some(name) = node.get("host") else { return Ok(HostPort { host: Host::All, port }) };
    let text = name.text().unwrap_or("");
    // Unlike in `host:port`, an IPv6 address needs no brackets here.
    let host = text.parse().ok().map(Host::Address).or_else(|| host(text));
    Ok(HostPort { host: host.ok_or_else(|| name.expected("an address or a name"))?, port })
}

fn unix_socket(node: &Node) -> Result<UnixSocket, ConfigError> {
    let text = |key| node.get(key).map(|node| node.text().map(str::to_owned)).transpose();
    let path = needed(node, "port")?;
    // sun_path of sockaddr_un holds 108 bytes with the terminating NUL (unix(7)).
    let fits = |path: &&str| (1..108).contains(&path.len()) && !path.contains('\0');
    let path = path.text().ok().filter(fits).ok_or_else(|| path.expected("a path of at most 107 bytes"))?;
    Ok(UnixSocket {
        path: PathBuf::from(path),
        owner: text("owner")?,
        group: text("group")?,
        permission: node.get("permission").map(permission).transpose()?,
    })
}

fn permission(node: &Node) -> Result<u32, ConfigError> {
    let wanted = || node.expected("an octal permission, such as 0660");
    let text = node.text().map_err(|_| wanted())?;
    let digits = text.strip_prefix("0o").unwrap_or(text);
    if digits.starts_with('+') {
        return Err(wanted());
    }
    u32::from_str_radix(digits, 8).ok().filter(|mode| *mode <= 0o777).ok_or_else(wanted)
}

fn options(node: &Node) -> Result<Options, ConfigError> {
    let congestion = match node.get("cc") {
        Some(node) => Some(node.text()?.to_owned()),
        None => None,
    };
    let initial_window = match node.get("initcwnd") {
        Some(node) => u32::try_from(node.integer(1..=10_000)?).ok(),
        None => None,
    };
    let buffer = |key| node.get(key).map(|node| Ok(node.bytes_within(1..=0x7fff_ffff)? as usize)).transpose();
    Ok(Options {
        congestion,
        initial_window,
        send_buffer: buffer("sndbuf")?,
        receive_buffer: buffer("rcvbuf")?,
    })
}
