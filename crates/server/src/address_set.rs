//! Addresses of clients or proxies, as configurations list them.

use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};
use crate::network_table::NetworkTable;
use hayami_net::Network;
use hayami_net::service::Address;

/// Networks, and whether unix sockets belong to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AddressSet {
    networks: NetworkTable,
    unix: bool,
}

impl AddressSet {
    /// Reads the addresses at `node`: one, or a sequence of them.
    ///
    /// # Errors
    /// There is none, or something is not an address.
    pub(crate) fn read(node: &Node) -> Result<Self, ConfigError> {
        let wanted = "an address, a network such as 10.0.0.0/8, or `unix:`";
        let (mut networks, mut unix) = (Vec::new(), false);
        for node in node.one_or_many() {
            if is_unix(node) {
                unix = true;
                continue;
            }
            let network = node.text().ok().and_then(|text| text.parse::<Network>().ok());
            networks.push(network.ok_or_else(|| node.expected(wanted))?);
        }
        if networks.is_empty() && !unix {
            return Err(node.expected(wanted));
        }
        Ok(Self { networks: networks.into_iter().collect(), unix })
    }

    /// Whether the address is one of them.
    pub(crate) fn contains(&self, address: &Address) -> bool {
        match address {
            Address::Ip(address) => self.networks.contains(address.ip()),
            Address::Unix => self.unix,
        }
    }
}

/// Whether `unix:` is written there. `[unix:]` is a mapping for YAML.
pub(crate) fn is_unix(node: &Node) -> bool {
    match &node.value {
        Value::Mapping(pairs) => matches!(&pairs[..], [(key, value)] if key.is("unix") && value.is("")),
        _ => node.is("unix:") || node.is("unix"),
    }
}
