//! Reloads that change the number of workers: no connection is lost, also not one that waits in the accept queue of a worker
//! that leaves.

use crate::reload::{GET, assert_reloaded, hosts, path, reload, site, write};
use crate::support::bench::{measured, total};
use crate::support::h2::kind;
use crate::support::upstream::{Upstream, ok};
use crate::support::{Client, Launch, Scratch, Server, Wire, needs_root, until};
use rustix::process::Signal;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The workers' threads that are running.
fn workers(server: &Server) -> usize {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.id())).expect("the server runs").flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("worker ")).count()
}

fn until_workers(server: &Server, number: usize) {
    until(&format!("{number} workers run"), || workers(server) == number);
}

/// A CPU that this process may use.
pub(crate) fn cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let list = status.split("Cpus_allowed_list:").nth(1).expect("the list").trim_start();
    list.chars().take_while(char::is_ascii_digit).collect()
}

fn config(threads: &str, folder: &str) -> String {
    hosts(&format!("num-threads: {threads}\n"), &[path("/", folder)])
}

#[test]
fn the_number_of_workers_follows_the_configuration() {
    let dir = site();
    let server = Server::config(&dir, &config("1", "one"));
    let (once, twice) = (format!("[{}]", cpu()), format!("[{0}, {0}]", cpu()));
    for (threads, number) in [("4", 4), ("2", 2), ("3", 3), ("1", 1), (&twice, 2), (&once, 1), ("2", 2)] {
        write(&dir, &config(threads, "two"));
        assert_reloaded(&server);
        until_workers(&server, number);
        // More than any worker's share: every accept queue has a worker.
        let mut clients: Vec<_> = (0..40).map(|_| server.connect()).collect();
        clients
            .iter_mut()
            .for_each(|client| assert_eq!(client.send(GET).answer().text(), "two", "{threads}"));
    }
    assert!(!server.stderr().contains("has changed"), "{}", server.stderr());
}

#[test]
fn busy_connections_of_workers_that_are_replaced_lose_no_request() {
    let dir = site();
    let texts = [config("2", "one"), config(&format!("[{0}, {0}]", cpu()), "one"), config("1", "one")];
    let server = Server::config(&dir, &texts[0]);
    let url = format!("http://{}/", server.address);
    let load = ["-c", "30", "-n", "60000", "-t", "1", "--http", "1.1", "--expect-status", "200", &url];
    std::thread::scope(|scope| {
        let load = scope.spawn(|| measured(&load));
        for number in 1.. {
            if load.is_finished() {
                break;
            }
            write(&dir, &texts[number % 3]);
            assert_reloaded(&server);
        }
        let (report, code) = load.join().expect("it ends");
        let total = total(&report);
        assert_eq!((&total["errors"]["total"], code), (&0.into(), 0), "{total}");
    });
}

#[test]
fn a_cpu_that_is_not_there_refuses_the_reload() {
    let dir = site();
    let server = Server::config(&dir, &config("2", "one"));
    write(&dir, &config(&format!("[{}, 1000]", cpu()), "two"));
    let ended = reload(&server);
    assert_eq!(ended.code, 71, "{}", ended.stderr);
    assert!(ended.stderr.contains("cannot run on CPU 1000"), "{}", ended.stderr);
    assert_eq!(server.get("/").text(), "one");
    until_workers(&server, 2);
}

#[test]
fn a_worker_that_cannot_start_refuses_the_reload_and_nothing_changes() {
    let dir = site();
    // Enough for the server, and for none, one or several more workers.
    for files in (38..=62).step_by(3) {
        let launch = Launch::config(&dir, &config("1", "one")).after(&format!("ulimit -n {files}"));
        let mut server = launch.serve();
        let mut open = server.connect();
        assert_eq!(open.send(GET).answer().text(), "one");
        write(&dir, &config("20", "two"));
        let ended = reload(&server);
        assert_eq!(ended.code, 71, "{files}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains("raise the limit of open files"), "{files}: {}", ended.stderr);
        assert_eq!(open.send(GET).answer().text(), "one", "{files}");
        until_workers(&server, 1);
        if files % 2 == 0 {
            write(&dir, &config("1", "two"));
            assert_reloaded(&server);
            assert_eq!(open.send(GET).answer().text(), "two", "{files}");
        }
        assert_eq!(server.stop(), Some(0), "{files}");
    }
}

/// A connection over HTTP/2 whose response is larger than its window.
#[test]
fn streams_of_a_worker_that_leaves_have_more_time_than_at_a_shutdown() {
    const LARGE: usize = 200_000;
    let dir = site();
    dir.write("one/large", vec![b'x'; LARGE]);
    let text = |threads: &str| {
        hosts(&format!("num-threads: {threads}\nhttp2-graceful-shutdown-timeout: 1\n"), &[path("/", "one")])
    };
    let server = Server::config(&dir, &text("1"));
    let mut wire = Wire::open(&server.address).without_credit();
    wire.get(1, "/large");
    let mut got = 0;
    while got < 65_535 {
        got += wire.next_of(kind::DATA).payload.len();
    }
    write(&dir, &text(&format!("[{}]", cpu())));
    assert_reloaded(&server);
    // Both of a graceful shutdown; then longer than a shutdown would wait.
    wire.next_of(kind::GOAWAY);
    wire.next_of(kind::GOAWAY);
    std::thread::sleep(Duration::from_millis(1500));
    wire.frame(kind::WINDOW_UPDATE, 0, 1, (LARGE as u32).to_be_bytes());
    assert_eq!(wire.answer(1).content.len(), LARGE);
    until_workers(&server, 1);
}

#[test]
fn connections_in_the_accept_queue_of_a_worker_that_leaves_are_served() {
    let dir = site();
    let server = Server::config(&dir, &config("4", "one"));
    for (threads, number) in [("1", 1), ("4", 4), ("2", 2)] {
        server.signal(Signal::STOP);
        let mut clients: Vec<_> = (0..60).map(|_| server.connect()).collect();
        clients.iter_mut().for_each(|client| _ = client.send(GET));
        write(&dir, &config(threads, "two"));
        server.signal(Signal::HUP);
        server.signal(Signal::CONT);
        for client in &mut clients {
            let text = client.answer().text();
            assert!(["one", "two"].contains(&text.as_str()), "{text}");
        }
        drop(clients);
        until_workers(&server, number);
    }
}

/// A connection whose only request is answered, to look at without waiting.
fn idle(address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("connected");
    stream.write_all(GET.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    while !answer.ends_with(b"one") {
        let mut piece = [0; 1024];
        let read = stream.read(&mut piece).expect("an answer");
        answer.extend_from_slice(&piece[..read]);
    }
    stream.set_nonblocking(true).expect("set");
    stream
}

#[test]
fn a_worker_that_leaves_completes_its_downloads_and_closes_idle_connections() {
    const LARGE: usize = 20_000_000;
    let dir = site();
    dir.write("one/large", vec![b'x'; LARGE]);
    let mut server = Server::config(&dir, &config("4", "one"));
    let mut slow: Vec<_> = (0..8).map(|_| server.connect()).collect();
    for client in &mut slow {
        client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n").receive_at_least(1000);
    }
    let idle: Vec<_> = (0..8).map(|_| idle(&server.address)).collect();
    write(&dir, &config("1", "two"));
    assert_reloaded(&server);
    assert_eq!(server.get("/").text(), "two");
    // One after the other, connections are spread evenly: a quarter belongs to the worker that stays.
    let closed = || idle.iter().filter(|stream| matches!(stream.peek(&mut [0]), Ok(0))).count();
    until("the idle connections of three workers are closed", || closed() == 6);
    // Their downloads keep the workers; other threads have their name until they set their own.
    until_workers(&server, 4);
    assert_eq!(closed(), 6);
    slow.iter_mut().for_each(|client| assert_eq!(client.answer().content.len(), LARGE));
    until_workers(&server, 1);
    drop((slow, idle));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn another_worker_goes_on_with_the_health_checks_of_one_that_leaves() {
    let dir = Scratch::new();
    dir.write("large", vec![b'x'; 20_000_000]);
    // One request for each connection: none is left over for the server that comes after it.
    let upstream = Upstream::scripted(|conn| {
        if conn.request().is_some() {
            conn.send(ok("up"));
        }
    });
    let address = upstream.address.clone();
    let text = |threads: &str| {
        format!(
            "num-threads: {threads}\nlisten: 127.0.0.1:0\nupstreams: {{app: {{backends: ['http://{address}'], health-check: \
             {{tcp: YES, interval: 50, rises: 1, falls: 1}}}}}}\nhosts: {{default: {{paths: {{/: \
             {{proxy.reverse.url: 'http://app/'}}, /large: {{file.file: {}}}}}}}}}\n",
            dir.text("large")
        )
    };
    let server = Server::config(&dir, &text("2"));
    // Workers with a CPU replace those without one: also the one that checks leaves, and ends much later.
    let (once, twice) = (format!("[{}]", cpu()), format!("[{0}, {0}]", cpu()));
    for (threads, number) in [(&once[..], 1), ("3", 3), (&twice, 2)] {
        let mut slow: Vec<_> = (0..workers(&server)).map(|_| server.connect()).collect();
        for client in &mut slow {
            client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n").receive_at_least(1000);
        }
        write(&dir, &text(threads));
        assert_reloaded(&server);
        drop(slow);
        until_workers(&server, number);
    }
    drop(upstream);
    server.until_stderr(&format!("http://{address}: health check failed, removed from the group: "));
    let upstream = Upstream::at(&address, |conn| {
        while conn.request().is_some() {
            conn.send(ok("back"));
        }
    });
    server.until_stderr("health check passed, back in the group");
    until("requests reach it", || server.get("/").text() == "back");
    drop(upstream);
}

#[test]
fn workers_of_unix_sockets_and_shared_queues_come_and_go() {
    let dir = site();
    let text = |threads: usize| {
        let listen = "listen:\n  - 127.0.0.1:0\n  - {type: unix, port: DIR/socket, permission: 666}\n";
        hosts(&format!("num-threads: {threads}\ntcp-reuseport: OFF\n{listen}"), &[path("/", "one")])
    };
    let server = Server::config(&dir, &text(2));
    for threads in [3, 1, 2] {
        write(&dir, &text(threads));
        assert_reloaded(&server);
        until_workers(&server, threads);
        let mut clients: Vec<_> = (0..20).map(|_| Client::connect_unix(&dir.path("socket"))).collect();
        clients.extend((0..20).map(|_| server.connect()));
        clients.iter_mut().for_each(|client| assert_eq!(client.send(GET).answer().text(), "one"));
    }
}

#[test]
fn a_server_that_has_given_up_roots_rights_adds_workers_to_a_privileged_port() {
    if !needs_root() {
        return;
    }
    let dir = site();
    let text = |threads: usize| {
        hosts(&format!("num-threads: {threads}\nuser: nobody\nlisten: '127.0.0.9:81'\n"), &[path("/", "one")])
    };
    let mut server = Server::config(&dir, &text(1));
    for threads in [3, 1, 2] {
        write(&dir, &text(threads));
        assert_reloaded(&server);
        until_workers(&server, threads);
        let mut clients: Vec<_> = (0..20).map(|_| Client::connect("127.0.0.9:81")).collect();
        clients.iter_mut().for_each(|client| assert_eq!(client.send(GET).answer().text(), "one"));
    }
    assert_eq!(server.stop(), Some(0));
}
