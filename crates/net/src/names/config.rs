//! Which name servers are queried, and for which names: resolv.conf(5), hosts(5).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Name servers and search rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Config {
    /// In query order.
    pub(super) servers: Vec<SocketAddr>,
    /// Domains appended to short names.
    search: Vec<String>,
    /// A name with at least this many dots is first looked up as it is (`ndots`).
    dots: usize,
}

/// The limit of the system's resolver (`MAXNS`).
const MOST_SERVERS: usize = 3;

impl Config {
    /// These servers, without a search list.
    pub(super) fn of(servers: &[SocketAddr]) -> Self {
        Self { servers: servers.to_vec(), search: Vec::new(), dots: 1 }
    }

    /// The system's configuration, which may change at any time.
    pub(super) fn of_system() -> Self {
        Self::read(&std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default())
    }

    fn read(text: &str) -> Self {
        let mut config = Self::of(&[]);
        for line in text.lines() {
            let mut words = line.split(['#', ';']).next().unwrap_or_default().split_whitespace();
            match words.next() {
                Some("nameserver") => {
                    // Addresses with an interface, `fe80::1%eth0`, are not supported.
                    let ip = words.next().and_then(|word| word.parse::<IpAddr>().ok());
                    config.servers.extend(ip.map(|ip| SocketAddr::new(ip, 53)));
                }
                Some("search" | "domain") => config.search = words.map(str::to_owned).collect(),
                Some("options") => {
                    let mut dots = words.filter_map(|word| word.strip_prefix("ndots:")?.parse().ok());
                    config.dots = dots.next_back().unwrap_or(config.dots);
                }
                _ => {}
            }
        }
        config.servers.truncate(MOST_SERVERS);
        if config.servers.is_empty() {
            config.servers.push((Ipv4Addr::LOCALHOST, 53).into());
        }
        config
    }

    /// The fully qualified names that a name may stand for, in lookup order.
    pub(super) fn candidates(&self, name: &str) -> Vec<String> {
        if let Some(whole) = name.strip_suffix('.') {
            return vec![whole.to_owned()];
        }
        let longer = self.search.iter().map(|domain| format!("{name}.{}", domain.trim_end_matches('.')));
        let mut names: Vec<_> = longer.collect();
        let at = if name.matches('.').count() >= self.dots { 0 } else { names.len() };
        names.insert(at, name.to_owned());
        names
    }
}

/// Whether the name is in /etc/hosts.
pub(super) fn is_in_hosts(host: &str) -> bool {
    std::fs::read_to_string("/etc/hosts").is_ok_and(|text| has_host(&text, host.trim_end_matches('.')))
}

fn has_host(text: &str, host: &str) -> bool {
    let mut lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.any(|line| line.split_whitespace().skip(1).any(|name| name.eq_ignore_ascii_case(host)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_file_says_whom_to_ask_for_which_names() {
        let text = "# mine\ndomain old\nsearch a.example b.example. # two\nnameserver 10.0.0.1\nnameserver ::1\n\
                    nameserver fe80::1%eth0\noptions timeout:1 ndots:2\n";
        let config = Config::read(text);
        assert_eq!(config.servers, ["10.0.0.1:53".parse().expect("one"), "[::1]:53".parse().expect("one")]);
        let cases: [(&str, &[&str]); 4] = [
            ("app", &["app.a.example", "app.b.example", "app"]),
            ("app.x", &["app.x.a.example", "app.x.b.example", "app.x"]),
            ("app.x.y", &["app.x.y", "app.x.y.a.example", "app.x.y.b.example"]),
            ("app.", &["app"]),
        ];
        for (name, want) in cases {
            assert_eq!(config.candidates(name), want, "{name}");
        }
        assert_eq!(Config::read("").servers, ["127.0.0.1:53".parse().expect("one")]);
        assert_eq!(Config::read("").candidates("app"), ["app"]);
        let many: String = (1..9).map(|number| format!("nameserver 10.0.0.{number}\n")).collect();
        assert_eq!(Config::read(&many).servers.len(), MOST_SERVERS);
    }

    #[test]
    fn names_of_the_hosts_file_are_found_and_addresses_are_not_names() {
        let text = "127.0.0.1 localhost # app\n10.0.0.1\tDB.example db\n";
        for (name, want) in [("localhost", true), ("db", true), ("db.EXAMPLE", true), ("app", false)] {
            assert_eq!(has_host(text, name), want, "{name}");
        }
        assert!(!has_host(text, "10.0.0.1"));
    }
}
