//! Which messages and records are accepted.

use super::{alias, answer, record};
use crate::names::message::{Answer, Kind, Question, Record, Reply};
use simple_dns::rdata::{A, AAAA, RData, SRV};
use simple_dns::{CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, RCODE, TYPE};
use std::iter;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

fn question(kind: Kind) -> Question {
    let case = [true, false, false, true].into_iter();
    Question::new(0x1234, "app.test", kind, case).expect("a name")
}

fn a<'a>(name: &'a str, ttl: u32, last: u8) -> simple_dns::ResourceRecord<'a> {
    record(name, ttl, RData::A(A { address: Ipv4Addr::new(10, 0, 0, last).into() }))
}

/// The reply to a query whose response has these records.
fn read(kind: Kind, fill: impl Fn(&mut Packet<'_>)) -> Reply {
    let question = question(kind);
    question.read(&answer(&question.query(), |_, reply| fill(reply)))
}

/// The last bytes of the addresses found, and the TTL in seconds.
fn found(fill: impl Fn(&mut Packet<'_>)) -> (Vec<u8>, Option<u64>) {
    let Reply::Answer(answer, true) = read(Kind::A, fill) else { panic!("no answer") };
    let last = |record: &Record| match record {
        Record::Address(IpAddr::V4(ip)) => ip.octets()[3],
        other => panic!("{other:?}"),
    };
    (answer.records.iter().map(last).collect(), answer.ttl.map(|ttl| ttl.as_secs()))
}

#[test]
fn letters_of_a_question_are_in_the_case_that_was_drawn() {
    assert_eq!(question(Kind::A).query()[12..22], *b"\x03App\x04Test\0");
    let plain = Question::new(1, "App.TEST", Kind::A, iter::empty()).expect("a name");
    assert_eq!(plain.query()[12..22], *b"\x03app\x04test\0");
    for odd in ["", ".", &"a".repeat(64), &"a.".repeat(128)] {
        assert!(Question::new(1, odd, Kind::A, iter::empty()).is_err(), "{odd}");
    }
}

#[test]
fn only_records_of_the_name_and_its_aliases_count() {
    /// The records of a response, the last bytes of the accepted addresses, and the TTL.
    type Case = (fn(&mut Packet<'_>), (&'static [u8], Option<u64>));
    let cases: [Case; 9] = [
        (|reply| reply.answers.push(a("APP.test", 9, 1)), (&[1], Some(9))),
        (|reply| reply.answers.push(a("evil.test", 9, 1)), (&[], None)),
        (|reply| reply.answers.extend([a("app.test", 9, 1), a("evil.test", 1, 2)]), (&[1], Some(9))),
        (|reply| reply.answers.push(a("app.test.evil", 9, 1)), (&[], None)),
        (|reply| reply.additional_records.push(a("app.test", 9, 1)), (&[], None)),
        (|reply| reply.name_servers.push(a("app.test", 9, 1)), (&[], None)),
        // In any order, through several aliases.
        (
            |reply| {
                reply.answers.extend([
                    a("c.test", 30, 3),
                    alias("b.test", 7, "c.test"),
                    alias("app.test", 60, "B.test"),
                ]);
            },
            (&[3], Some(7)),
        ),
        // Not behind an alias of an unrelated name.
        (|reply| reply.answers.extend([alias("evil.test", 9, "c.test"), a("c.test", 9, 3)]), (&[], None)),
        (
            |reply| {
                let other = simple_dns::ResourceRecord { class: CLASS::CH, ..a("app.test", 9, 1) };
                reply.answers.push(other);
            },
            (&[], None),
        ),
    ];
    for (index, (fill, (addresses, ttl))) in cases.into_iter().enumerate() {
        assert_eq!(found(fill), (addresses.to_vec(), ttl), "case {index}");
    }
}

#[test]
fn aliases_that_go_round_or_on_and_on_lead_nowhere() {
    let (none, _) = found(|reply| {
        reply.answers.extend([alias("app.test", 1, "b.test"), alias("b.test", 1, "app.test")]);
    });
    assert_eq!(none, [0; 0]);
    let names: Vec<_> =
        iter::once("app.test".to_owned()).chain((1..40).map(|n| format!("n{n}.test"))).collect();
    for (steps, want) in [(16, 1), (17, 0)] {
        let (addresses, _) = found(|reply| {
            for pair in names[..=steps].windows(2) {
                reply.answers.push(alias(pair[0].clone().leak(), 1, pair[1].clone().leak()));
            }
            reply.answers.push(a(names[steps].clone().leak(), 1, 1));
        });
        assert_eq!(addresses.len(), want, "{steps} steps");
    }
}

#[test]
fn an_alias_that_the_server_has_not_followed_is_told_unless_it_recurses() {
    let unfollowed = |fill: fn(&mut Packet<'_>)| {
        let reply = read(Kind::A, |reply| {
            reply.answers.push(alias("app.test", 5, "Real.test"));
            fill(reply);
        });
        let Reply::Answer(Answer { records, alias, .. }, true) = reply else { panic!("{reply:?}") };
        assert!(records.is_empty());
        alias
    };
    assert_eq!(unfollowed(|_| {}).as_deref(), Some("Real.test"));
    assert_eq!(unfollowed(|reply| reply.set_flags(PacketFlag::RECURSION_AVAILABLE)), None);
    assert_eq!(unfollowed(|reply| *reply.rcode_mut() = RCODE::NameError), None);
}

#[test]
fn many_records_are_cut_and_odd_names_of_servers_left_out() {
    let (addresses, _) = found(|reply| (0..300).for_each(|_| reply.answers.push(a("app.test", 1, 1))));
    assert_eq!(addresses.len(), 256);
    let reply = read(Kind::Srv, |reply| {
        for target in ["good-1._x.test", "evil\\010line.test", "a b.test"] {
            let target = Name::new(target).expect("a name");
            let srv = RData::SRV(SRV { priority: 1, weight: 2, port: 3, target });
            reply.answers.push(record("app.test", 5, srv));
        }
    });
    let Reply::Answer(Answer { records, .. }, true) = reply else { panic!("{reply:?}") };
    assert!(matches!(&records[..], [Record::Service(own)] if own.target == "good-1._x.test"), "{records:?}");
}

#[test]
fn what_does_not_repeat_the_question_is_foreign() {
    let question = question(Kind::Aaaa);
    let ip = RData::AAAA(AAAA { address: Ipv6Addr::LOCALHOST.into() });
    let good = answer(&question.query(), |_, reply| reply.answers.push(record("app.test", 5, ip.clone())));
    assert!(matches!(question.read(&good), Reply::Answer(answer, true) if answer.records.len() == 1));
    assert_eq!(question.read(&question.query()), Reply::Foreign, "the query is no answer");
    let changed = |change: &dyn Fn(&mut Packet<'_>)| {
        let mut packet = Packet::parse(&good).expect("a message");
        change(&mut packet);
        question.read(&packet.build_bytes_vec().expect("a message"))
    };
    let other = |name: &'static str, kind, class| {
        let name = Name::new(name).expect("a name");
        simple_dns::Question::new(name, QTYPE::TYPE(kind), QCLASS::CLASS(class), false)
    };
    let foreign: [&dyn Fn(&mut Packet<'_>); 6] = [
        &|packet| packet.set_id(0x1235),
        &|packet| packet.questions = vec![other("evil.test", TYPE::AAAA, CLASS::IN)],
        &|packet| packet.questions = vec![other("App.Test", TYPE::A, CLASS::IN)],
        &|packet| packet.questions = vec![other("App.Test", TYPE::AAAA, CLASS::CH)],
        &|packet| packet.questions.clear(),
        &|packet| packet.questions.push(other("App.Test", TYPE::AAAA, CLASS::IN)),
    ];
    for (index, change) in foreign.iter().enumerate() {
        assert_eq!(changed(*change), Reply::Foreign, "change {index}");
    }
    let folded = |packet: &mut Packet<'_>| packet.questions = vec![other("app.test", TYPE::AAAA, CLASS::IN)];
    assert!(matches!(changed(&folded), Reply::Answer(_, false)));
    let failed = |packet: &mut Packet<'_>| {
        packet.questions.clear();
        *packet.rcode_mut() = RCODE::ServerFailure;
    };
    assert_eq!(changed(&failed), Reply::Failed("it returned SERVFAIL".to_owned()));
}

#[test]
fn no_change_of_a_bit_makes_another_answer_of_the_header_or_the_question() {
    let question = question(Kind::A);
    let good = answer(&question.query(), |_, reply| reply.answers.push(a("app.test", 5, 1)));
    let Reply::Answer(right, true) = question.read(&good) else { panic!("no answer") };
    for length in 0..good.len() {
        assert!(!matches!(question.read(&good[..length]), Reply::Answer(own, _) if own == right), "{length}");
    }
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << bit;
            let reply = question.read(&bytes);
            let in_question = (12..12 + 10 + 4).contains(&at);
            if at < 2 || in_question {
                assert!(!matches!(reply, Reply::Answer(_, true)), "byte {at}, bit {bit}: {reply:?}");
            }
        }
    }
}

#[test]
fn a_message_that_claims_more_than_it_has_is_foreign() {
    let question = question(Kind::A);
    let mut bytes = answer(&question.query(), |_, _| {});
    for at in [6, 8, 10] {
        bytes[at..at + 2].copy_from_slice(&[0xff, 0xff]);
        assert_eq!(question.read(&bytes), Reply::Foreign);
        bytes[at..at + 2].copy_from_slice(&[0, 0]);
    }
    assert_eq!(question.read(&bytes), Reply::Answer(Answer::default(), true));
    let ttl = |seconds| read(Kind::A, |reply| reply.answers.push(a("app.test", seconds, 1)));
    let Reply::Answer(answer, _) = ttl(u32::MAX) else { panic!("no answer") };
    assert_eq!(answer.ttl, Some(Duration::from_secs(u64::from(u32::MAX))));
}
