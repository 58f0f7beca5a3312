//! `hayami reload` and SIGHUP: the configuration is read again while requests continue.

use crate::support::{Client, Finished, Launch, Scratch, Server, needs_root, until};
use rustix::process::Signal;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A site with a folder for each generation of a test.
pub(crate) fn site() -> Scratch {
    let dir = Scratch::new();
    for name in ["one", "two"] {
        dir.write(&format!("{name}/index.html"), name);
    }
    dir
}

/// A path that serves a folder.
pub(crate) fn path(prefix: &str, folder: &str) -> String {
    format!("      {prefix}: {{file.dir: DIR/{folder}}}\n")
}

pub(crate) fn hosts(head: &str, paths: &[String]) -> String {
    format!("{head}hosts:\n  default:\n    paths:\n{}", paths.concat())
}

/// Replaces the configuration.
pub(crate) fn write(dir: &Scratch, text: &str) {
    let listen = if text.contains("listen:") { "" } else { "listen: 127.0.0.1:0\n" };
    dir.replace("hayami.conf", format!("{listen}{text}").replace("DIR", &dir.text("")));
}

/// Reloads the server.
pub(crate) fn reload(server: &Server) -> Finished {
    Launch::new(["reload", &server.banner("control")]).finish()
}

#[track_caller]
pub(crate) fn assert_reloaded(server: &Server) {
    let ended = reload(server);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.starts_with("configuration reloaded: "), "{}", ended.stdout);
}

/// An address of this machine on which nothing listens, and no other test will.
pub(crate) fn free() -> String {
    TcpListener::bind("127.0.0.7:0").and_then(|own| own.local_addr()).expect("a port").to_string()
}

pub(crate) const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn new_requests_get_the_new_configuration_also_on_connections_that_are_open() {
    let dir = site();
    let server = Server::config(&dir, &hosts("", &[path("/", "one")]));
    let mut open = server.connect();
    assert_eq!(open.send(GET).answer().text(), "one");
    write(&dir, &hosts("", &[path("/", "two"), path("/more", "one")]));
    assert_eq!(server.get("/").text(), "one", "nothing changes before the reload");
    assert_reloaded(&server);
    assert_eq!(open.send(GET).answer().text(), "two");
    assert_eq!(server.get("/more/").text(), "one");
    write(&dir, &hosts("", &[path("/", "one")]));
    server.signal(Signal::HUP);
    until("the signal reloads as well", || server.get("/").text() == "one");
    assert_eq!(server.get("/more/").status, 404);
    server.until_stderr("notice server: SIGHUP: configuration reloaded: hosts 1, addresses 1");
}

#[test]
fn an_address_is_replaced_by_one_that_contains_it_and_back() {
    let dir = site();
    let port = free().rsplit(':').next().expect("a port").to_owned();
    // A server that has changed its user cannot add sockets to those of the user before.
    let user = if rustix::process::geteuid().is_root() { "user: root\n" } else { "" };
    let text =
        |listen: &str, head: &str| hosts(&format!("{head}{user}listen: '{listen}'\n"), &[path("/", "one")]);
    let (one, all) = (format!("127.0.0.1:{port}"), format!("0.0.0.0:{port}"));
    let server = Server::config(&dir, &text(&one, ""));
    for (listen, elsewhere) in [(&all, true), (&one, false), (&port, true), (&one, false)] {
        write(&dir, &text(listen, ""));
        assert_reloaded(&server);
        let mut clients: Vec<_> = (0..10).map(|_| Client::connect(&one)).collect();
        clients.iter_mut().for_each(|client| assert_eq!(client.send(GET).answer().text(), "one"));
        assert_eq!(TcpStream::connect(format!("127.0.0.2:{port}")).is_ok(), elsewhere, "{listen}");
    }
    write(&dir, &text(&all, "tcp-reuseport: OFF\n"));
    let ended = reload(&server);
    assert_eq!(ended.code, 69, "{}", ended.stderr);
    let want = format!("cannot listen on {all}: this server listens on {one}");
    assert!(ended.stderr.contains(&want) && ended.stderr.contains("restart"), "{}", ended.stderr);
    assert_eq!(Client::connect(&one).send(GET).answer().text(), "one");
}

#[test]
fn a_wrong_configuration_changes_nothing_and_the_caller_sees_every_error() {
    let dir = site();
    let server = Server::config(&dir, &hosts("", &[path("/", "one")]));
    let cases = [
        (
            hosts("num-thread: 2\nlimit-request-bodi: 1\n", &[path("/", "two")]),
            78,
            vec!["num-threads", "limit-request-body"],
        ),
        ("hosts: [".to_owned(), 78, vec!["hayami.conf:"]),
        (hosts("user: no-such-user-here\n", &[path("/", "two")]), 78, vec!["no-such-user-here"]),
        (hosts("access-log: DIR/nowhere/log\n", &[path("/", "two")]), 73, vec!["nowhere/log"]),
    ];
    for (text, code, words) in cases {
        write(&dir, &text);
        let ended = reload(&server);
        assert_eq!((ended.code, ended.stdout.as_str()), (code, ""), "{text}: {}", ended.stderr);
        for word in words.iter().chain(&["the configuration was not reloaded, the old one stays"]) {
            assert!(ended.stderr.contains(word), "{text}: {}", ended.stderr);
        }
        assert_eq!(server.get("/").text(), "one", "{text}");
    }
    server.until_stderr("error server: hayami reload: the configuration was not reloaded");
}

#[test]
fn listeners_come_and_go_and_connections_of_one_that_goes_end_without_losing_a_request() {
    let dir = site();
    let (first, second) = (free(), free());
    let listen = |addresses: &[&String]| -> String {
        let lines = addresses.iter().map(|address| format!("  - '{address}'\n"));
        format!("num-threads: 2\nlisten:\n{}", lines.collect::<String>())
    };
    let server = Server::config(&dir, &hosts(&listen(&[&first]), &[path("/", "one")]));
    let mut leaving = Client::connect(&first);
    assert_eq!(leaving.send(GET).answer().text(), "one");
    write(&dir, &hosts(&listen(&[&first, &second]), &[path("/", "one")]));
    assert_reloaded(&server);
    let mut staying = Client::connect(&second);
    assert_eq!(staying.send(GET).answer().text(), "one");
    // Half a request has been sent when its listener is closed.
    let mut half = Client::connect(&first);
    half.send("GET / HTTP/1.1\r\nHo");
    assert_eq!(leaving.send(GET).answer().text(), "one");
    write(&dir, &hosts(&listen(&[&second]), &[path("/", "two")]));
    assert_reloaded(&server);
    assert!(leaving.is_closed(), "idle connections of a closed listener end");
    assert_eq!(half.send("st: a\r\n\r\n").answer().text(), "one", "as it was meant");
    assert!(half.is_closed());
    assert_eq!(staying.send(GET).answer().text(), "two");
    assert!(TcpStream::connect(&first).is_err(), "nothing listens there any more");
}

#[test]
fn an_address_that_is_taken_refuses_the_reload() {
    let dir = site();
    let server = Server::config(&dir, &hosts("listen: 127.0.0.1:0\n", &[path("/", "one")]));
    let taken = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = taken.local_addr().expect("an address");
    write(&dir, &hosts(&format!("listen: 127.0.0.1:0\nlisten: '{address}'\n"), &[path("/", "two")]));
    let ended = reload(&server);
    assert_eq!(ended.code, 69, "{}", ended.stderr);
    assert!(ended.stderr.contains(&address.to_string()), "{}", ended.stderr);
    assert_eq!(server.get("/").text(), "one");
}

#[test]
fn everything_that_is_wrong_is_told_at_once_with_its_line() {
    let dir = site();
    let server = Server::config(&dir, &hosts("", &[path("/", "one")]));
    let taken = TcpListener::bind("127.0.0.1:0").expect("bound");
    let address = taken.local_addr().expect("an address");
    let log = "    access-log: DIR/nowhere/log\n";
    let spawn = "      /app: {fastcgi.spawn: no-such-application}\n".to_owned();
    let head =
        format!("listen: 127.0.0.1:0\nlisten: '{address}'\nlisten: {{type: unix, port: DIR/none/s}}\n");
    write(&dir, &hosts(&head, &[path("/", "two"), spawn, log.to_owned()]));
    let ended = reload(&server);
    assert_eq!(ended.code, 78, "{}", ended.stderr);
    for (message, line) in [
        (format!("cannot listen on {address}"), 2),
        ("cannot create the unix socket".to_owned(), 3),
        ("a reload cannot start the application `no-such-application`".to_owned(), 8),
        (format!("cannot write the access-log {}", dir.text("nowhere/log")), 9),
    ] {
        let place = format!("hayami.conf:{line}:");
        let after = ended.stderr.split(&message).nth(1);
        assert!(
            after.is_some_and(|after| after.lines().nth(1).is_some_and(|own| own.contains(&place))),
            "{message}, {place}: {}",
            ended.stderr
        );
        server.until_stderr(&message);
    }
    assert_eq!(server.get("/").text(), "one");
}

#[test]
fn files_that_cannot_be_read_refuse_the_reload_and_are_named() {
    let dir = site();
    let server = Server::config(&dir, &hosts("", &[path("/", "one")]));
    dir.write("damaged", "no user");
    let listen =
        "listen: {port: 0, host: 127.0.0.1, ssl: {certificate-file: DIR/no.pem, key-file: DIR/no.key}}\n";
    let user = "auth.basic: {file: DIR/damaged}\n";
    let networks = "allow: {file: DIR/none}\n";
    write(&dir, &hosts(&format!("{listen}{user}{networks}nonsense: 1\n"), &[path("/", "two")]));
    let ended = reload(&server);
    assert_eq!(ended.code, 78, "{}", ended.stderr);
    for words in ["no.pem does not exist", "hayami.conf:1:", "damaged`: line 1", "hayami.conf:2:"] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    for words in
        ["none`: there is no such file", "hayami.conf:3:", "unknown directive `nonsense`", "hayami.conf:4:"]
    {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    assert_eq!(server.get("/").text(), "one");
}

#[test]
fn what_belongs_to_the_process_is_named_and_waits_for_a_restart() {
    let dir = site();
    let server = Server::config(&dir, &hosts("max-connections: 8\n", &[path("/", "one")]));
    write(&dir, &hosts("limit-request-memory: 1000000\nmax-connections: 7\n", &[path("/", "two")]));
    let ended = reload(&server);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for directive in ["`limit-request-memory` has changed", "`max-connections` has changed"] {
        assert!(ended.stderr.contains(directive), "{}", ended.stderr);
        server.until_stderr(directive);
    }
    assert_eq!(server.get("/").text(), "two");
    // The running process counts, not the configuration before.
    let again = reload(&server);
    assert!(again.stderr.contains("`max-connections` has changed"), "{}", again.stderr);
    write(&dir, &hosts("max-connections: 8\n", &[path("/", "one")]));
    let back = reload(&server);
    assert!(back.code == 0 && !back.stderr.contains("has changed"), "{}", back.stderr);
}

#[test]
fn clients_of_the_control_socket_that_say_nothing_delay_no_reload() {
    let dir = site();
    let server = Server::config(&dir, &hosts("", &[path("/", "one")]));
    let silent: Vec<_> =
        (0..8).map(|_| UnixStream::connect(server.banner("control")).expect("connected")).collect();
    let began = Instant::now();
    assert_reloaded(&server);
    // One of them is given five seconds.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    drop(silent);
}

#[test]
fn a_log_file_that_has_been_moved_away_is_opened_again() {
    let dir = site();
    // The server's user creates the new one.
    dir.permit("", 0o777);
    let text = hosts("access-log: {path: DIR/log, format: '%U'}\n", &[path("/", "one")]);
    let server = Server::config(&dir, &text);
    server.get("/?before");
    until("a line", || dir.read("log").contains("/"));
    std::fs::rename(dir.path("log"), dir.path("log.1")).expect("renamed");
    assert_reloaded(&server);
    server.get("/index.html");
    until("a line in the new file", || dir.read("log") == "/index.html\n");
    assert_eq!(dir.read("log.1"), "/\n");
}

#[test]
fn what_root_has_opened_stays_open_where_the_servers_user_could_not_open_it() {
    if !needs_root() {
        return;
    }
    let dir = site();
    let text = |folder| {
        let head = "listen: {type: unix, port: DIR/socket}\naccess-log: DIR/log\npid-file: DIR/pid\n";
        hosts(head, &[path("/", folder)])
    };
    let server = Server::config(&dir, &text("one"));
    write(&dir, &text("two"));
    assert_reloaded(&server);
    let mut client = Client::connect_unix(&dir.path("socket"));
    assert_eq!(client.send(GET).answer().text(), "two");
    until("the log goes on", || dir.read("log").contains("GET / HTTP/1.1"));
    // That user has to be able to open new files.
    write(&dir, &text("one").replace("DIR/log", "DIR/other"));
    let ended = reload(&server);
    assert_eq!(ended.code, 73, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("cannot write the access-log") && ended.stderr.contains("`nobody`"),
        "{}",
        ended.stderr
    );
}

#[test]
fn no_request_fails_while_the_configuration_is_reloaded_again_and_again() {
    let dir = site();
    let texts = ["one", "two"].map(|folder| hosts("num-threads: 2\n", &[path("/", folder)]));
    let server = Server::config(&dir, &texts[0]);
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for kept in [true, true, false] {
            let (server, stop, done) = (&server, &stop, &done);
            scope.spawn(move || {
                let mut client = server.connect();
                while !stop.load(Ordering::Relaxed) {
                    if !kept {
                        client = server.connect();
                    }
                    let answer = client.send(GET).answer();
                    assert_eq!(answer.status, 200);
                    assert!(["one", "two"].contains(&answer.text().as_str()), "{answer:?}");
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for number in 1..=20 {
            write(&dir, &texts[number % 2]);
            assert_reloaded(&server);
            let seen = done.load(Ordering::Relaxed);
            until("requests go on", || done.load(Ordering::Relaxed) > seen + 10);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_download_goes_on_under_its_generation_and_generations_without_users_are_freed() {
    let dir = site();
    dir.write("one/large", vec![b'x'; 20_000_000]);
    let text = hosts("access-log: {path: DIR/log, format: '%U'}\n", &[path("/", "one")]);
    let server = Server::config(&dir, &text);
    let mut slow = server.connect();
    slow.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n").receive_at_least(1000);
    assert_reloaded(&server);
    server.get("/");
    let count =
        |what: &str| std::fs::read_dir(format!("/proc/{}/{what}", server.id())).expect("it runs").count();
    let before = (count("fd"), count("task"));
    for _ in 0..30 {
        assert_reloaded(&server);
        server.get("/");
    }
    // Threads that end a moment later close the descriptors of a generation.
    until("descriptors and threads are as many as before", || {
        count("fd") <= before.0 + 1 && count("task") <= before.1
    });
    assert_eq!(slow.answer().content.len(), 20_000_000);
}

#[test]
fn the_client_says_what_it_cannot_do() {
    let dir = Scratch::new();
    let nowhere = dir.text("nowhere.sock");
    let ended = Launch::new(["reload", &nowhere]).finish();
    assert_eq!(ended.code, 69, "{}", ended.stderr);
    assert!(ended.stderr.contains(&format!("no server listens on {nowhere}")), "{}", ended.stderr);
    let ended = Launch::new(["reload"]).env("RUNTIME_DIRECTORY", dir.text("")).finish();
    assert_eq!(ended.code, 69, "{}", ended.stderr);
    assert!(ended.stderr.contains("no server of this user runs"), "{}", ended.stderr);
    let ended = Launch::new(["reload", "--now"]).finish();
    assert_eq!(ended.code, 64, "{}", ended.stderr);
}

#[test]
fn without_a_name_the_only_server_is_found_and_of_several_one_has_to_be_named() {
    let dir = site();
    let runtime = Scratch::new();
    let start = || {
        let text = hosts("", &[path("/", "one")]);
        Launch::config(&dir, &text).env("RUNTIME_DIRECTORY", runtime.text("")).serve()
    };
    let first = start();
    let reload = || Launch::new(["reload"]).env("RUNTIME_DIRECTORY", runtime.text("")).finish();
    assert_eq!(reload().code, 0);
    let second = start();
    let ended = reload();
    assert_eq!(ended.code, 64, "{}", ended.stderr);
    for server in [&first, &second] {
        assert!(
            ended.stderr.contains(&format!("hayami reload {}", server.banner("control"))),
            "{}",
            ended.stderr
        );
    }
}
