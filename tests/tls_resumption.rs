//! Sessions that are resumed: by tickets, by the cache, and across processes by memcached, Redis or a file.

use crate::support::certificates::Leaf;
use crate::support::peers::Peer;
use crate::support::tls::{HOSTS, Said, last, s_client, site as serve};
use crate::support::{Scratch, Server, missing, until};

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("site/ten", "0123456789");
    crate::support::certificates::Authority::new(&dir).issue_leaf();
    dir
}

/// A first handshake, whose session is kept in a file.
#[track_caller]
fn begin(dir: &Scratch, server: &Server, args: &[&str]) {
    begin_at(dir, &server.address, args);
}

#[track_caller]
fn begin_at(dir: &Scratch, address: &str, args: &[&str]) {
    let kept = dir.text("session");
    let _ = std::fs::remove_file(&kept);
    let said = s_client(address, &[args, &["-sess_out", &kept]].concat(), &last("/ten"));
    assert!(said.has("0123456789") && said.has("New, TLS"), "{args:?}: {said:?}");
}

/// A second handshake with the session of the first.
#[track_caller]
fn again(dir: &Scratch, server: &Server, args: &[&str]) -> Said {
    again_at(dir, &server.address, args)
}

#[track_caller]
fn again_at(dir: &Scratch, address: &str, args: &[&str]) -> Said {
    let kept = dir.text("session");
    assert!(dir.path("session").exists(), "there was a session to keep");
    let said = s_client(address, &[args, &["-sess_in", &kept]].concat(), &last("/ten"));
    assert!(said.has("0123456789"), "resumed or not, it is served: {said:?}");
    said
}

#[track_caller]
fn resumes(dir: &Scratch, first: &Server, second: &Server, args: &[&str]) {
    begin(dir, first, args);
    let said = again(dir, second, args);
    assert!(said.has("Reused, TLS"), "{args:?}: {said:?}");
}

/// By ticket in both versions, by session id in TLS 1.2.
const TICKETS: [&[&str]; 2] = [&["-tls1_3"], &["-tls1_2"]];
const CACHE: &[&str] = &["-tls1_2", "-no_ticket"];

#[test]
fn sessions_are_resumed_by_tickets_and_by_the_cache_on_every_worker() {
    let dir = site();
    let server = serve(&dir, "", "num-threads: 2\n");
    // Each connection may reach a different worker.
    for _ in 0..4 {
        for args in TICKETS {
            resumes(&dir, &server, &server, args);
        }
        resumes(&dir, &server, &server, CACHE);
    }
}

#[test]
fn the_modes_say_what_is_offered() {
    let dir = site();
    for (mode, tickets, cache) in
        [("off", false, false), ("cache", false, true), ("ticket", true, false), ("all", true, true)]
    {
        let server = serve(&dir, "", &format!("ssl-session-resumption: {{mode: {mode}}}\n"));
        for (args, offered) in [(TICKETS[1], tickets || cache), (CACHE, cache)] {
            begin(&dir, &server, args);
            if !dir.path("session").exists() {
                assert!(!offered, "{mode} {args:?}");
                continue;
            }
            assert_eq!(again(&dir, &server, args).has("Reused, TLS"), offered, "{mode} {args:?}");
        }
    }
}

#[test]
fn another_process_does_not_know_sessions_that_are_kept_inside() {
    let dir = site();
    let (one, two) = (serve(&dir, "", ""), serve(&dir, "", ""));
    for args in [TICKETS[0], TICKETS[1], CACHE] {
        begin(&dir, &one, args);
        assert!(again(&dir, &two, args).has("New, TLS"), "{args:?}");
    }
}

#[test]
fn a_session_of_one_listener_opens_no_other_that_presents_or_demands_something_else() {
    let dir = Scratch::new();
    dir.write("site/ten", "0123456789");
    let authority = crate::support::certificates::Authority::new(&dir);
    authority.issue_leaf().issue(&Leaf {
        file: "other",
        names: "DNS:localhost",
        rsa: false,
        extensions: &[],
    });
    // Port 0 of one address twice would be one listener.
    let listen = |at: usize, leaf: &str, more: &str| {
        let files = format!("certificate-file: DIR/tls/{leaf}.pem, key-file: DIR/tls/{leaf}.key");
        format!("listen: {{host: 127.0.0.{at}, port: 0, ssl: {{{files}{more}}}}}\n")
    };
    let suites =
        ", cipher-suite-tls1.3: [TLS_AES_256_GCM_SHA384], cipher-suite: ECDHE-ECDSA-AES256-GCM-SHA384";
    let listeners = [
        listen(1, "leaf", ""),
        listen(2, "leaf", ""),
        listen(3, "other", ""),
        listen(4, "leaf", ", client-ca-file: DIR/tls/ca.pem"),
        listen(5, "leaf", suites),
    ];
    let server = Server::config(&dir, &format!("{}{HOSTS}", listeners.concat()));
    let addresses = server.addresses();
    let (key, certificate) = (dir.text("tls/leaf.key"), dir.text("tls/leaf.pem"));
    for args in [TICKETS[0], TICKETS[1], CACHE] {
        let args = [args, &["-servername", "localhost", "-key", &key, "-cert", &certificate]].concat();
        let resumed = |first: &str, second: &str| {
            begin_at(&dir, first, &args);
            again_at(&dir, second, &args).has("Reused, TLS")
        };
        assert!(resumed(&addresses[0], &addresses[1]), "the same configuration: {args:?}");
        for other in &addresses[2..] {
            assert!(resumed(other, other), "{args:?}");
            assert!(!resumed(&addresses[0], other), "{args:?}");
            assert!(!resumed(other, &addresses[0]), "{args:?}");
        }
    }
}

/// Two processes with stores in common.
fn pair(dir: &Scratch, resumption: &str) -> (Server, Server) {
    let global = format!("ssl-session-resumption:\n{resumption}");
    (serve(dir, "", &global), serve(dir, "", &global))
}

#[test]
fn processes_share_tickets_by_a_file_and_its_changes() {
    let dir = site();
    let key = |name: char, not_before: u32| {
        let name = name.to_string();
        format!(
            "- name: {}\n  cipher: aes-256-cbc\n  hash: sha256\n  key: {}\n  not_before: {not_before}\n  not_after: 4000000000\n",
            name.repeat(32),
            name.repeat(128)
        )
    };
    dir.write("tickets", key('a', 1_000_000_000));
    let (one, two) = pair(&dir, "  mode: ticket\n  ticket-store: file\n  ticket-file: DIR/tickets\n");
    for args in TICKETS {
        resumes(&dir, &one, &two, args);
    }
    dir.replace("tickets", key('b', 1_000_000_001));
    until("both use the new key", || {
        begin(&dir, &one, TICKETS[1]);
        let by_two = again(&dir, &two, TICKETS[1]);
        let old = !by_two.has("Reused, TLS");
        !old
    });
}

#[test]
fn processes_share_sessions_and_tickets_by_memcached() {
    if missing("memcached") {
        return;
    }
    let dir = site();
    let peer = Peer::memcached();
    for protocol in ["BINARY", "ASCII"] {
        let at = format!("  memcached: {{host: 127.0.0.1, port: {}, protocol: {protocol}}}\n", peer.port);
        let (one, two) = pair(&dir, &format!("  mode: cache\n  cache-store: memcached\n{at}"));
        resumes(&dir, &one, &two, CACHE);
        let (one, two) = pair(&dir, &format!("  mode: ticket\n  ticket-store: memcached\n{at}"));
        share_tickets(&dir, &one, &two);
    }
}

#[test]
fn processes_share_sessions_and_tickets_by_redis() {
    if missing("redis-server") {
        return;
    }
    let dir = site();
    let peer = Peer::redis(&dir);
    let at = format!("  redis: {{host: 127.0.0.1, port: {}}}\n", peer.port);
    let (one, two) = pair(&dir, &format!("  mode: cache\n  cache-store: redis\n{at}"));
    resumes(&dir, &one, &two, CACHE);
    let (one, two) = pair(&dir, &format!("  mode: ticket\n  ticket-store: redis\n{at}"));
    share_tickets(&dir, &one, &two);
    drop((one, two));
    // A client that offers TLS 1.3 to servers that end at 1.2.
    let global = format!("ssl-session-resumption:\n  mode: cache\n  cache-store: redis\n{at}");
    let serve = || serve(&dir, "max-version: TLSv1.2", &global);
    let (one, two) = (serve(), serve());
    until("the session is there", || {
        begin(&dir, &one, &["-no_ticket"]);
        again(&dir, &two, &["-no_ticket"]).has("Reused, TLSv1.2")
    });
    drop((one, two));
    // The whole of it, and more than one session at a time.
    let (one, two) = pair(&dir, &format!("  mode: all\n  cache-store: redis\n  ticket-store: redis\n{at}"));
    share_tickets(&dir, &one, &two);
    resumes(&dir, &two, &one, CACHE);
}

#[test]
fn redis_gets_the_password_and_a_wrong_one_costs_resumption_only() {
    if missing("redis-server") {
        return;
    }
    let dir = site();
    let peer = Peer::redis_with(&dir, &["--requirepass", "sesame"]);
    let at = |password: &str| {
        let redis = format!("{{host: 127.0.0.1, port: {}{password}}}", peer.port);
        format!("  mode: cache\n  cache-store: redis\n  redis: {redis}\n")
    };
    let (one, two) = pair(&dir, &at(", password: sesame"));
    resumes(&dir, &one, &two, CACHE);
    for (password, said) in [("", "NOAUTH"), (", password: open", "WRONGPASS")] {
        let (one, two) = pair(&dir, &at(password));
        begin(&dir, &one, CACHE);
        assert!(again(&dir, &two, CACHE).has("New, TLS"), "{password}");
        one.until_stderr(said);
    }
}

/// Waits until both have the key that one of them has put into the store.
#[track_caller]
fn share_tickets(dir: &Scratch, one: &Server, two: &Server) {
    for args in TICKETS {
        until("a ticket of one opens the other", || {
            begin(dir, one, args);
            again(dir, two, args).has("Reused, TLS")
        });
        resumes(dir, two, one, args);
    }
}

#[test]
fn a_store_that_goes_away_costs_resumption_and_nothing_else() {
    if missing("memcached") {
        return;
    }
    let dir = site();
    let peer = Peer::memcached();
    let at = format!("  memcached: {{host: 127.0.0.1, port: {}}}\n", peer.port);
    let (one, two) = pair(&dir, &format!("  mode: cache\n  cache-store: memcached\n{at}"));
    resumes(&dir, &one, &two, CACHE);
    peer.stop();
    for _ in 0..3 {
        begin(&dir, &one, CACHE);
        let said = again(&dir, &two, CACHE);
        assert!(said.has("New, TLS"), "{said:?}");
    }
}
