//! Groups of upstreams: names shared by paths, the hashing balancer, backups, limits with a queue, slow
//! upstreams among good ones.

use crate::support::upstream::{Conn, Upstream, ok, unused_address};
use crate::support::{Answer, Launch, Scratch, Server, Wire, until};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Upstreams that answer with their number.
fn numbered(count: usize) -> Vec<Upstream> {
    (0..count).map(|number| Upstream::answering(ok(&number.to_string()))).collect()
}

/// `[http://127.0.0.1:1, http://127.0.0.1:2]`
fn urls(upstreams: &[Upstream]) -> String {
    let urls: Vec<_> = upstreams.iter().map(|own| format!("http://{}", own.address)).collect();
    format!("[{}]", urls.join(", "))
}

fn config(group: &str, lines: &str) -> String {
    format!("{lines}\nhosts: {{default: {{paths: {{/: {{proxy.reverse.url: {group}}}}}}}}}\n")
}

fn one_worker(dir: &Scratch, group: &str) -> Server {
    Server::config(dir, &config(group, "num-threads: 1"))
}

#[test]
fn a_name_serves_many_hosts_and_paths_over_the_same_connections() {
    let (dir, upstreams) = (Scratch::new(), numbered(2));
    let hosts = "hosts: {a: {paths: {/x: {proxy.reverse.url: 'http://app/v1'}, /y: {proxy.reverse.url: 'http://app'}}}, b: \
                 {paths: {/: {proxy.reverse.url: 'http://app/'}}}}";
    let text = format!("num-threads: 1\nupstreams: {{app: {}}}\n{hosts}\n", urls(&upstreams));
    let server = Server::config(&dir, &text);
    for (host, path) in [("a", "/x/1"), ("a", "/y/2"), ("b", "/3"), ("a", "/x/4"), ("b", "/5")] {
        let asked = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(server.ask(asked)[0].status, 200, "{host}{path}");
    }
    let lines = |at: usize| -> Vec<String> {
        upstreams[at].requests().iter().map(|asked| asked.line().replace(" HTTP/1.1", "")).collect()
    };
    assert_eq!(lines(0), ["GET /v1/1", "GET /3", "GET /5"], "in turn, whatever the path");
    assert_eq!(lines(1), ["GET /2", "GET /v1/4"]);
    assert_eq!(upstreams[0].last().all("host"), [upstreams[0].address.as_str()]);
    assert_eq!([upstreams[0].connections(), upstreams[1].connections()], [1, 1]);
}

#[test]
fn what_is_wrong_with_a_group_is_said_with_its_place() {
    let dir = Scratch::new();
    let cases = [
        ("upstreams: {app: {backends: http://127.0.0.1:1, balance: hash}}", 78, "did you mean `balancer`?"),
        ("upstreams: {app: [{url: 'http://127.0.0.1:1', weight: 300}]}", 78, "from 1 to 256, found `300`"),
        ("upstreams: {app: http://127.0.0.1:1, app: http://127.0.0.1:1}", 78, "is defined twice"),
        ("upstreams: {app: http://127.0.0.1:1}", 0, "warning: upstream group `app` is not used"),
    ];
    for (lines, code, want) in cases {
        let said = Launch::config(&dir, &config("http://127.0.0.1:1", lines)).finish_test(&[]);
        assert!(said.stderr.contains(want), "{lines}: {}", said.stderr);
        assert_eq!(said.code, code, "{lines}");
    }
}

#[test]
fn a_key_stays_with_its_upstream_until_that_is_gone_and_then_only_its_keys_move() {
    let (dir, mut upstreams) = (Scratch::new(), numbered(4));
    let group = format!("{{backends: {}, balancer: {{hash: {{header: x-user}}}}}}", urls(&upstreams));
    let server = Server::config(&dir, &config(&group, "num-threads: 2"));
    let ask = |user: usize| {
        let answer = server.get_with("/", &format!("X-User: {user}\r\n"));
        (answer.status, answer.text())
    };
    let round = || -> Vec<_> { (0..200).map(ask).collect() };
    let first = round();
    assert!(first.iter().all(|(status, _)| *status == 200));
    assert_eq!(round(), first, "whichever worker serves");
    let mut shares = BTreeMap::new();
    first.iter().for_each(|(_, name)| *shares.entry(name.clone()).or_insert(0) += 1);
    assert!(shares.len() == 4 && shares.values().all(|share| (25..80).contains(share)), "{shares:?}");
    drop(upstreams.remove(1));
    let second = round();
    for (before, after) in first.iter().zip(&second) {
        assert_eq!(after.0, 200, "repeated elsewhere");
        assert!(before.1 == "1" && after.1 != "1" || before == after, "{before:?} {after:?}");
    }
}

#[test]
fn a_cookie_leads_to_the_same_upstream_over_either_protocol_and_in_any_case() {
    let (dir, upstreams) = (Scratch::new(), numbered(8));
    let group = format!("{{backends: {}, balancer: {{hash: {{cookie: sid}}}}}}", urls(&upstreams));
    let server = one_worker(&dir, &group);
    let mut wire = Wire::open(&server.address);
    for user in 0..10 {
        let cookie = format!("a=1; sid=user-{user}");
        let stream = 2 * user + 1;
        wire.ask(stream, "GET", "/", &[("cookie", &cookie)], true);
        let over_http2 = wire.answer(stream).text();
        for name in ["cookie", "Cookie", "COOKIE"] {
            let answer = server.get_with("/", &format!("{name}: {cookie}\r\n"));
            assert_eq!(answer.text(), over_http2, "user {user}, {name}");
        }
    }
}

#[test]
fn a_backup_takes_over_and_gives_back() {
    let (dir, backup) = (Scratch::new(), Upstream::answering(ok("backup")));
    let address = unused_address();
    let group = format!(
        "{{backends: [http://{address}, {{url: 'http://{}', backup: YES}}, {{url: 'http://127.0.0.1:9', down: YES}}]}}",
        backup.address
    );
    let server = one_worker(&dir, &group);
    for _ in 0..3 {
        assert_eq!(server.get("/").text(), "backup");
    }
    server.until_stderr("ejected for 1 s");
    let _main = Upstream::at(&address, |conn| {
        while conn.request().is_some() {
            conn.send(ok("main"));
        }
    });
    until("the first one is asked again", || server.get("/").text() == "main");
    server.until_stderr("accepts connections again");
    let asked = backup.requests().len();
    assert!((0..5).all(|_| server.get("/").text() == "main"));
    assert_eq!(backup.requests().len(), asked);
}

/// An upstream that delays its responses until signaled, and counts its concurrent requests.
struct Held {
    upstream: Upstream,
    most: Arc<AtomicUsize>,
    go: Arc<AtomicBool>,
    now: Arc<AtomicUsize>,
}

fn held() -> Held {
    let (most, now, go) =
        (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
    let upstream = Upstream::scripted({
        let (most, now, go) = (Arc::clone(&most), Arc::clone(&now), Arc::clone(&go));
        move |conn: &mut Conn| {
            while conn.request().is_some() {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                until("it may answer", || go.load(Ordering::SeqCst));
                now.fetch_sub(1, Ordering::SeqCst);
                conn.send(ok("held"));
            }
        }
    });
    Held { upstream, most, go, now }
}

/// The responses of this many concurrent clients; `meanwhile` gets those received so far.
fn ask_together(server: &Server, clients: usize, meanwhile: impl FnOnce(&Mutex<Vec<Answer>>)) -> Vec<Answer> {
    let answers = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let answer = server.get("/");
                answers.lock().expect("no panic within").push(answer);
            });
        }
        meanwhile(&answers);
    });
    answers.into_inner().expect("no panic within")
}

#[test]
fn no_upstream_has_more_requests_than_it_may_and_the_others_wait_whichever_worker_they_have() {
    let (dir, held) = (Scratch::new(), held());
    let group = format!("{{backends: [{{url: 'http://{}', max-connections: 3}}]}}", held.upstream.address);
    let server = Server::config(&dir, &config(&group, "num-threads: 4"));
    let answers = ask_together(&server, 40, |_| {
        until("as many as may be are there", || held.now.load(Ordering::SeqCst) == 3);
        held.go.store(true, Ordering::SeqCst);
    });
    assert!(answers.iter().all(|answer| answer.status == 200), "{:?}", server.stderr());
    assert_eq!(held.most.load(Ordering::SeqCst), 3);
    assert_eq!(held.upstream.requests().len(), 40);
}

#[test]
fn requests_that_find_the_queue_full_or_wait_too_long_get_retry_after() {
    let (dir, held) = (Scratch::new(), held());
    let group = format!(
        "{{backends: [{{url: 'http://{}', max-connections: 1}}], queue: {{length: 2, timeout: 1500}}}}",
        held.upstream.address
    );
    let server = one_worker(&dir, &group);
    let answers = ask_together(&server, 6, |answers| {
        server.until_stderr("all upstreams are busy and the queue is full");
        server.until_stderr("all upstreams were busy; the request timed out in the queue");
        // The second waiting one may have arrived later.
        until("all others have their answers", || answers.lock().expect("no panic within").len() == 5);
        held.go.store(true, Ordering::SeqCst);
    });
    let (good, bad): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!((good.len(), bad.len()), (1, 5));
    for answer in bad {
        assert_eq!((answer.status, answer.field("retry-after")), (503, Some("2")));
    }
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn a_client_that_gives_up_waiting_leaves_its_place_to_the_next() {
    let (dir, held) = (Scratch::new(), held());
    let group = format!("{{backends: [{{url: 'http://{}', max-connections: 1}}]}}", held.upstream.address);
    let server = one_worker(&dir, &group);
    let mut first = server.connect();
    first.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n");
    until("the only place is taken", || held.now.load(Ordering::SeqCst) == 1);
    let mut second = server.connect();
    second.send("GET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
    drop(second);
    let mut third = server.connect();
    third.send("GET /3 HTTP/1.1\r\nHost: a\r\n\r\n");
    held.go.store(true, Ordering::SeqCst);
    assert_eq!((first.answer().status, third.answer().status), (200, 200));
    assert_eq!(held.most.load(Ordering::SeqCst), 1);
}

#[test]
fn an_upstream_that_hangs_costs_its_own_requests_only() {
    let (dir, good) = (Scratch::new(), Upstream::answering(ok("good")));
    let hanging = Upstream::scripted(|conn| {
        if conn.request().is_some() {
            conn.is_closed();
        }
    });
    let group = format!("{{backends: [http://{}, http://{}]}}", hanging.address, good.address);
    let server = one_worker(&dir, &group);
    // Every second request gets no answer during the test; the others are answered.
    let mut waiting = Vec::new();
    for number in 0..20 {
        let mut client = server.connect();
        client.send(format!("GET /{number} HTTP/1.1\r\nHost: a\r\n\r\n"));
        waiting.push(client);
    }
    until("half of them are stuck", || hanging.connections() == 10);
    until("the other half was answered", || good.requests().len() == 10);
    let answered = waiting.iter_mut().skip(1).step_by(2).map(|client| client.answer().text());
    assert!(answered.into_iter().all(|text| text == "good"));
    assert_eq!(server.stderr().matches(" request: ").count(), 0);
}

#[test]
fn tries_are_as_many_as_was_configured() {
    let dir = Scratch::new();
    let closing = |_: usize| {
        Upstream::scripted(|conn| {
            conn.request();
        })
    };
    for (tries, want) in [(1, 1), (2, 2), (4, 3)] {
        let upstreams: Vec<_> = (0..3).map(closing).collect();
        let group = format!("{{backends: {}, retry: {{tries: {tries}}}}}", urls(&upstreams));
        let server = one_worker(&dir, &group);
        assert_eq!(server.get("/").status, 502);
        assert_eq!(upstreams.iter().map(|own| own.requests().len()).sum::<usize>(), want, "{tries}");
    }
}

#[test]
fn what_is_the_clients_fault_names_the_client() {
    let (dir, upstream) = (Scratch::new(), Upstream::echo());
    let server = one_worker(&dir, &format!("http://{}", upstream.address));
    let asked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n";
    assert_eq!(server.ask(asked)[0].status, 400);
    server.until_stderr(" for \"/\": client: ");
    assert!(!server.stderr().contains("upstream"), "{}", server.stderr());
}
