//! Sets of client or proxy addresses in a configuration.

use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};
use crate::network_table::NetworkTable;
use hayami_net::Network;
use hayami_net::service::Address;
use std::net::IpAddr;

/// Networks, and whether unix sockets are included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AddressSet {
    networks: NetworkTable,
    unix: bool,
}

impl AddressSet {
    /// Reads the addresses at `node`: one, or a sequence of them.
    ///
    /// # Errors
    /// There is no address, or an element is not an address.
    pub(crate) fn read(node: &Node) -> Result<Self, ConfigError> {
        let wanted = "an address, a network such as 10.0.0.0/8, or `unix:`";
        let (mut networks, mut unix) = (Vec::new(), false);
        for node in node.one_or_many() {
            if is_unix(node) {
                unix = true;
                continue;
            }
            networks.push(network(node, wanted)?);
        }
        if networks.is_empty() && !unix {
            return Err(node.expected(wanted));
        }
        Ok(Self { networks: networks.into_iter().collect(), unix })
    }

    /// Whether the set contains the address.
    pub(crate) fn contains(&self, address: &Address) -> bool {
        match address {
            Address::Ip(address) => self.networks.contains(address.ip()),
            Address::Unix => self.unix,
        }
    }
}

/// Reads the address or network at `node`.
///
/// # Errors
/// It is not an address or network; `wanted` describes what is allowed.
pub(crate) fn network(node: &Node, wanted: &str) -> Result<Network, ConfigError> {
    let text = node.text().unwrap_or_default();
    text.parse().map_err(|_| node.expected(wanted).help(instead_of(text)))
}

fn instead_of(text: &str) -> &'static str {
    let ip = |text: &str| text.split('/').next().and_then(|ip| ip.parse::<IpAddr>().ok());
    match ip(text) {
        _ if text.ends_with(';') => "remove the `;`",
        Some(IpAddr::V4(_)) => "the prefix length of an IPv4 network is a number from 0 to 32",
        Some(IpAddr::V6(_)) => "the prefix length of an IPv6 network is a number from 0 to 128",
        None => "",
    }
}

/// Whether the node is `unix:`. YAML reads `[unix:]` as a mapping.
pub(crate) fn is_unix(node: &Node) -> bool {
    match &node.value {
        Value::Mapping(pairs) => matches!(&pairs[..], [(key, value)] if key.is("unix") && value.is("")),
        _ => node.is("unix:") || node.is("unix"),
    }
}
