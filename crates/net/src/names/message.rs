//! Questions to name servers and their answers as they go over the wire (RFC 1035 §4). No sockets here.
//!
//! Whoever guesses id and port of a question could answer in the server's place (RFC 5452). So an answer has to repeat
//! the question, in upper and lower case as it was asked, where the server keeps them; and a record counts only if its
//! owner is the name that was asked for, or one that this is an alias of.

use super::Service;
use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, OPCODE, Packet, PacketFlag, QCLASS, QTYPE, RCODE, ResourceRecord, TYPE};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// Records of an answer that are taken; what comes behind them is left out.
const MOST_RECORDS: usize = 256;

/// Aliases of one answer that are followed.
const MOST_ALIASES: usize = 16;

/// Bytes of a header, the shortest question and the shortest record (RFC 1035 §4.1).
const HEADER: usize = 12;
const SHORTEST_QUESTION: usize = 5;
const SHORTEST_RECORD: usize = 11;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Addresses of IPv4.
    A,
    /// Addresses of IPv6.
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

/// A question.
#[derive(Clone, Debug)]
pub struct Question {
    id: u16,
    name: Name<'static>,
    kind: Kind,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// An address.
    Address(IpAddr),
    /// A server of a service.
    Service(Service),
}

/// An answer that fits its question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The records; none if there is no such name, or it has none.
    pub records: Vec<Record>,
    /// For how long all of this holds.
    pub ttl: Option<Duration>,
    /// The name is an alias, and this is the name that it stands for: the server has not said what is there.
    pub alias: Option<String>,
}

/// What a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The answer; and whether it repeats the question's upper and lower case.
    Answer(Answer, bool),
    /// There is more than fits into a datagram; and the same.
    Truncated(bool),
    /// The server cannot tell.
    Failed(String),
    /// No answer to this question: malformed, somebody else's, or forged.
    Foreign,
}

impl Question {
    /// A question of this id. Where `case` has a bit set, a letter is in upper case: as many bits as it has letters.
    ///
    /// # Errors
    /// The text is no name.
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

    /// The message that asks it.
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

    /// What a message says to the question.
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
        // A server that refuses need not repeat what it did not read.
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
        // Who recurses has followed the aliases to their end (RFC 1034 §5.3.1).
        if code == RCODE::NameError || packet.has_flags(PacketFlag::RECURSION_AVAILABLE) {
            answer.alias = None;
        }
        Reply::Answer(answer, exact)
    }

    /// Whether the message has this question and no other: `Some(true)` if in the same upper and lower case.
    fn is_repeated_in(&self, packet: &Packet<'_>) -> Option<bool> {
        let [question] = &packet.questions[..] else { return None };
        let same = question.qname == self.name
            && question.qtype == QTYPE::TYPE(self.kind.code())
            && question.qclass == QCLASS::CLASS(CLASS::IN)
            // A bit of the class that only multicast DNS gives another meaning (RFC 6762 §5.4).
            && !question.unicast_response;
        same.then(|| question.qname.as_bytes().eq(self.name.as_bytes()))
    }

    /// Follows aliases from the name that was asked for, and takes what belongs to the last of them.
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
        // An alias of an alias of an alias without end leads nowhere.
        Answer { alias: None, ..answer }
    }

    /// What a record says, if it is of the kind that was asked for.
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
    /// All of it holds as long as the record that holds shortest.
    fn holds_for(&mut self, record: &ResourceRecord<'_>) {
        let ttl = Duration::from_secs(u64::from(record.ttl));
        self.ttl = Some(self.ttl.map_or(ttl, |own| own.min(ttl)));
    }
}

/// Whether a record is of the class IN; the bit that multicast DNS uses is another class's (RFC 6762 §10.2).
fn is_internet(record: &ResourceRecord<'_>) -> bool {
    record.class == CLASS::IN && !record.cache_flush
}

/// Whether a name is made of what names of hosts are made of; the root is empty. Labels may hold any byte, and what is
/// odd would come into logs.
fn is_host(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Parses a message, unless it claims to have more than its length can hold.
fn parse(message: &[u8]) -> Option<Packet<'_>> {
    let count = |at: usize| Some(usize::from(u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?])));
    let records = count(6)? + count(8)? + count(10)?;
    let least = HEADER + count(4)? * SHORTEST_QUESTION + records * SHORTEST_RECORD;
    if least > message.len() { None } else { Packet::parse(message).ok() }
}

/// A response code as people know it.
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
