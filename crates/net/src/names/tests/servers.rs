//! Name servers, well-behaved and not, over sockets.

use super::{alias, answer, record};
use crate::names::config::Config;
use crate::names::is_temporary;
use simple_dns::rdata::{A, AAAA, RData, SRV};
use simple_dns::{Name, Packet, PacketFlag, QTYPE, Question, RCODE, TYPE};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The datagrams sent in response to a query.
type Datagrams = Box<dyn Fn(&[u8]) -> Vec<Vec<u8>> + Send>;

/// A local server. Without `tcp` it supports UDP only.
struct Fake {
    address: SocketAddr,
    /// Number of TCP connections.
    connections: Arc<AtomicUsize>,
}

impl Fake {
    fn start(udp: Datagrams, tcp: Option<fn(TcpStream)>) -> Self {
        let (listener, socket) = both_at_one_port();
        let address = socket.local_addr().expect("bound");
        std::thread::spawn(move || {
            let mut bytes = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut bytes) {
                for datagram in udp(&bytes[..length]) {
                    let _ = socket.send_to(&datagram, from);
                }
            }
        });
        let connections = Arc::new(AtomicUsize::new(0));
        if let Some(tcp) = tcp {
            let connections = Arc::clone(&connections);
            std::thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    connections.fetch_add(1, Ordering::SeqCst);
                    tcp(stream);
                }
            });
        }
        Self { address, connections }
    }

    fn config(&self) -> Config {
        Config::of(&[self.address])
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Checks that all four addresses of `app.test` are found.
    fn finds_all(&self) {
        assert_eq!(self.config().addresses("app.test", 80).expect("found").items.len(), 4);
    }
}

fn both_at_one_port() -> (TcpListener, UdpSocket) {
    loop {
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        if let Ok(udp) = UdpSocket::bind(tcp.local_addr().expect("bound")) {
            return (tcp, udp);
        }
    }
}

/// Reads a query over TCP.
fn query_of(stream: &mut TcpStream) -> Vec<u8> {
    let mut length = [0; 2];
    stream.read_exact(&mut length).expect("a length");
    let mut query = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut query).expect("a query");
    query
}

fn honest_tcp(mut stream: TcpStream) {
    let reply = answer(&query_of(&mut stream), hosts);
    let length = (reply.len() as u16).to_be_bytes();
    stream.write_all(&[&length[..], &reply].concat()).expect("sent");
}

fn hosts(question: &Question<'_>, reply: &mut Packet<'_>) {
    match (question.qname.to_string().to_ascii_lowercase().as_str(), &question.qtype) {
        ("app.test", QTYPE::TYPE(TYPE::A)) => {
            reply.answers.push(alias("app.test", 300, "real.test"));
            for last in [1, 2, 3] {
                let ip = Ipv4Addr::new(10, 0, 0, last);
                reply.answers.push(record("real.test", 20, RData::A(A { address: ip.into() })));
            }
        }
        ("app.test", QTYPE::TYPE(TYPE::AAAA)) => {
            reply.answers.push(alias("app.test", 300, "real.test"));
            let ip = Ipv6Addr::LOCALHOST;
            reply.answers.push(record("real.test", 7, RData::AAAA(AAAA { address: ip.into() })));
        }
        ("far.test", _) => reply.answers.push(alias("far.test", 3, "app.test")),
        ("loop.test", _) => reply.answers.push(alias("loop.test", 3, "pool.test")),
        ("pool.test", _) => reply.answers.push(alias("pool.test", 3, "loop.test")),
        ("_http._tcp.app.test", QTYPE::TYPE(TYPE::SRV)) => {
            for (priority, weight, port) in [(20, 0, 82), (10, 60, 81), (10, 20, 80)] {
                let target = Name::new("real.test").expect("a name");
                let srv = RData::SRV(SRV { priority, weight, port, target });
                reply.answers.push(record("_http._tcp.app.test", 5, srv));
            }
        }
        ("broken.test", _) => *reply.rcode_mut() = RCODE::ServerFailure,
        _ => *reply.rcode_mut() = RCODE::NameError,
    }
}

fn honest() -> Fake {
    Fake::start(Box::new(|query| vec![answer(query, hosts)]), None)
}

/// A response whose question is folded to lower case.
fn folded(query: &[u8]) -> Vec<u8> {
    let (header, question) = query.split_at(12);
    answer(&[header, &question.to_ascii_lowercase()].concat(), hosts)
}

#[test]
fn both_families_come_in_turn_and_hold_as_long_as_the_shortest_of_them() {
    let short = |query: &[u8]| vec![answer(query, |_, reply| reply.set_flags(PacketFlag::TRUNCATION))];
    for server in [honest(), Fake::start(Box::new(short), Some(honest_tcp))] {
        let found = server.config().addresses("app.test", 80).expect("found");
        let want = ["[::1]:80", "10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"];
        assert_eq!(found.items, want.map(|text| text.parse().expect("an address")));
        assert_eq!(found.ttl, Some(Duration::from_secs(7)));
    }
}

#[test]
fn services_come_by_priority_with_port_and_weight() {
    let found = honest().config().services("_http._tcp.app.test").expect("found");
    let told: Vec<_> = found.items.iter().map(|own| (own.priority, own.weight, own.port)).collect();
    assert_eq!(told, [(10, 20, 80), (10, 60, 81), (20, 0, 82)]);
    assert!(found.items.iter().all(|own| own.target == "real.test"));
    assert_eq!(found.ttl, Some(Duration::from_secs(5)));
}

#[test]
fn an_alias_left_to_the_client_is_followed_and_a_cycle_of_them_ends() {
    let server = honest();
    let found = server.config().addresses("far.test", 80).expect("found");
    assert_eq!((found.items.len(), found.ttl), (4, Some(Duration::from_secs(3))));
    assert_eq!(server.config().addresses("loop.test", 80).expect_err("a circle").kind(), ErrorKind::NotFound);
}

#[test]
fn names_without_records_bad_names_and_failing_servers_are_errors() {
    let server = honest();
    let error = |name: &str| server.config().addresses(name, 1).expect_err(name);
    assert_eq!(error("none.test").kind(), ErrorKind::NotFound);
    let broken = error("broken.test");
    assert!(is_temporary(&broken), "{broken}");
    assert_eq!(broken.to_string(), "temporary failure: no name server responded: it returned SERVFAIL");
    assert_eq!(error(&format!("{}.test", "a".repeat(64))).kind(), ErrorKind::InvalidInput);
    // The port is closed, which is reported at once.
    let gone = UdpSocket::bind("127.0.0.1:0").and_then(|own| own.local_addr()).expect("a port");
    let error = Config::of(&[gone]).addresses("app.test", 1).expect_err("nobody");
    assert!(is_temporary(&error) && error.to_string().contains("Connection refused"), "{error}");
    let both = Config::of(&[gone, server.address]);
    assert_eq!(both.addresses("app.test", 1).expect("the second one").items.len(), 4);
}

#[test]
fn somebody_elses_answers_are_passed_over() {
    let noisy = |query: &[u8]| {
        let forged = |name: &'static str| {
            answer(query, |_, reply| {
                let question = &reply.questions[0];
                let (qtype, qclass) = (question.qtype, question.qclass);
                let name = Name::new(name).expect("a name");
                reply.questions = vec![Question::new(name.clone(), qtype, qclass, false)];
                let ip = RData::A(A { address: Ipv4Addr::new(6, 6, 6, 6).into() });
                reply.answers.push(record("evil.test", 1, ip));
            })
        };
        let mut other_id = answer(query, hosts);
        other_id[1] ^= 1;
        vec![vec![0; 3], other_id, forged("evil.test"), answer(query, hosts)]
    };
    Fake::start(Box::new(noisy), None).finds_all();
}

#[test]
fn repeated_guesses_move_the_query_to_tcp() {
    let guesses = |query: &[u8]| {
        let guess = |number: u16| {
            let mut forged = answer(query, hosts);
            let id = u16::from_be_bytes([forged[0], forged[1]]) ^ (number + 1);
            forged[..2].copy_from_slice(&id.to_be_bytes());
            forged
        };
        (0..40).map(guess).collect()
    };
    let server = Fake::start(Box::new(guesses), Some(honest_tcp));
    server.finds_all();
    assert_eq!(server.connections(), 2, "one for each family");
}

#[test]
fn a_server_that_folds_names_is_asked_by_tcp_once_and_believed_then() {
    let server = Fake::start(Box::new(|query| vec![folded(query)]), Some(honest_tcp));
    server.finds_all();
    server.finds_all();
    assert_eq!(server.connections(), 1);
    Fake::start(Box::new(|query| vec![folded(query)]), None).finds_all();
}

#[test]
fn an_answer_by_tcp_that_trickles_or_answers_something_else_is_none() {
    let short = |query: &[u8]| vec![answer(query, |_, reply| reply.set_flags(PacketFlag::TRUNCATION))];
    let trickle: fn(TcpStream) = |mut stream| {
        query_of(&mut stream);
        while stream.write_all(&[0xff]).is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let other: fn(TcpStream) = |mut stream| {
        query_of(&mut stream);
        let _ = stream.write_all(&[0, 3, 1, 2, 3]);
    };
    for (tcp, words) in [(trickle, "timed out"), (other, "the response does not match the query")] {
        let server = Fake::start(Box::new(short), Some(tcp));
        let began = Instant::now();
        let error = crate::names::exchange::ask(server.address, "app.test", crate::names::message::Kind::A);
        let error = error.expect_err(words);
        assert!(error.to_string().contains(words), "{error}");
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    }
}
