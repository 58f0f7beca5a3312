//! Rules, and the first of a list that matches an address.

use crate::network_table::NetworkTable;
use crate::watched_file::WatchedFile;
use hayami_net::Network;
use hayami_net::service::Address;
use std::fmt;
use std::sync::Arc;

/// One rule of a list.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) effect: Effect,
    pub(super) subject: Subject,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Allow,
    Deny,
}

/// The clients to which a rule applies.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    All,
    /// Those on unix sockets.
    Unix,
    Network(Network),
    File(Arc<WatchedFile<NetworkTable>>),
}

impl Rule {
    /// Whether it would be the same without it, with no rule behind it that denies. `allow: all` says so itself.
    pub(super) fn is_idle(&self) -> bool {
        self.effect == Effect::Allow && !matches!(self.subject, Subject::All)
    }
}

impl fmt::Display for Rule {
    /// As it is written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.effect == Effect::Allow { "allow: " } else { "deny: " })?;
        match &self.subject {
            Subject::All => f.write_str("all"),
            Subject::Unix => f.write_str("unix:"),
            Subject::Network(network) => network.fmt(f),
            Subject::File(file) => write!(f, "{{file: {}}}", file.path().display()),
        }
    }
}

/// A list of rules, made for many of them: networks that stand together are searched together.
#[derive(Debug)]
pub(super) struct RuleTable {
    rules: Vec<Rule>,
    /// The networks between other rules, with the index of the first.
    tables: Vec<(usize, NetworkTable)>,
}

impl RuleTable {
    pub(super) fn new(rules: &[Rule]) -> Self {
        let mut tables = Vec::new();
        let mut index = 0;
        while index < rules.len() {
            let networks = rules[index..].iter().map_while(|rule| match &rule.subject {
                Subject::Network(network) => Some(*network),
                _ => None,
            });
            let networks: Vec<_> = networks.collect();
            let len = networks.len();
            if len > 0 {
                tables.push((index, networks.into_iter().collect()));
            }
            // What ended them is no network.
            index += len + 1;
        }
        Self { rules: rules.to_vec(), tables }
    }

    /// The files among the rules.
    pub(super) fn files(&self) -> impl Iterator<Item = &Arc<WatchedFile<NetworkTable>>> {
        self.rules.iter().filter_map(|rule| match &rule.subject {
            Subject::File(file) => Some(file),
            _ => None,
        })
    }

    /// The first rule that matches an address.
    pub(super) fn find(&self, client: &Address) -> Option<&Rule> {
        let mut tables = self.tables.iter().peekable();
        let mut index = 0;
        while index < self.rules.len() {
            if let Some((_, table)) = tables.next_if(|(first, _)| *first == index) {
                if let Address::Ip(client) = client
                    && let Some(place) = table.find(client.ip())
                {
                    return Some(&self.rules[index + place]);
                }
                index += table.len();
                continue;
            }
            let rule = &self.rules[index];
            if rule.subject.matches(client) {
                return Some(rule);
            }
            index += 1;
        }
        None
    }
}

impl Subject {
    fn matches(&self, client: &Address) -> bool {
        match (self, client) {
            (Self::All, _) | (Self::Unix, Address::Unix) => true,
            (Self::Network(network), Address::Ip(client)) => network.contains(client.ip()),
            (Self::File(file), Address::Ip(client)) => file.load().contains(client.ip()),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        let (effect, subject) = match text.split_once(' ').expect("an effect") {
            ("+", subject) => (Effect::Allow, subject),
            (_, subject) => (Effect::Deny, subject),
        };
        let subject = match subject {
            "all" => Subject::All,
            "unix:" => Subject::Unix,
            network => Subject::Network(network.parse().expect("a network")),
        };
        Rule { effect, subject }
    }

    /// The index of the rule that decides.
    fn deciding(rules: &[&str], client: &Address) -> Option<usize> {
        let rules: Vec<_> = rules.iter().map(|text| rule(text)).collect();
        let table = RuleTable::new(&rules);
        let found = table.find(client)?;
        table.rules.iter().position(|rule| std::ptr::eq(rule, found))
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let rules = ["- 10.0.0.7", "+ 10.0.0.0/8", "+ unix:", "- ::1", "+ 2001:db8::/32", "- all", "+ all"];
        for (client, want) in [
            ("10.0.0.7", 0),
            ("10.0.0.8", 1),
            ("::ffff:10.0.0.7", 0),
            ("::1", 3),
            ("2001:db8::7", 4),
            ("192.0.2.1", 5),
        ] {
            let ip: std::net::IpAddr = client.parse().expect(client);
            assert_eq!(deciding(&rules, &Address::Ip((ip, 4000).into())), Some(want), "{client}");
        }
        assert_eq!(deciding(&rules, &Address::Unix), Some(2));
    }

    #[test]
    fn what_no_rule_matches_is_not_decided() {
        let ip = Address::Ip(([192, 0, 2, 1], 1).into());
        assert_eq!(deciding(&["- 10.0.0.0/8", "- unix:"], &ip), None);
        assert_eq!(deciding(&["- 10.0.0.0/8", "- 0.0.0.0/0"], &Address::Unix), None);
        assert_eq!(deciding(&[], &ip), None);
    }
}
