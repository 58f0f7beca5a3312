//! A name server with scripted answers: real ones cannot be made to forget on demand.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A name server on a free port of this machine.
pub(crate) struct Dns {
    /// `127.0.0.1:40000`
    pub(crate) address: SocketAddr,
    zone: Arc<Mutex<Zone>>,
    fails: Arc<AtomicBool>,
}

/// Records as they go over the wire: type, seconds, data. A name that is not here does not exist.
type Zone = HashMap<String, Vec<(u16, u32, Vec<u8>)>>;

const A: u16 = 1;
const SRV: u16 = 33;

impl Dns {
    /// One without names.
    pub(crate) fn new() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = socket.local_addr().expect("bound");
        let (zone, fails) = (Arc::<Mutex<Zone>>::default(), Arc::<AtomicBool>::default());
        let (known, failing) = (Arc::clone(&zone), Arc::clone(&fails));
        std::thread::spawn(move || {
            let mut bytes = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut bytes) {
                let mut answer = answer(&bytes[..length], &known.lock().expect("no panic within"));
                if failing.load(Ordering::SeqCst) {
                    // RFC 1035 §4.1.1: the server fails for internal reasons.
                    (answer[3], answer[7]) = (answer[3] & 0xf0 | 2, 0);
                }
                let _ = socket.send_to(&answer, from);
            }
        });
        Self { address, zone, fails }
    }

    /// A server that never answers.
    pub(crate) fn silent() -> UdpSocket {
        UdpSocket::bind("127.0.0.1:0").expect("a port")
    }

    /// From now on a name has these addresses, with this TTL in seconds.
    pub(crate) fn addresses(&self, name: &str, seconds: u32, addresses: &[Ipv4Addr]) {
        let records = addresses.iter().map(|ip| (A, seconds, ip.octets().to_vec())).collect();
        self.zone.lock().expect("no panic within").insert(name.to_owned(), records);
    }

    /// From now on a service has these servers: priority, weight, port, name.
    pub(crate) fn services(&self, name: &str, seconds: u32, services: &[(u16, u16, u16, &str)]) {
        let record = |(priority, weight, port, target): &(u16, u16, u16, &str)| {
            let numbers = [*priority, *weight, *port].map(u16::to_be_bytes).concat();
            (SRV, seconds, [numbers, labels(target)].concat())
        };
        let records = services.iter().map(record).collect();
        self.zone.lock().expect("no panic within").insert(name.to_owned(), records);
    }

    /// From now on it fails for every name, or works again.
    pub(crate) fn set_failing(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }

    /// From now on there is no such name.
    pub(crate) fn forget(&self, name: &str) {
        self.zone.lock().expect("no panic within").remove(name);
    }
}

/// A name as it goes over the wire (RFC 1035 §3.1).
fn labels(name: &str) -> Vec<u8> {
    let labels = name.split('.').flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat());
    labels.chain([0]).collect()
}

/// The answer to a query with one question, after a head of twelve bytes (RFC 1035 §4.1).
fn answer(query: &[u8], zone: &Zone) -> Vec<u8> {
    let (mut name, mut at) = (Vec::new(), 12);
    while query[at] != 0 {
        let length = usize::from(query[at]);
        name.push(String::from_utf8_lossy(&query[at + 1..=at + length]).into_owned());
        at += length + 1;
    }
    let question = &query[12..at + 5];
    let kind = u16::from_be_bytes([query[at + 1], query[at + 2]]);
    let records = zone.get(&name.join(".").to_ascii_lowercase());
    let fit: Vec<_> = records.into_iter().flatten().filter(|(own, ..)| *own == kind).collect();
    // A response, recursion desired and available; 3: there is no such name.
    let flags: u16 = if records.is_none() { 0x8183 } else { 0x8180 };
    let counts = [1, fit.len() as u16, 0, 0].map(u16::to_be_bytes).concat();
    let mut bytes = [&query[..2], &flags.to_be_bytes(), &counts, question].concat();
    for (kind, seconds, data) in fit {
        // The name is that of the question; the class is IN.
        bytes.extend([0xc0, 12]);
        bytes.extend([*kind, 1].map(u16::to_be_bytes).concat());
        bytes.extend(seconds.to_be_bytes());
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend(data);
    }
    bytes
}
