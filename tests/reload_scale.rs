//! Repeated reloads of large configurations, with many connections: time, stalls, memory.
//!
//! `HAYAMI_LONG_CHECKS=1` checks the full numbers and prints the measurements.

use crate::reload::{GET, assert_reloaded, hosts, path, site, write};
use crate::reload_load::{Ending, is_long};
use crate::support::certificates::{Authority, Leaf};
use crate::support::{Client, Launch, Scratch, Server, until};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Prints a figure for bench/RESULTS-reload.md.
fn measured(text: &str) {
    if is_long() {
        println!("{text}");
    }
}

/// A thread of the server: its number, how often it has slept, and the CPU time that it has used.
#[derive(Clone, Copy, Debug)]
struct Sample {
    sleeps: u64,
    nanos: u64,
}

impl Sample {
    fn of(folder: &str) -> Option<Self> {
        let status = fs::read_to_string(format!("{folder}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        let times = fs::read_to_string(format!("{folder}/schedstat")).ok()?;
        Some(Self { sleeps: line.trim().parse().ok()?, nanos: times.split(' ').next()?.parse().ok()? })
    }
}

/// The folders of the workers below /proc.
fn workers(server: &Server) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.id())).expect("it runs").flatten();
    let folders = tasks.map(|task| task.path().to_string_lossy().into_owned());
    let is_worker = |folder: &String| {
        fs::read_to_string(format!("{folder}/comm")).is_ok_and(|name| name.starts_with("worker "))
    };
    folders.filter(is_worker).collect()
}

/// The longest time for which a worker without requests runs without waiting for events, while `work` is done: a
/// request would have waited that long. It is CPU time, so that other programs on this machine do not count.
fn longest_turn(server: &Server, work: impl FnOnce()) -> Duration {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watchers: Vec<_> = workers(server)
            .into_iter()
            .map(|folder| {
                let stop = &stop;
                scope.spawn(move || {
                    let mut before = Sample::of(&folder).expect("a worker");
                    let mut longest = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let now = Sample::of(&folder).expect("a worker");
                        if now.sleeps != before.sleeps {
                            longest = longest.max(now.nanos - before.nanos);
                            before = now;
                        }
                        std::thread::sleep(Duration::from_micros(50));
                    }
                    longest
                })
            })
            .collect();
        work();
        // A worker's later work counts, too: it frees the previous generation.
        std::thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        let all = watchers.into_iter().map(|watcher| watcher.join().expect("a watcher"));
        Duration::from_nanos(all.max().unwrap_or_default())
    })
}

/// Bytes of memory in use.
fn memory(server: &Server) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/status", server.id())).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("such a line");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

fn descriptors(server: &Server) -> usize {
    fs::read_dir(format!("/proc/{}/fd", server.id())).expect("it runs").count()
}

const HOSTS: usize = 1000;

/// A thousand hosts with two paths each, one of which requires a password, and with certificates for some.
fn many_hosts(dir: &Scratch, certificates: usize, folder: &str) -> String {
    let mut text = "num-threads: 2\nlisten: 127.0.0.1:0\nhosts:\n".to_owned();
    for number in 0..HOSTS {
        text += &format!("  h{number}.example:\n");
        if number < certificates {
            text += &format!(
                "    listen: {{host: 127.0.0.2, port: 0, ssl: {{certificate-file: DIR/tls/c{number}.pem, key-file: \
                 DIR/tls/c{number}.key, ocsp-update-interval: 0}}}}\n"
            );
        }
        text += &format!(
            "    paths:\n      /: {{file.dir: DIR/{folder}}}\n      /a/: {{file.dir: DIR/{folder}, auth.basic: {{file: \
             DIR/users}}}}\n"
        );
    }
    text.replace("DIR", &dir.text(""))
}

/// Requests from each host on connections to all workers: now these have routes, which the next reload frees.
fn visit_all(server: &Server) {
    let mut clients: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for client in &mut clients {
        for number in 0..HOSTS {
            let request = format!("GET / HTTP/1.1\r\nHost: h{number}.example\r\n\r\n");
            assert_eq!(client.send(request).answer().status, 200);
        }
    }
}

#[test]
fn a_thousand_hosts_reload_fast_and_no_worker_is_kept_from_its_requests() {
    let dir = site();
    let users: String =
        (0..200).map(|user| format!("u{user}:$apr1$tzFGqvBh$sct63ESNHPh2ADluBMaqk0\n")).collect();
    dir.write("users", users);
    let certificates = if is_long() { HOSTS } else { 20 };
    let authority = Authority::new(&dir);
    for number in 0..certificates {
        let (file, names) = (format!("c{number}"), format!("DNS:h{number}.example"));
        authority.issue(&Leaf { file: &file, names: &names, rsa: false, extensions: &[] });
        dir.permit(&format!("tls/{file}.key"), 0o644);
    }
    let server = Server::config(&dir, &many_hosts(&dir, certificates, "one"));
    let (mut times, mut turns) = (Vec::new(), Vec::new());
    for folder in ["two", "one", "one", "two", "one", "two", "two", "one", "two", "one"] {
        visit_all(&server);
        write(&dir, &many_hosts(&dir, certificates, folder));
        turns.push(longest_turn(&server, || {
            let begin = Instant::now();
            assert_reloaded(&server);
            times.push(begin.elapsed());
        }));
    }
    times.sort_unstable();
    turns.sort_unstable();
    measured(&format!(
        "{HOSTS} hosts, {} paths, {certificates} certificates, 2 workers, 10 reloads",
        2 * HOSTS
    ));
    measured(&format!("  `hayami reload`: median {:?}, longest {:?}", times[5], times[9]));
    measured(&format!("  longest turn of a worker: median {:?}, longest {:?}", turns[5], turns[9]));
    // While other tests run, and without most optimisations, a time is meaningless.
    if is_long() {
        assert!(times[5] < Duration::from_millis(200), "{times:?}");
        assert!(turns[5] < Duration::from_millis(1), "{turns:?}");
    }
}

#[test]
fn idle_connections_survive_reloads_and_delay_none() {
    let dir = site();
    let text = |folder| hosts("num-threads: 2\nhttp1-request-timeout: 600\n", &[path("/", folder)]);
    dir.write("hayami.conf", "");
    // The program raises its limit of open files by itself.
    let server = Launch::config(&dir, &text("one")).serve();
    let number = if is_long() { 18_000 } else { 400 };
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).expect("up to the hard limit");
    let ask = |stream: &mut TcpStream, want: &str| {
        stream.write_all(GET.as_bytes()).expect("sent");
        let (mut answer, mut piece) = (Vec::new(), [0; 1024]);
        while !answer.ends_with(want.as_bytes()) {
            let read = stream.read(&mut piece).expect("an answer");
            assert!(read > 0, "closed: {}", String::from_utf8_lossy(&answer));
            answer.extend_from_slice(&piece[..read]);
        }
    };
    let mut streams = Vec::with_capacity(number);
    for _ in 0..number {
        let mut stream = TcpStream::connect(&server.address).expect("connected");
        ask(&mut stream, "one");
        streams.push(stream);
    }
    let (mut times, mut turns) = (Vec::new(), Vec::new());
    for reload in 0..10 {
        write(&dir, &text(["two", "one"][reload % 2]));
        turns.push(longest_turn(&server, || {
            let begin = Instant::now();
            assert_reloaded(&server);
            times.push(begin.elapsed());
        }));
    }
    streams.iter_mut().for_each(|stream| ask(stream, "one"));
    times.sort_unstable();
    turns.sort_unstable();
    measured(&format!("{number} idle connections, 2 workers, 10 reloads: none lost"));
    measured(&format!("  `hayami reload`: median {:?}, longest {:?}", times[5], times[9]));
    measured(&format!("  longest turn of a worker: median {:?}, longest {:?}", turns[5], turns[9]));
    if is_long() {
        assert!(turns[5] < Duration::from_millis(1), "{turns:?}");
    }
}

#[test]
fn connections_of_a_removed_listener_end_while_others_are_served() {
    let dir = site();
    let text = |listen: &str| {
        let head = format!("num-threads: 1\nhttp1-request-timeout: 600\nlisten:\n  - 127.0.0.1:0\n{listen}");
        hosts(&head, &[path("/", "one")])
    };
    let server = Server::config(&dir, &text("  - 127.0.0.2:0\n"));
    let addresses = server.addresses();
    let mut leaving: Vec<_> = (0..if is_long() { 9000 } else { 400 })
        .map(|_| {
            let mut client = Client::connect(&addresses[1]);
            assert_eq!(client.send(GET).answer().text(), "one");
            client
        })
        .collect();
    write(&dir, &text(""));
    let turn = longest_turn(&server, || assert_reloaded(&server));
    assert!(leaving.iter_mut().all(Client::is_closed));
    assert_eq!(server.get("/").text(), "one");
    measured(&format!(
        "{} connections of a listener that is removed, 1 worker: CPU time until all have ended, in many turns: {turn:?}",
        leaving.len()
    ));
}

/// Reloads that many times; every tenth time, requests are made in between.
fn reload_often(dir: &Scratch, server: &Server, times: usize, text: &dyn Fn(usize) -> String) {
    for number in 0..times {
        write(dir, &text(number));
        assert_reloaded(server);
        if is_long() {
            // So that memory freed half a minute later is freed while it is monitored.
            std::thread::sleep(Duration::from_millis(100));
        }
        if number % 10 == 0 {
            assert_eq!(server.get("/").status, 200);
        }
    }
}

#[test]
fn neither_memory_nor_descriptors_grow_with_the_number_of_reloads() {
    let dir = site();
    let certificates = 3;
    let authority = Authority::new(&dir);
    for number in 0..certificates {
        let (file, names) = (format!("c{number}"), format!("DNS:h{number}.example"));
        authority.issue(&Leaf { file: &file, names: &names, rsa: false, extensions: &[] });
        dir.permit(&format!("tls/{file}.key"), 0o644);
    }
    // The server's user opens them.
    for log in ["logs/0", "logs/1"] {
        dir.write(log, "").permit(log, 0o666);
    }
    let text = |number: usize| {
        let mut text = format!(
            "num-threads: 2\nfile.cache.size: 1m\nlisten: 127.0.0.1:0\naccess-log: {}/{}\nhosts:\n",
            dir.text("logs"),
            number % 2
        );
        for host in 0..50 {
            text += &format!("  h{host}.example:\n");
            if host < certificates {
                text += &format!(
                    "    listen: {{host: 127.0.0.2, port: 0, ssl: {{certificate-file: DIR/tls/c{host}.pem, key-file: DIR/tls/c{host}.key, ocsp-update-interval: 0}}}}\n"
                );
            }
            let (folder, port) = (["one", "two"][number % 2], 40_000 + number % 2);
            text += &format!(
                "    paths:\n      /: {{file.dir: DIR/{folder}}}\n      /up/: {{proxy.reverse.url: 'http://127.0.0.1:{port}/{host}'}}\n"
            );
        }
        text.replace("DIR", &dir.text(""))
    };
    // Cached files of generations before are dropped by the cache, when it is full or half a minute later.
    let (warm, all) = if is_long() { (400, 1000) } else { (30, 90) };
    for with_traffic in [false, true] {
        let server = Server::config(&dir, &text(0));
        let stop = AtomicBool::new(false);
        let (before, after) = std::thread::scope(|scope| {
            let _ending = Ending(&stop);
            if with_traffic {
                let (server, stop) = (&server, &stop);
                scope.spawn(move || {
                    let mut client = server.connect();
                    let mut number = 0;
                    while !stop.load(Ordering::Relaxed) {
                        number = (number + 1) % 50;
                        let request = format!("GET / HTTP/1.1\r\nHost: h{number}.example\r\n\r\n");
                        assert_eq!(client.send(request).answer().status, 200);
                    }
                });
            }
            reload_often(&dir, &server, warm, &text);
            let before = (memory(&server), descriptors(&server));
            reload_often(&dir, &server, all - warm, &text);
            (before, memory(&server))
        });
        let (mib, traffic) =
            (|bytes: u64| bytes as f64 / f64::from(1 << 20), if with_traffic { "with" } else { "without" });
        measured(&format!(
            "50 hosts, {traffic} traffic: {:.1} MiB after {warm} reloads, {:.1} MiB after {all}; {} descriptors",
            mib(before.0),
            mib(after),
            before.1
        ));
        assert!(after < before.0 + before.0 / 5 + (1 << 20), "{before:?} {after}");
        until("descriptors are as many as before", || descriptors(&server) <= before.1 + 2);
    }
}
