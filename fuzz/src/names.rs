//! The target of answers of name servers.

use crate::Decisions;
use hayami_net::names::message::{Answer, Kind, Question, Record, Reply};

/// Records of an answer that count.
const MOST_RECORDS: usize = 256;

/// Whatever a server sends: records are of the kind that was asked for, and not too many; an alias is
/// returned only where there are no records; names go into logs, so they are text; and a message counts only
/// if it begins as an answer to this question, and is complete.
pub fn dns_answer(bytes: &[u8]) {
    let mut decisions = Decisions::of(bytes);
    let first = decisions.next();
    let kind = [Kind::A, Kind::Aaaa, Kind::Srv][usize::from(first % 3)];
    let question = Question::new(0x1234, "_a.b-c.test", kind, std::iter::empty()).expect("a name");
    let rest = bytes.get(1..).unwrap_or_default();
    // Without that, a fuzzer would have to guess the question.
    let begun = if first & 0x80 == 0 { begin(&question, rest) } else { rest.to_vec() };
    let reply = question.read(&begun);
    assert_eq!(question.read(&begun), reply);
    if reply != Reply::Foreign {
        assert!(begun.starts_with(&[0x12, 0x34]) && begun[2] & 0xf8 == 0x80, "another answer");
    }
    if let Reply::Answer(answer, exact) = &reply {
        assert!(!*exact || begun[12..].starts_with(&question.query()[12..]), "not the question");
        check(kind, answer);
    }
}

/// A response of which `rest` has the second byte of flags, the number of answers and what follows the question.
fn begin(question: &Question, rest: &[u8]) -> Vec<u8> {
    let mut message = question.query();
    let mut decisions = Decisions::of(rest);
    message[2] = 0x80 | decisions.next() & 7;
    message[3] = decisions.next();
    message[7] = decisions.next();
    message.extend_from_slice(rest.get(3..).unwrap_or_default());
    message
}

fn check(kind: Kind, answer: &Answer) {
    assert!(answer.records.len() <= MOST_RECORDS);
    assert!(answer.alias.is_none() || answer.records.is_empty());
    assert!(answer.ttl.is_some() || answer.records.is_empty() && answer.alias.is_none());
    for record in &answer.records {
        match (kind, record) {
            (Kind::A, Record::Address(ip)) => assert!(ip.is_ipv4()),
            (Kind::Aaaa, Record::Address(ip)) => assert!(ip.is_ipv6()),
            (Kind::Srv, Record::Service(service)) => {
                let is_odd = |c: char| c.is_control() || c.is_whitespace();
                assert!(!service.target.contains(is_odd), "{:?}", service.target);
            }
            (kind, record) => panic!("{record:?} for {kind:?}"),
        }
    }
}
