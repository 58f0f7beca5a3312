//! DNS queries and responses in wire format (RFC 1035 §4). No sockets.
//!
//! An attacker who guesses ID and port of a query could answer in the server's place (RFC 5452). So a response has to
//! repeat the question in its original letter case, where the server preserves it, and a record counts only if its
//! owner is the name in question or a name that this is an alias of.

use super::Service;
use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, OPCODE, Packet, PacketFlag, QCLASS, QTYPE, RCODE, ResourceRecord, TYPE};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// Records accepted from a response; further ones are ignored.
const MOST_RECORDS: usize = 256;

/// Aliases followed within one response.
const MOST_ALIASES: usize = 16;

/// Lengths of a header, the shortest question and the shortest record (RFC 1035 §4.1).
const HEADER: usize = 12;
const SHORTEST_QUESTION: usize = 5;
const SHORTEST_RECORD: usize = 11;

/// The record type of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// IPv4 addresses.
    A,
    /// IPv6 addresses.
    Aaaa,
    /// Services (RFC 2782).
    Srv,
}

impl Kind {
    fn code(self) -> TYPE {
        match self {
            Self::A => TYPE::A,
            Self::Aaaa => TYPE::AAAA,
            Self::Srv => TYPE::SRV,
        }
    }
}

/// A query.
#[derive(Clone, Debug)]
pub struct Question {
    id: u16,
    name: Name<'static>,
    kind: Kind,
}

/// A record of the requested type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// An address.
    Address(IpAddr),
    /// A server of a service.
    Service(Service),
}

/// The answer to a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The records; empty if the name does not exist or has no such records.
    pub records: Vec<Record>,
    /// How long all of this is valid.
    pub ttl: Option<Duration>,
    /// The name is an alias of this name, which the server has not resolved.
    pub alias: Option<String>,
}

/// Result of parsing a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The answer, and whether the letter case of the question was preserved.
    Answer(Answer, bool),
    /// The response was truncated; the flag is the same.
    Truncated(bool),
    /// The server failed.
    Failed(String),
    /// Not a response to this query: malformed, for another query, or spoofed.
    Foreign,
}

impl Question {
    /// A query with this ID. `case` has a bit for each letter; set bits make it upper case.
    ///
    /// # Errors
    /// The text is not a valid name.
    pub fn new(id: u16, name: &str, kind: Kind, case: impl Iterator<Item = bool>) -> io::Result<Self> {
        let odd = |what: &dyn fmt::Display| {
            io::Error::new(ErrorKind::InvalidInput, format!("`{name}` is not a valid host name: {what}"))
        };
        let mut case = case.chain(std::iter::repeat(false));
        let mixed = name.chars().map(|c| match c.is_ascii_alphabetic() && case.next() == Some(true) {
            true => c.to_ascii_uppercase(),
            false => c.to_ascii_lowercase(),
        });
        let mixed: String = mixed.collect();
        let parsed = Name::new(&mixed).map_err(|error| odd(&error))?;
        if parsed.get_labels().is_empty() {
            return Err(odd(&"it is empty"));
        }
        Ok(Self { id, name: parsed.into_owned(), kind })
    }

    /// The query in wire format.
    pub fn query(&self) -> Vec<u8> {
        let mut packet = Packet::new_query(self.id);
        packet.set_flags(PacketFlag::RECURSION_DESIRED);
        let class = QCLASS::CLASS(CLASS::IN);
        let question =
            simple_dns::Question::new(self.name.clone(), QTYPE::TYPE(self.kind.code()), class, false);
        packet.questions.push(question);
        // The name is within its limits, and nothing else could be too long.
        packet.build_bytes_vec().unwrap_or_default()
    }

    /// Parses a message as the response to this query.
    pub fn read(&self, message: &[u8]) -> Reply {
        let Some(packet) = parse(message) else { return Reply::Foreign };
        let is_response = packet.id() == self.id
            && packet.has_flags(PacketFlag::RESPONSE)
            && packet.opcode() == OPCODE::StandardQuery;
        if !is_response {
            return Reply::Foreign;
        }
        let code = packet.rcode();
        let is_known = matches!(code, RCODE::NoError | RCODE::NameError);
        // A server that fails need not repeat a question that it did not parse.
        if !is_known && packet.questions.is_empty() {
            return Reply::Failed(said(code));
        }
        let Some(exact) = self.is_repeated_in(&packet) else { return Reply::Foreign };
        if !is_known {
            return Reply::Failed(said(code));
        }
        if packet.has_flags(PacketFlag::TRUNCATION) {
            return Reply::Truncated(exact);
        }
        let mut answer = self.answer(&packet.answers);
        // A recursive server has followed the aliases to their end (RFC 1034 §5.3.1).
        if code == RCODE::NameError || packet.has_flags(PacketFlag::RECURSION_AVAILABLE) {
            answer.alias = None;
        }
        Reply::Answer(answer, exact)
    }

    /// Whether the message has exactly this question: `Some(true)` if the letter case is the same.
    fn is_repeated_in(&self, packet: &Packet<'_>) -> Option<bool> {
        let [question] = &packet.questions[..] else { return None };
        let same = question.qname == self.name
            && question.qtype == QTYPE::TYPE(self.kind.code())
            && question.qclass == QCLASS::CLASS(CLASS::IN)
            // A bit of the class that has another meaning only in multicast DNS (RFC 6762 §5.4).
            && !question.unicast_response;
        same.then(|| question.qname.as_bytes().eq(self.name.as_bytes()))
    }

    /// Follows aliases from the queried name, and takes the records of the last one.
    fn answer(&self, records: &[ResourceRecord<'_>]) -> Answer {
        let mut answer = Answer::default();
        let mut owner = &self.name;
        for _ in 0..=MOST_ALIASES {
            let own = records.iter().filter(|record| record.name == *owner && is_internet(record));
            let found: Vec<_> =
                own.clone().filter_map(|record| Some((self.wanted(record)?, record))).collect();
            if !found.is_empty() {
                for (found, record) in found.into_iter().take(MOST_RECORDS) {
                    answer.records.push(found);
                    answer.holds_for(record);
                }
                answer.alias = None;
                return answer;
            }
            let alias = own.into_iter().find_map(|record| match &record.rdata {
                RData::CNAME(target) => Some((&target.0, record)),
                _ => None,
            });
            let Some((target, record)) = alias else { return answer };
            answer.holds_for(record);
            answer.alias = Some(target.to_string());
            owner = target;
        }
        // The alias chain is too long or a loop.
        Answer { alias: None, ..answer }
    }

    /// The content of a record, if it is of the requested type.
    fn wanted(&self, record: &ResourceRecord<'_>) -> Option<Record> {
        match (self.kind, &record.rdata) {
            (Kind::A, RData::A(a)) => Some(Record::Address(Ipv4Addr::from(a.address).into())),
            (Kind::Aaaa, RData::AAAA(a)) => Some(Record::Address(Ipv6Addr::from(a.address).into())),
            (Kind::Srv, RData::SRV(srv)) => {
                let target = srv.target.to_string();
                let service = Service { priority: srv.priority, weight: srv.weight, port: srv.port, target };
                is_host(&service.target).then_some(Record::Service(service))
            }
            _ => None,
        }
    }
}

impl Answer {
    /// The whole answer is valid as long as its record with the lowest TTL.
    fn holds_for(&mut self, record: &ResourceRecord<'_>) {
        let ttl = Duration::from_secs(u64::from(record.ttl));
        self.ttl = Some(self.ttl.map_or(ttl, |own| own.min(ttl)));
    }
}

/// Whether a record is of class IN; with multicast DNS's cache-flush bit it is not (RFC 6762 §10.2).
fn is_internet(record: &ResourceRecord<'_>) -> bool {
    record.class == CLASS::IN && !record.cache_flush
}

/// Whether a name has only characters allowed in host names; the root is empty. Labels may hold any byte, and unusual
/// ones would end up in logs.
fn is_host(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Parses a message, unless its header announces more entries than its length can hold.
fn parse(message: &[u8]) -> Option<Packet<'_>> {
    let count = |at: usize| Some(usize::from(u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?])));
    let records = count(6)? + count(8)? + count(10)?;
    let least = HEADER + count(4)? * SHORTEST_QUESTION + records * SHORTEST_RECORD;
    if least > message.len() { None } else { Packet::parse(message).ok() }
}

/// The usual name of a response code.
fn said(code: RCODE) -> String {
    let name = match code {
        RCODE::FormatError => "FORMERR",
        RCODE::ServerFailure => "SERVFAIL",
        RCODE::NotImplemented => "NOTIMP",
        RCODE::Refused => "REFUSED",
        other => return format!("it returned {other:?}"),
    };
    format!("it returned {name}")
}
