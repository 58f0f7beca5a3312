//! The keys of `limit.requests` and `limit.connections`, and the limit that they make.

use super::bound::Bound;
use super::exempt::Exempt;
use super::key::{Key, KeyKind, Prefix};
use super::limit::{Limit, Name};
use super::rate::{Gcra, Rate};
use crate::config::attribute::{self, Attribute};
use crate::config::directive::Scope;
use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use hayami_http::Status;
use std::ops::RangeInclusive;

/// What is written in the mapping.
#[derive(Default)]
pub struct Written {
    rate: Option<Rate>,
    burst: u64,
    delay: Delay,
    max: Option<u64>,
    key: KeyKind,
    prefix: Option<Prefix>,
    status: Option<Status>,
    exempt: Option<Node>,
    dry_run: bool,
    entries: Option<usize>,
    name: Option<Box<str>>,
}

/// Which requests within the burst wait.
#[derive(Clone, Copy, Default)]
enum Delay {
    #[default]
    Off,
    On,
    /// Those above so many.
    Above(u64),
}

/// Which directive is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Requests,
    Connections,
}

impl Kind {
    pub(super) fn directive(self) -> &'static str {
        match self {
            Self::Requests => "limit.requests",
            Self::Connections => "limit.connections",
        }
    }

    fn attributes(self) -> &'static [Attribute<Written>] {
        match self {
            Self::Requests => REQUESTS,
            Self::Connections => CONNECTIONS,
        }
    }
}

/// As many requests at once, or keys, as make sense: nanoseconds of a rate of 1/h still fit 64 bits.
const MANY: RangeInclusive<u64> = 1..=1_000_000;

/// Keys that are counted by default: 3.2 MB.
const ENTRIES: usize = 100_000;

/// The keys of `limit.requests`.
pub const REQUESTS: &[Attribute<Written>] = &[
    Attribute {
        name: "rate",
        argument: "N/s, N/m or N/h",
        default: "",
        help: "How many requests a key may make in a second, a minute or an hour, evenly spread.",
        set: |written, node| {
            written.rate = Some(Rate::read(node)?);
            Ok(())
        },
    },
    Attribute {
        name: "burst",
        argument: "a number",
        default: "0",
        help: "How many requests above the rate are accepted at once; as many become free again at the rate.",
        set: |written, node| {
            written.burst = node.integer(0..=*MANY.end())?;
            Ok(())
        },
    },
    Attribute {
        name: "delay",
        argument: "ON | OFF | a number",
        default: "OFF",
        help: "ON: requests within the burst wait until they fit the rate. A number: so many of them are served at \
               once, the others wait.",
        set: |written, node| {
            written.delay = delay(node)?;
            Ok(())
        },
    },
    KEY,
    PREFIX,
    STATUS,
    EXEMPT,
    DRY_RUN,
    ENTRIES_ROW,
    NAME,
];

/// The keys of `limit.connections`.
pub const CONNECTIONS: &[Attribute<Written>] = &[
    Attribute {
        name: "max",
        argument: "a number",
        default: "",
        help: "How many requests of a key may be served at once.",
        set: |written, node| {
            written.max = Some(node.integer(MANY)?);
            Ok(())
        },
    },
    KEY,
    PREFIX,
    STATUS,
    EXEMPT,
    DRY_RUN,
    ENTRIES_ROW,
    NAME,
];

const KEY: Attribute<Written> = Attribute {
    name: "key",
    argument: "`client`, `host`, `path`, `{field: NAME}` or `{cookie: NAME}`",
    default: "client",
    help: "By what requests are counted: the client's address (corrected by `real-ip`), the configured host, the \
           configured path, or the value of a field or cookie. Requests without the field or cookie, or with \
           several, are counted by client.",
    set: |written, node| {
        written.key = KeyKind::read(node)?;
        Ok(())
    },
};

const PREFIX: Attribute<Written> = Attribute {
    name: "prefix",
    argument: "prefix lengths of IPv4 and IPv6",
    default: "[32, 64]",
    help: "Clients whose addresses agree in so many bits count as one.",
    set: |written, node| {
        written.prefix = Some(Prefix::read(node)?);
        Ok(())
    },
};

const STATUS: Attribute<Written> = Attribute {
    name: "status",
    argument: "a status from 400 to 599",
    default: "429",
    help: "What clients get above the limit, with `retry-after`, `ratelimit` and `ratelimit-policy`.",
    set: |written, node| {
        let code = node.integer(400..=599)?;
        written.status = u16::try_from(code).ok().and_then(Status::new);
        Ok(())
    },
};

const EXEMPT: Attribute<Written> = Attribute {
    name: "exempt",
    argument: "addresses, networks, `unix:` and {file: PATH}",
    default: "",
    help: "Clients that are not counted. Files are those of `allow`.",
    set: |written, node| {
        written.exempt = Some(node.clone());
        Ok(())
    },
};

const DRY_RUN: Attribute<Written> = Attribute {
    name: "dry-run",
    argument: "ON | OFF",
    default: "OFF",
    help: "With ON, requests above the limit are logged and served.",
    set: |written, node| {
        written.dry_run = node.on_off()?;
        Ok(())
    },
};

const ENTRIES_ROW: Attribute<Written> = Attribute {
    name: "entries",
    argument: "a number",
    default: "100000",
    help: "How many keys are counted, with 32 bytes each. If there are more, `limit.requests` forgets the key that \
           has been idle for the longest time, and `limit.connections` rejects new ones.",
    set: |written, node| {
        written.entries = usize::try_from(node.integer(100..=10_000_000)?).ok();
        Ok(())
    },
};

const NAME: Attribute<Written> = Attribute {
    name: "name",
    argument: "a name",
    default: "",
    help: "Limits of the same name at several places are one and count together; they have to be written in the same \
           way. Clients see the name.",
    set: |written, node| {
        written.name = Some(node.token("a name without blanks, such as login")?.into());
        Ok(())
    },
};

fn delay(node: &Node) -> Result<Delay, ConfigError> {
    if node.text().is_ok_and(|text| text.starts_with(|c: char| c.is_ascii_digit())) {
        return node.integer(MANY).map(Delay::Above);
    }
    let on = node.on_off().map_err(|_| node.expected("ON, OFF or a number of requests"))?;
    Ok(if on { Delay::On } else { Delay::Off })
}

/// Reads a limit that is written at `place`.
pub(super) fn read(
    scope: &mut Scope<'_>,
    node: &Node,
    kind: Kind,
    place: &str,
) -> Result<Limit, ConfigError> {
    nginx_words(node, kind)?;
    let mut written = Written::default();
    attribute::read(kind.attributes(), kind.directive(), &mut written, node)?;
    let bound = match kind {
        Kind::Requests => written.requests(node)?,
        Kind::Connections => written.connections(node)?,
    };
    let key = Key { prefix: written.checked_prefix(node)?, kind: written.key };
    let name = written.name.map_or_else(|| Name::Place(place.into()), Name::Given);
    let exempt = match &written.exempt {
        Some(node) => Exempt::read(scope, node)
            .map_err(|error| ConfigError { message: format!("`exempt`: {}", error.message), ..error })?,
        None => Exempt::default(),
    };
    let mut limit = Limit::new(name, bound, key, written.entries.unwrap_or(ENTRIES));
    limit.status = written.status.unwrap_or(limit.status);
    (limit.exempt, limit.dry_run) = (exempt, written.dry_run);
    Ok(limit)
}

/// What users of nginx may write.
fn nginx_words(node: &Node, kind: Kind) -> Result<(), ConfigError> {
    if let Some(nodelay) = node.get("nodelay") {
        let error = nodelay.error("`nodelay` is the default: requests within the burst are served at once");
        return Err(error.help("leave it out; `delay: ON` makes them wait"));
    }
    let Ok(text) = node.text() else { return Ok(()) };
    let error = || node.expected("a mapping, a sequence of mappings or OFF");
    match kind {
        Kind::Requests if text.contains('=') => {
            Err(error().help("write `limit.requests: {rate: 5/s, burst: 10}`"))
        }
        Kind::Connections if text.parse::<u64>().is_ok() => {
            Err(error().help(format!("write `limit.connections: {{max: {text}}}`")))
        }
        _ => Ok(()),
    }
}

impl Written {
    fn requests(&self, node: &Node) -> Result<Bound, ConfigError> {
        let Some(rate) = self.rate else {
            let error = node.error("`rate` is missing: how many requests are accepted in which time");
            return Err(error.help("write `limit.requests: {rate: 5/s, burst: 10}`"));
        };
        let at = node.get("delay").unwrap_or(node);
        let undelayed = match self.delay {
            Delay::Off => self.burst,
            Delay::Above(number) if number >= self.burst => {
                let text = format!("`delay: {number}` delays no request: `burst` is {}", self.burst);
                return Err(at.error(text).help("write a `burst` that is greater"));
            }
            Delay::On if self.burst == 0 => {
                let error = at.error("`delay` has no effect without `burst`: only requests within it wait");
                return Err(error.help("write `burst: 10` as well"));
            }
            Delay::On => 0,
            Delay::Above(number) => number,
        };
        let gcra = Gcra::new(rate, self.burst, undelayed);
        Ok(Bound::Requests { rate, burst: self.burst, gcra })
    }

    fn connections(&self, node: &Node) -> Result<Bound, ConfigError> {
        let error = || node.error("`max` is missing: how many requests of a key are served at once");
        let max = self.max.ok_or_else(|| error().help("write `limit.connections: {max: 100}`"))?;
        Ok(Bound::Connections { max })
    }

    fn checked_prefix(&self, node: &Node) -> Result<Prefix, ConfigError> {
        if self.prefix.is_some() && matches!(self.key, KeyKind::Host | KeyKind::Path) {
            let at = node.get("prefix").unwrap_or(node);
            return Err(at.error("`prefix` has no effect: this key does not count clients"));
        }
        Ok(self.prefix.unwrap_or_default())
    }
}
