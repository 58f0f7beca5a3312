//! Questions to name servers, by UDP, and by TCP for answers that are too long (RFC 1035 §4.2).

use super::config::Config;
use super::{Found, Service, no_such_name, temporary};
use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, Question, RCODE, TYPE};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// How long a server may take; then the next one is asked.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often all servers are asked: a datagram may get lost.
const ROUNDS: usize = 2;

/// The longest answer by UDP without EDNS is 512 octets (RFC 1035 §4.2.1); some servers send more.
const LONGEST: usize = 4096;

/// A record that somebody asked for, or one on the way to it.
enum Record {
    Address(IpAddr),
    Service(Service),
    /// Another name for it.
    Alias,
}

/// An answer: what was found, and for how long all of it holds.
type Answer = (Vec<Record>, Option<Duration>);

impl Config {
    /// The addresses of a host, both families in turn, IPv6 first (RFC 8305 §4).
    pub(super) fn addresses(&self, host: &str, port: u16) -> io::Result<Found<SocketAddr>> {
        for name in self.candidates(host) {
            let (mut six, six_ttl) = self.of_family(&name, TYPE::AAAA)?;
            let (mut four, four_ttl) = self.of_family(&name, TYPE::A)?;
            let mut items = Vec::new();
            six.reverse();
            four.reverse();
            while let Some(ip) = six.pop() {
                items.push(SocketAddr::new(ip, port));
                items.extend(four.pop().map(|ip| SocketAddr::new(ip, port)));
            }
            items.extend(four.into_iter().rev().map(|ip| SocketAddr::new(ip, port)));
            if !items.is_empty() {
                return Ok(Found { items, ttl: shorter(six_ttl, four_ttl) });
            }
        }
        Err(no_such_name(host))
    }

    /// The servers of a service.
    pub(super) fn services(&self, name: &str) -> io::Result<Found<Service>> {
        for name in self.candidates(name) {
            let (records, ttl) = self.ask(&name, TYPE::SRV)?;
            let services = records.into_iter().filter_map(|record| match record {
                // "." says that there is no such service (RFC 2782).
                Record::Service(service) if !service.target.is_empty() => Some(service),
                _ => None,
            });
            let mut items: Vec<_> = services.collect();
            items.sort();
            if !items.is_empty() {
                return Ok(Found { items, ttl });
            }
        }
        Err(io::Error::new(ErrorKind::NotFound, format!("the service `{name}` does not exist")))
    }

    fn of_family(&self, name: &str, kind: TYPE) -> io::Result<(Vec<IpAddr>, Option<Duration>)> {
        let (records, ttl) = self.ask(name, kind)?;
        let addresses = records.into_iter().filter_map(|record| match record {
            Record::Address(ip) => Some(ip),
            _ => None,
        });
        let addresses: Vec<_> = addresses.collect();
        let ttl = ttl.filter(|_| !addresses.is_empty());
        Ok((addresses, ttl))
    }

    /// Asks one server after the other. That there is no such name is an answer, and an empty one.
    fn ask(&self, name: &str, kind: TYPE) -> io::Result<Answer> {
        let mut last = io::Error::from(ErrorKind::NotConnected);
        for server in (0..ROUNDS).flat_map(|_| &self.servers) {
            match ask_one(*server, name, kind) {
                Ok(answer) => return Ok(answer),
                Err(error) if error.kind() == ErrorKind::InvalidInput => return Err(error),
                Err(error) => last = error,
            }
        }
        Err(temporary(format_args!("no name server has answered: {last}")))
    }
}

fn shorter(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    a.into_iter().chain(b).min()
}

fn ask_one(server: SocketAddr, name: &str, kind: TYPE) -> io::Result<Answer> {
    // Not to be guessed by who wants to answer in the server's place; so is the port, which the system draws.
    let id = RandomState::new().hash_one(name) as u16;
    let query = query(id, name, kind)?;
    let octets = by_udp(server, &query, id)?;
    let (answer, truncated) = read(&octets, kind)?;
    if !truncated {
        return Ok(answer);
    }
    Ok(read(&by_tcp(server, &query)?, kind)?.0)
}

fn query(id: u16, name: &str, kind: TYPE) -> io::Result<Vec<u8>> {
    let odd = |error| io::Error::new(ErrorKind::InvalidInput, format!("`{name}` is no name: {error}"));
    let mut packet = Packet::new_query(id);
    packet.set_flags(PacketFlag::RECURSION_DESIRED);
    let name = Name::new(name).map_err(odd)?;
    packet.questions.push(Question::new(name, QTYPE::TYPE(kind), QCLASS::CLASS(CLASS::IN), false));
    packet.build_bytes_vec().map_err(|error| io::Error::new(ErrorKind::InvalidInput, error.to_string()))
}

fn by_udp(server: SocketAddr, query: &[u8], id: u16) -> io::Result<Vec<u8>> {
    let any: IpAddr =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    // Only its datagrams come in, and a closed port is told at once.
    socket.connect(server)?;
    socket.send(query)?;
    let until = Instant::now() + PATIENCE;
    let mut octets = vec![0; LONGEST];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        let length = match socket.recv(&mut octets) {
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => continue,
            Err(error) => return Err(error),
        };
        if octets[..length].starts_with(&id.to_be_bytes()) {
            octets.truncate(length);
            return Ok(octets);
        }
    }
}

fn by_tcp(server: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let length = u16::try_from(query.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes(), query].concat())?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut octets = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut octets)?;
    Ok(octets)
}

/// What an answer says, and whether there would be more of it.
fn read(octets: &[u8], kind: TYPE) -> io::Result<(Answer, bool)> {
    let odd = |what: String| io::Error::new(ErrorKind::InvalidData, what);
    let packet = Packet::parse(octets).map_err(|error| odd(error.to_string()))?;
    let asked = packet.questions.iter().all(|question| question.qtype == QTYPE::TYPE(kind));
    if !packet.has_flags(PacketFlag::RESPONSE) || !asked {
        return Err(odd("this answers no question of ours".to_owned()));
    }
    match packet.rcode() {
        RCODE::NoError | RCODE::NameError => {}
        code => return Err(odd(format!("{code:?}"))),
    }
    let records = packet.answers.iter().filter_map(|answer| {
        let ttl = Duration::from_secs(u64::from(answer.ttl));
        let record = match &answer.rdata {
            RData::A(a) => Record::Address(Ipv4Addr::from(a.address).into()),
            RData::AAAA(a) => Record::Address(Ipv6Addr::from(a.address).into()),
            RData::CNAME(_) => Record::Alias,
            RData::SRV(srv) => Record::Service(Service {
                priority: srv.priority,
                weight: srv.weight,
                port: srv.port,
                target: srv.target.to_string(),
            }),
            _ => return None,
        };
        Some((record, ttl))
    });
    let (records, ttls): (Vec<_>, Vec<_>) = records.unzip();
    let answer = (records, ttls.into_iter().min());
    Ok((answer, packet.has_flags(PacketFlag::TRUNCATION)))
}

#[cfg(test)]
mod tests {
    use super::super::is_temporary;
    use super::*;
    use simple_dns::ResourceRecord;
    use simple_dns::rdata::{A, AAAA, CNAME, SRV};

    fn record<'a>(name: &'a str, ttl: u32, rdata: RData<'a>) -> ResourceRecord<'a> {
        ResourceRecord::new(Name::new(name).expect("a name"), CLASS::IN, ttl, rdata)
    }

    /// A server on this machine that answers each question once, by UDP; by TCP too, if `short` says that the
    /// datagram is not the whole answer.
    fn server(
        answer: impl Fn(&Question<'_>, &mut Packet<'_>) + Send + Sync + 'static,
        short: bool,
    ) -> Config {
        let (tcp, udp) = both_at_one_port();
        let address = udp.local_addr().expect("bound");
        let answer = std::sync::Arc::new(answer);
        let make = move |query: &[u8], whole: bool| {
            let query = Packet::parse(query).expect("a query");
            let mut reply = Packet::new_reply(query.id());
            reply.questions = query.questions.clone();
            match whole {
                true => answer(&query.questions[0], &mut reply),
                false => reply.set_flags(PacketFlag::TRUNCATION),
            }
            reply.build_bytes_vec_compressed().expect("a message")
        };
        let datagrams = make.clone();
        std::thread::spawn(move || {
            let mut octets = [0; 512];
            while let Ok((length, from)) = udp.recv_from(&mut octets) {
                // Somebody else's answer comes first.
                let _ = udp.send_to(&[octets[0], octets[1] ^ 1, 0], from);
                let _ = udp.send_to(&datagrams(&octets[..length], !short), from);
            }
        });
        if short {
            std::thread::spawn(move || {
                for mut stream in tcp.incoming().map_while(Result::ok) {
                    let mut length = [0; 2];
                    stream.read_exact(&mut length).expect("a length");
                    let mut query = vec![0; usize::from(u16::from_be_bytes(length))];
                    stream.read_exact(&mut query).expect("a query");
                    let reply = make(&query, true);
                    let length = (reply.len() as u16).to_be_bytes();
                    stream.write_all(&[&length[..], &reply].concat()).expect("sent");
                }
            });
        }
        Config::of(&[address])
    }

    fn both_at_one_port() -> (std::net::TcpListener, UdpSocket) {
        loop {
            let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
            if let Ok(udp) = UdpSocket::bind(tcp.local_addr().expect("bound")) {
                return (tcp, udp);
            }
        }
    }

    fn hosts(question: &Question<'_>, reply: &mut Packet<'_>) {
        let alias = || record("app.test", 300, RData::CNAME(CNAME(Name::new("real.test").expect("a name"))));
        match (question.qname.to_string().as_str(), &question.qtype) {
            ("app.test", QTYPE::TYPE(TYPE::A)) => {
                reply.answers.push(alias());
                for last in [1, 2, 3] {
                    let ip = Ipv4Addr::new(10, 0, 0, last);
                    reply.answers.push(record("real.test", 20, RData::A(A { address: ip.into() })));
                }
            }
            ("app.test", QTYPE::TYPE(TYPE::AAAA)) => {
                reply.answers.push(alias());
                let ip = Ipv6Addr::LOCALHOST;
                reply.answers.push(record("real.test", 7, RData::AAAA(AAAA { address: ip.into() })));
            }
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

    #[test]
    fn both_families_come_in_turn_and_hold_as_long_as_the_shortest_of_them() {
        for short in [false, true] {
            let found = server(hosts, short).addresses("app.test", 80).expect("found");
            let want = ["[::1]:80", "10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"];
            assert_eq!(found.items, want.map(|text| text.parse().expect("an address")), "short: {short}");
            assert_eq!(found.ttl, Some(Duration::from_secs(7)));
        }
    }

    #[test]
    fn services_come_by_priority_with_port_and_weight() {
        let found = server(hosts, false).services("_http._tcp.app.test").expect("found");
        let told: Vec<_> = found.items.iter().map(|own| (own.priority, own.weight, own.port)).collect();
        assert_eq!(told, [(10, 20, 80), (10, 60, 81), (20, 0, 82)]);
        assert!(found.items.iter().all(|own| own.target == "real.test"));
        assert_eq!(found.ttl, Some(Duration::from_secs(5)));
    }

    #[test]
    fn names_without_records_bad_names_and_failing_servers_are_errors() {
        let config = server(hosts, false);
        let error = |name: &str| config.addresses(name, 1).expect_err(name);
        assert_eq!(error("none.test").kind(), ErrorKind::NotFound);
        let broken = error("broken.test");
        assert!(is_temporary(&broken), "{broken}");
        assert_eq!(broken.to_string(), "temporary failure: no name server has answered: ServerFailure");
        assert_eq!(error(&format!("{}.test", "a".repeat(64))).kind(), ErrorKind::InvalidInput);
        // Nobody listens there: that is known at once.
        let gone = UdpSocket::bind("127.0.0.1:0").and_then(|own| own.local_addr()).expect("a port");
        let error = Config::of(&[gone]).addresses("app.test", 1).expect_err("nobody");
        assert!(is_temporary(&error) && error.to_string().contains("Connection refused"), "{error}");
        let both = Config::of(&[gone, config.servers[0]]);
        assert_eq!(both.addresses("app.test", 1).expect("the second one").items.len(), 4);
    }

    #[test]
    fn octets_that_are_no_answer_are_errors_and_nothing_worse() {
        let mut whole = Vec::new();
        let config = server(hosts, false);
        for kind in [TYPE::A, TYPE::AAAA] {
            let query = query(7, "app.test", kind).expect("a query");
            whole = by_udp(config.servers[0], &query, 7).expect("an answer");
            assert!(read(&whole, kind).is_ok() && read(&query, kind).is_err());
        }
        for length in 0..whole.len() {
            let _ = read(&whole[..length], TYPE::AAAA);
        }
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut octets = whole.clone();
                octets[at] ^= 1 << bit;
                let _ = read(&octets, TYPE::AAAA);
            }
        }
    }
}
