//! What TLS costs the server, without sockets: `cargo run --release -p hayami-tls --example timing`.
//!
//! Nanoseconds per record sealed and received, microseconds per handshake (the server's part), and the memory
//! that an idle session holds. One thread; the client is rustls'.

use hayami_tls::resumption::{self, TicketStore};
use hayami_tls::{Acceptor, Identity, Resumption, Session, Settings};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn main() {
    let (acceptor, client) = parties();
    let (mut session, _, _) = joined(&acceptor, &client);
    println!("suite {}", session.info().map_or("none", |info| info.suite.name()));
    session.seal(&[0; 128 * 1024], &mut Vec::new()); // past the small records
    for len in [16, 100, 1_400, 16_384, 65_536] {
        seal(&mut session, len);
    }
    let (mut session, mut client_side, _) = joined(&acceptor, &client);
    for len in [100, 1_400, 16_000] {
        receive(&mut session, &mut client_side, len);
    }
    handshakes(&acceptor, &client);
    memory(&acceptor, &client);
}

fn parties() -> (Arc<Acceptor>, Arc<ClientConfig>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("a root");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let key = made.signing_key.serialize_der();
    let identity =
        Identity::from_der(vec![made.cert.der().to_vec()], key, "made here", now).expect("it fits");
    let settings = resumption::Settings { tickets: Some(TicketStore::Internal), ..Default::default() };
    let resumption = Resumption::new(&settings, Arc::new(|_, line| eprintln!("{line}"))).expect("tickets");
    let acceptor =
        Acceptor::new(vec![(vec![], Settings::new(vec![identity]))], &resumption).expect("an acceptor");
    let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    (acceptor, Arc::new(client))
}

/// A finished handshake, and what it took of the server's time.
fn joined(acceptor: &Acceptor, client: &Arc<ClientConfig>) -> (Session, ClientConnection, Duration) {
    let name = "localhost".try_into().expect("a name");
    let mut client = ClientConnection::new(client.clone(), name).expect("a client");
    let start = Instant::now();
    let mut session = Session::new(acceptor);
    let mut took = start.elapsed();
    let (mut input, mut plain, mut out) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        while client.wants_write() {
            client.write_tls(&mut input).expect("memory");
        }
        if input.is_empty() {
            return (session, client, took);
        }
        let start = Instant::now();
        session.receive(&mut input, &mut plain, &mut out).expect("an honest client");
        took += start.elapsed();
        let mut sent = &out[..];
        while !sent.is_empty() {
            client.read_tls(&mut sent).expect("memory");
            client.process_new_packets().expect("an honest server");
        }
        out.clear();
    }
}

fn seal(session: &mut Session, len: usize) {
    let plain = vec![b'x'; len];
    let mut out = Vec::new();
    let rounds = 100_000_000 / (len as u32 + 1_000);
    let start = Instant::now();
    for _ in 0..rounds {
        out.clear();
        session.seal(black_box(&plain), &mut out);
    }
    println!("seal {len} bytes: {} ns", start.elapsed().as_nanos() / u128::from(rounds));
}

fn receive(session: &mut Session, client: &mut ClientConnection, len: usize) {
    let content = vec![b'x'; len];
    let (mut input, mut plain, mut out) = (Vec::new(), Vec::new(), Vec::new());
    let rounds = 50_000_000 / (len as u32 + 1_000);
    let mut took = Duration::ZERO;
    for _ in 0..rounds {
        client.writer().write_all(&content).expect("memory");
        while client.wants_write() {
            client.write_tls(&mut input).expect("memory");
        }
        plain.clear();
        let start = Instant::now();
        session.receive(&mut input, &mut plain, &mut out).expect("an honest client");
        took += start.elapsed();
        assert_eq!(plain.len(), len);
    }
    println!("receive {len} bytes: {} ns (with some 25 of the clock)", took.as_nanos() / u128::from(rounds));
}

fn handshakes(acceptor: &Acceptor, client: &Arc<ClientConfig>) {
    for (kind, client) in [
        ("full", {
            let mut config = ClientConfig::clone(client);
            config.resumption = rustls::client::Resumption::disabled();
            Arc::new(config)
        }),
        ("resumed", client.clone()),
    ] {
        let mut took: Vec<_> = (0..1_000).map(|_| joined(acceptor, &client).2).collect();
        took.sort();
        println!("{kind} handshake: {} us (median)", took[took.len() / 2].as_nanos() as f64 / 1_000.0);
    }
}

fn memory(acceptor: &Acceptor, client: &Arc<ClientConfig>) {
    const SESSIONS: usize = 4_000;
    let mut sessions: Vec<Session> = Vec::with_capacity(SESSIONS);
    sessions.extend((0..200).map(|_| joined(acceptor, client).0));
    let before = resident();
    sessions.extend((200..SESSIONS).map(|_| joined(acceptor, client).0));
    let each = (resident() - before) / (SESSIONS - 200);
    println!("idle session: {each} bytes of resident memory, {} of them inline", size_of::<Session>());
}

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("it says so");
    let number = line.split_whitespace().nth(1).expect("a number");
    number.parse::<usize>().expect("a number") * 1_024
}
