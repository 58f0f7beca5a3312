//! A limit as it is configured, with its account.

use super::account::Account;
use super::bound::Bound;
use super::exempt::Exempt;
use super::key::Key;
use hayami_http::Status;
use std::sync::{Arc, OnceLock};

/// One limit. The places of a configuration at which it holds share it.
#[derive(Debug)]
pub(super) struct Limit {
    pub(super) name: Name,
    pub(super) bound: Bound,
    pub(super) key: Key,
    /// How many keys are counted.
    pub(super) entries: usize,
    pub(super) status: Status,
    pub(super) exempt: Exempt,
    /// Requests that exceed it are only logged.
    pub(super) dry_run: bool,
    account: OnceLock<Arc<Account>>,
}

/// What tells the limits of a directive apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    /// `name`
    Given(Box<str>),
    /// Where it is written.
    Place(Box<str>),
}

impl Limit {
    pub(super) fn new(name: Name, bound: Bound, key: Key, entries: usize) -> Self {
        Self {
            name,
            bound,
            key,
            entries,
            status: Status::TOO_MANY_REQUESTS,
            exempt: Exempt::default(),
            dry_run: false,
            account: OnceLock::new(),
        }
    }

    /// What it has counted.
    #[inline]
    pub(super) fn account(&self) -> &Arc<Account> {
        self.account.get_or_init(|| Arc::new(Account::new(self.entries)))
    }

    /// Which one it is, over reloads.
    pub(super) fn id(&self) -> (&'static str, &Name) {
        (self.bound.directive(), &self.name)
    }

    /// After a reload: it goes on with the account of `before`, which is the same limit, if that counts by the same key.
    pub(super) fn take_over(&self, before: &Self) {
        let is_same = (&self.key, self.entries) == (&before.key, before.entries);
        if is_same {
            // Nothing has used it yet: there was no request for this generation.
            let _ = self.account.set(Arc::clone(before.account()));
        }
    }

    /// Whether both are configured in the same words.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let plain = |own: &Self| (own.name.clone(), own.bound.clone(), own.key.clone(), own.entries);
        plain(self) == plain(other)
            && (self.status, self.dry_run) == (other.status, other.dry_run)
            && self.exempt.is_like(&other.exempt)
    }

    /// Which one it is, for logs.
    pub(super) fn shown(&self) -> String {
        let directive = self.bound.directive();
        match &self.name {
            Name::Given(name) => format!("`{directive}` named {name}"),
            Name::Place(place) => format!("`{directive}` {place}"),
        }
    }

    /// Its name in `ratelimit` and `ratelimit-policy`: clients are not told how the configuration is made.
    pub(super) fn policy_name(&self) -> &str {
        match (&self.name, &self.bound) {
            (Name::Given(name), _) => name,
            (Name::Place(_), Bound::Requests { .. }) => "requests",
            (Name::Place(_), Bound::Connections { .. }) => "connections",
        }
    }
}
