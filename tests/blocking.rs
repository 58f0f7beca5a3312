//! Work that blocks threads: one kind of it does not delay another.

use crate::support::dns::Dns;
use crate::support::{Client, Scratch, Server, until};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

fn server(dir: &Scratch, dns: &UdpSocket, more: &str) -> Server {
    let resolver = dns.local_addr().expect("bound");
    let text = format!(
        "num-threads: 1\nresolver: {resolver}\n{more}hosts: {{default: {{paths: {{/: {{proxy.connect: [+*], file.dir: \
         DIR/site}}}}}}}}\n"
    );
    Server::config(dir, &text)
}

/// Clients that request tunnels to names for which the name server does not answer.
fn tunnels(server: &Server, count: usize) -> Vec<Client> {
    let ask = |number: usize| {
        let mut client = server.connect();
        client.send(format!("CONNECT n{number}.test:443 HTTP/1.1\r\nHost: n{number}.test:443\r\n\r\n"));
        client
    };
    (0..count).map(ask).collect()
}

#[test]
fn names_that_no_server_answers_for_do_not_delay_files() {
    let (dir, dns) = (Scratch::new(), Dns::silent());
    for number in 0..10 {
        dir.write_cold(&format!("site/cold{number}"), vec![b'x'; 60_000]);
    }
    let server = server(&dir, &dns, "");
    let _tunnels = tunnels(&server, 600);
    // They have all the threads that there are for names.
    let mut query = [0; 512];
    for _ in 0..32 {
        dns.recv(&mut query).expect("a query");
    }
    for number in 0..10 {
        let began = Instant::now();
        assert_eq!(server.get(&format!("/cold{number}")).content.len(), 60_000);
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    }
}

#[test]
fn a_queue_that_is_full_is_503_and_the_log_says_so() {
    let (dir, dns) = (Scratch::new(), Dns::silent());
    let more = "num-name-resolution-threads: 1\naccess-log: {path: DIR/log, format: '%s'}\n";
    let server = server(&dir, &dns, more);
    // One thread, 32 look-ups that wait for it, and two of them for each tunnel.
    let _tunnels = tunnels(&server, 40);
    server.until_stderr(": cannot resolve the host name: too many name look-ups are waiting");
    until("the client is told", || dir.read("log").starts_with("503\n"));
}
