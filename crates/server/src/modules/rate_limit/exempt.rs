//! Clients that a limit does not count.

use crate::address_file;
use crate::address_set::AddressSet;
use crate::config::directive::Scope;
use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};
use crate::network_table::NetworkTable;
use crate::watched_file::WatchedFile;
use hayami_net::service::Address;
use std::sync::Arc;

/// Addresses, and files of addresses.
#[derive(Clone, Debug, Default)]
pub(super) struct Exempt {
    addresses: AddressSet,
    pub(super) files: Vec<Arc<WatchedFile<NetworkTable>>>,
}

impl Exempt {
    pub(super) fn read(scope: &mut Scope<'_>, node: &Node) -> Result<Self, ConfigError> {
        let is_file = |node: &&Node| node.get("file").is_some();
        let (files, addresses): (Vec<_>, Vec<_>) = node.one_or_many().into_iter().partition(is_file);
        let files = files.into_iter().map(|node| file(scope, node)).collect::<Result<Vec<_>, _>>()?;
        let addresses = match addresses.is_empty() && !files.is_empty() {
            true => AddressSet::default(),
            false => {
                let addresses = addresses.into_iter().cloned().collect();
                AddressSet::read(&Node { at: node.at, value: Value::Sequence(addresses) })?
            }
        };
        Ok(Self { addresses, files })
    }

    pub(super) fn contains(&self, client: &Address) -> bool {
        let listed = |ip| self.files.iter().any(|file| file.load().contains(ip));
        self.addresses.contains(client) || matches!(client, Address::Ip(client) if listed(client.ip()))
    }

    /// Whether it was written in the same words.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let paths = |own: &Self| own.files.iter().map(|file| file.path().to_owned()).collect::<Vec<_>>();
        self.addresses == other.addresses && paths(self) == paths(other)
    }
}

fn file(scope: &mut Scope<'_>, node: &Node) -> Result<Arc<WatchedFile<NetworkTable>>, ConfigError> {
    let [(_, path)] = node.mapping()? else { return Err(node.expected("{file: PATH}")) };
    address_file::open(scope, path)
}
