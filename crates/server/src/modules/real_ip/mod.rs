//! `real-ip`: the client's address, as forwarded by trusted proxies.

mod forwarded;
mod node;
mod step;

use step::build;

use crate::address_set::AddressSet;
use crate::config::attribute::{self, Attribute};
use crate::config::directive::{Directive, Levels, Scope, group};
use crate::config::error::ConfigError;
use crate::config::feature_settings::FeatureSetting;
use crate::config::yaml::Node;
use crate::feature::Feature;
use hayami_http::field::is_token;
use std::sync::Arc;

/// Settings at one level of the configuration; `None`: the address is that of the connection.
#[derive(Clone, Debug, Default)]
pub struct Settings(Option<Arc<RealIp>>);

impl FeatureSetting for Settings {}

/// The trusted proxies, and the field they use.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RealIp {
    from: AddressSet,
    header: Header,
    /// Whether to skip further trusted proxies in the chain.
    recursive: bool,
}

/// The field that contains client addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Header {
    /// A list of addresses, by the field's name in lower case: `x-forwarded-for`, `x-real-ip`.
    List(Box<[u8]>),
    /// RFC 7239.
    Forwarded,
}

impl Default for RealIp {
    fn default() -> Self {
        let header = Header::List((*b"x-forwarded-for").into());
        Self { from: AddressSet::default(), header, recursive: true }
    }
}

/// This feature.
pub const FEATURE: Feature = Feature {
    early: Some(|route| build(route.inherited.get()).map(Ok)),
    ..Feature::new(&[group("The client's address", DIRECTIVES)])
};

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "real-ip",
    levels: Levels::GLOBAL_HOST_PATH,
    argument: "a mapping | OFF",
    default: "OFF",
    help: "Takes the client's address from a request field if the request comes from a trusted proxy. \
           `allow`, `deny`, logs, upstreams and applications then see this address instead of the proxy's.",
    set,
}];

/// The keys of the directive.
pub const ATTRIBUTES: &[Attribute<Written>] = &[
    Attribute {
        name: "from",
        argument: "addresses, networks and `unix:`",
        default: "",
        help: "The trusted proxies. Requests from other addresses keep the address of their connection.",
        set: |written, node| {
            written.0.from = AddressSet::read(node)?;
            Ok(())
        },
    },
    Attribute {
        name: "header",
        argument: "the name of a field",
        default: "x-forwarded-for",
        help: "`forwarded` is read as in RFC 7239, every other field as a list of addresses: \
               `x-forwarded-for`, `x-real-ip`, `cf-connecting-ip`.",
        set: |written, node| {
            written.0.header = header(node)?;
            Ok(())
        },
    },
    Attribute {
        name: "recursive",
        argument: "ON | OFF",
        default: "ON",
        help: "ON takes the last address in the field that is not a trusted proxy, OFF the last one.",
        set: |written, node| {
            written.0.recursive = node.on_off()?;
            Ok(())
        },
    },
];

/// The mapping as written.
#[derive(Default)]
pub struct Written(RealIp);

fn set(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    if node.is("OFF") || node.is("off") {
        *scope.inherited.get_mut::<Settings>() = Settings(None);
        return Ok(());
    }
    let mut written = Written::default();
    attribute::read(ATTRIBUTES, "real-ip", &mut written, node)?;
    if node.get("from").is_none() {
        let error = node.error("`from` is missing: the addresses of the proxies to trust");
        return Err(error.help("write `real-ip: {from: [10.0.0.0/8]}` with the addresses of your proxies"));
    }
    *scope.inherited.get_mut::<Settings>() = Settings(Some(Arc::new(written.0)));
    Ok(())
}

fn header(node: &Node) -> Result<Header, ConfigError> {
    let name = node.text()?.to_ascii_lowercase();
    match name.as_str() {
        "forwarded" => Ok(Header::Forwarded),
        "proxy-protocol" | "proxy_protocol" => {
            let error = node.error("the PROXY protocol is not a request field");
            Err(error.help(
                "write `proxy-protocol: {from: [10.0.0.2]}` in `listen`: its address is then the connection's",
            ))
        }
        name if is_token(name.as_bytes()) => Ok(Header::List(name.as_bytes().into())),
        _ => Err(node.expected("the name of a field, such as x-forwarded-for")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::test_support::{error, set};
    use hayami_net::service::Address;

    fn read(line: &str) -> RealIp {
        let settings = set(&[line]).inherited.get::<Settings>().clone();
        RealIp::clone(&settings.0.expect("it is on"))
    }

    #[test]
    fn settings_are_read() {
        let plain = read("real-ip: {from: 10.0.0.0/8}");
        assert_eq!(plain, RealIp { from: plain.from.clone(), ..RealIp::default() });
        assert!(plain.from.contains(&Address::Ip(([10, 1, 1, 1], 0).into())));
        assert!(!plain.from.contains(&Address::Unix));
        let full = read("real-ip: {from: [unix:, '::1'], header: Forwarded, recursive: OFF}");
        assert!(
            full.from.contains(&Address::Unix)
                && full.from.contains(&Address::Ip("[::1]:9".parse().unwrap()))
        );
        assert_eq!((full.header, full.recursive), (Header::Forwarded, false));
        let named = read("real-ip: {from: 'unix:', header: CF-Connecting-IP}");
        assert_eq!(named.header, Header::List((*b"cf-connecting-ip").into()));
        assert!(set(&["real-ip: {from: 10.0.0.1}", "real-ip: OFF"]).inherited.get::<Settings>().0.is_none());
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, want) in [
            ("real-ip: ON", "expected a mapping, such as `real-ip: {from: …}`, found `ON`"),
            (
                "real-ip: {header: x-real-ip}",
                "`from` is missing: the addresses of the proxies to trust; write `real-ip: {from: [10.0.0.0/8]}` \
                 with the addresses of your proxies",
            ),
            (
                "real-ip: {from: [proxy.internal]}",
                "`from`: expected an address, a network such as 10.0.0.0/8, or `unix:`, found `proxy.internal`",
            ),
            ("real-ip: {form: 10.0.0.1}", "unknown key `form` in `real-ip`; did you mean `from`?"),
            (
                "real-ip: {from: 10.0.0.1, header: 'a b'}",
                "`header`: expected the name of a field, such as x-forwarded-for, found `a b`",
            ),
            (
                "real-ip: {from: 10.0.0.1, header: proxy-protocol}",
                "the PROXY protocol is not a request field; write `proxy-protocol: {from: [10.0.0.2]}` in \
                 `listen`: its address is then the connection's",
            ),
        ] {
            assert_eq!(error(line), want, "{line}");
        }
    }
}
