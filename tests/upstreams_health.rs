//! Upstreams that fall ill, recover, move: health checks, DNS, restarts under load.

use crate::support::dns::Dns;
use crate::support::peers::{Peer, free_port};
use crate::support::upstream::{Upstream, ok, unused_address};
use crate::support::{Scratch, Server, missing, until};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn config(group: &str, lines: &str) -> String {
    format!("{lines}\nhosts: {{default: {{paths: {{/: {{proxy.reverse.url: {group}}}}}}}}}\n")
}

#[test]
fn a_check_takes_an_upstream_out_that_answers_500_and_brings_it_back() {
    let (dir, good) = (Scratch::new(), Upstream::answering(ok("good")));
    let (is_ill, checks) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let doubtful = Upstream::scripted({
        let (is_ill, checks) = (Arc::clone(&is_ill), Arc::clone(&checks));
        move |conn| {
            while let Some(asked) = conn.request() {
                let check = asked.line() == "GET /health HTTP/1.1";
                checks.fetch_add(usize::from(check), Ordering::SeqCst);
                let ill = check && is_ill.load(Ordering::SeqCst);
                conn.send(if ill {
                    "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n".into()
                } else {
                    ok("doubtful")
                });
            }
        }
    });
    let group = format!(
        "{{backends: [http://{}, http://{}], health-check: {{path: /health, interval: 50, falls: 2, rises: 2, host: \
         own.example}}}}",
        good.address, doubtful.address
    );
    let server = Server::config(&dir, &config(&group, "num-threads: 3"));
    let both = |server: &Server| {
        [server.get("/").text(), server.get("/").text()].iter().any(|text| text == "doubtful")
    };
    until("both are asked", || both(&server));
    assert_eq!(doubtful.requests()[0].all("host"), ["own.example"]);
    is_ill.store(true, Ordering::SeqCst);
    let shown = format!(" upstream: http://{}: ", doubtful.address);
    server.until_stderr(&format!("{shown}health check failed, removed from the group: it returned 500"));
    for _ in 0..12 {
        assert_eq!(server.get("/").text(), "good", "every worker knows");
    }
    is_ill.store(false, Ordering::SeqCst);
    server.until_stderr(&format!("{shown}health check passed, back in the group"));
    until("both are asked again", || both(&server));
    assert_eq!(server.stderr().matches(&shown[..]).count(), 2, "{}", server.stderr());
}

#[test]
fn checks_are_made_once_for_all_workers_and_need_no_path() {
    let dir = Scratch::new();
    let address = unused_address();
    let group = format!(
        "{{backends: ['http://{address}'], health-check: {{tcp: YES, interval: 50, rises: 1, falls: 1}}}}"
    );
    let server = Server::config(&dir, &config(&group, "num-threads: 4"));
    server.until_stderr(&format!(
        "warn upstream: http://{address}: health check failed, removed from the group: "
    ));
    let answer = server.get("/");
    assert_eq!((answer.status, answer.field("retry-after")), (503, Some("1")));
    let upstream = Upstream::at(&address, |conn| {
        while conn.request().is_some() {
            conn.send(ok("back"));
        }
    });
    server.until_stderr("health check passed, back in the group");
    until("it is asked", || server.get("/").status == 200);
    assert_eq!(server.stderr().matches("health check").count(), 2, "{}", server.stderr());
    drop(upstream);
}

#[test]
fn a_restarted_nginx_loses_no_repeatable_request_under_load() {
    if missing("nginx") {
        return;
    }
    let dirs = [Scratch::new(), Scratch::new()];
    let ports = [free_port(), free_port()];
    let start = |at: usize| Peer::nginx_at(&dirs[at], ports[at], "return 200 ok;");
    let mut peers: Vec<_> = (0..2).map(|at| Some(start(at))).collect();
    let group = format!(
        "{{backends: ['http://127.0.0.1:{}', 'http://127.0.0.1:{}'], fail-timeout: 200}}",
        ports[0], ports[1]
    );
    let dir = Scratch::new();
    let server = Server::config(&dir, &config(&group, "num-threads: 2"));
    let (stop, asked, wrong) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = server.connect();
                while !stop.load(Ordering::SeqCst) {
                    let answer = client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").answer();
                    wrong.fetch_add(usize::from(answer.status != 200), Ordering::SeqCst);
                    asked.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for at in [0, 1, 0, 1] {
            let so_far = asked.load(Ordering::SeqCst);
            peers[at].take().expect("it runs").stop();
            until("requests went on without it", || asked.load(Ordering::SeqCst) > so_far + 200);
            peers[at] = Some(start(at));
            // The other one is next: this one must be tried again first.
            let log = dirs[at].path("access");
            let length = || std::fs::metadata(&log).map_or(0, |file| file.len());
            let before = length();
            until("it is asked again", || length() > before);
        }
        stop.store(true, Ordering::SeqCst);
    });
    assert_eq!(wrong.load(Ordering::SeqCst), 0, "of {}: {}", asked.load(Ordering::SeqCst), server.stderr());
}

#[test]
fn names_are_asked_for_again_when_their_time_is_over_and_stay_if_they_vanish() {
    let dir = Scratch::new();
    let (dns, here) = (Dns::new(), [Ipv4Addr::new(127, 0, 0, 11), Ipv4Addr::new(127, 0, 0, 12)]);
    let port = free_port();
    let upstreams = here.map(|ip| {
        Upstream::at(&format!("{ip}:{port}"), move |conn| {
            while conn.request().is_some() {
                conn.send(ok(&ip.to_string()));
            }
        })
    });
    dns.addresses("app.test", 1, &here[..1]);
    let group = format!("'http://app.test:{port}'");
    let lines = format!("num-threads: 2\nresolver: '{}'", dns.address);
    let server = Server::config(&dir, &config(&group, &lines));
    assert_eq!(server.get("/").text(), "127.0.0.11");
    dns.addresses("app.test", 1, &here[1..]);
    until("the new address is known", || server.get("/").text() == "127.0.0.12");
    dns.forget("app.test");
    server.until_stderr(
        "cannot resolve the host name: `app.test` does not exist or has no address; its previous addresses \
         stay in use",
    );
    assert!((0..6).all(|_| server.get("/").text() == "127.0.0.12"));
    drop(upstreams);
}

#[test]
fn services_are_found_with_their_ports_and_the_worse_ones_are_backups() {
    let dir = Scratch::new();
    let dns = Dns::new();
    let upstreams: Vec<_> = (0..3).map(|number| Upstream::answering(ok(&number.to_string()))).collect();
    let port = |at: usize| {
        upstreams[at].address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port")
    };
    dns.addresses("a.test", 1, &[Ipv4Addr::LOCALHOST]);
    dns.services(
        "_http._tcp.app.test",
        1,
        &[(1, 1, port(0), "a.test"), (1, 3, port(1), "a.test"), (2, 1, port(2), "a.test")],
    );
    let group = "[{url: 'http://_http._tcp.app.test', srv: YES}]";
    let lines = format!("num-threads: 1\nresolver: '{}'", dns.address);
    let server = Server::config(&dir, &config(group, &lines));
    let round = || -> Vec<String> {
        let mut all: Vec<_> = (0..8).map(|_| server.get("/").text()).collect();
        all.sort();
        all
    };
    assert_eq!(round().concat(), "00111111");
    dns.services("_http._tcp.app.test", 1, &[(2, 1, port(2), "a.test")]);
    until("the new list is known", || server.get("/").text() == "2");
    assert_eq!(round().concat(), "22222222");
}

#[test]
fn of_two_addresses_a_silent_one_costs_a_moment_and_not_the_timeout() {
    let dir = Scratch::new();
    let (dns, good) = (Dns::new(), Ipv4Addr::new(127, 0, 0, 13));
    let port = free_port();
    let _upstream = Upstream::at(&format!("{good}:{port}"), |conn| {
        while conn.request().is_some() {
            conn.send(ok("good"));
        }
    });
    // RFC 5737: an unassigned address. Where packets to it are refused at once, the next address is tried at
    // once.
    dns.addresses("app.test", 60, &[Ipv4Addr::new(192, 0, 2, 1), good]);
    let group = format!("'http://app.test:{port}'");
    let lines = format!("num-threads: 1\nproxy.timeout.connect: 60000\nresolver: '{}'", dns.address);
    let server = Server::config(&dir, &config(&group, &lines));
    // Far less than the test's timeout, and a third of a percent of the upstream timeout.
    assert_eq!(server.get("/").text(), "good");
    assert_eq!(server.get_with("/", "X: 1\r\n").text(), "good");
}
