//! Faults while the program serves: files that change, descriptors that run out, clients that disconnect.

use crate::support::{Client, Launch, Scratch, Server, until};
use std::fs::OpenOptions;

const LARGE: usize = 30_000_000;

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("site/large", vec![b'a'; LARGE]);
    dir
}

/// A client that has begun to receive the large file and stopped to read.
fn begun(server: &Server) -> Client {
    let mut client = server.connect();
    client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n").receive_at_least(1);
    client
}

#[test]
fn a_file_that_is_replaced_goes_on_as_it_was_and_is_new_for_the_next() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut running = begun(&server);
    dir.replace("site/large", vec![b'b'; 1000]);
    let answer = running.answer();
    assert!(answer.content.len() == LARGE && answer.content.iter().all(|byte| *byte == b'a'));
    until("the new file is served", || server.get("/large").content == vec![b'b'; 1000]);
}

#[test]
fn small_files_that_are_replaced_are_seen_within_the_second() {
    let dir = site();
    let server = Server::site(&dir, "");
    for text in ["one", "two", "three"] {
        dir.replace("site/page", text);
        until("the change is seen", || server.get("/page").text() == text);
    }
    std::fs::remove_file(dir.path("site/page")).expect("removed");
    until("the removal is seen", || server.get("/page").status == 404);
    let exact = Server::site(&dir, "file.cache.revalidate: 0");
    for text in ["one", "two", "three"] {
        dir.replace("site/page", text);
        assert_eq!(exact.get("/page").text(), text);
    }
}

#[test]
fn a_file_that_is_truncated_ends_the_connection_and_is_not_padded() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut running = begun(&server);
    let file = OpenOptions::new().write(true).open(dir.path("site/large")).expect("the file");
    file.set_len(5).expect("shorter");
    let received = running.rest();
    assert!(received.len() < LARGE, "{}", received.len());
    assert_eq!(server.get("/").text(), "front", "the server goes on");
    // Until the change is seen, the old length is announced and cannot be held.
    until("the new length is seen", || {
        let mut client = server.connect();
        client.send("GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let response = String::from_utf8_lossy(client.rest()).into_owned();
        response.contains("content-length: 5\r\n") && response.ends_with("\r\n\r\naaaaa")
    });
}

#[test]
fn a_file_that_grows_is_sent_as_long_as_announced() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut running = begun(&server);
    let file = OpenOptions::new().write(true).open(dir.path("site/large")).expect("the file");
    file.set_len(2 * LARGE as u64).expect("longer");
    assert_eq!(running.answer().content.len(), LARGE);
    assert_eq!(running.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").answer().text(), "front", "framing holds");
}

#[test]
fn a_file_that_is_removed_is_sent_to_its_end_and_then_gone() {
    let dir = site();
    let server = Server::site(&dir, "");
    let mut running = begun(&server);
    std::fs::remove_file(dir.path("site/large")).expect("removed");
    assert_eq!(running.answer().content.len(), LARGE);
    until("it is gone", || server.get("/large").status == 404);
}

#[test]
fn a_file_that_becomes_unreadable_is_403() {
    let dir = site();
    let server = Server::site(&dir, "");
    assert_eq!(server.get("/").status, 200);
    dir.permit("site/index.html", 0);
    until("it is refused", || server.get("/").status == 403);
    dir.permit("site/index.html", 0o644);
    until("it is served again", || server.get("/").status == 200);
}

#[test]
fn a_site_that_is_turned_over_by_its_link_is_seen() {
    let dir = Scratch::new();
    dir.write("v1/index.html", "one").write("v2/index.html", "two").link("v1", "current");
    let server = Server::config(&dir, "hosts: {default: {paths: {/: {file.dir: DIR/current}}}}\n");
    assert_eq!(server.get("/").text(), "one");
    dir.link("v2", "next");
    std::fs::rename(dir.path("next"), dir.path("current")).expect("turned");
    until("the new site is served", || server.get("/").text() == "two");
}

#[test]
fn clients_that_go_in_the_middle_leave_nothing_behind() {
    let dir = site();
    let server = Server::site(&dir, "");
    assert_eq!(server.get("/").status, 200);
    let before = server.sockets();
    for round in 0..100 {
        match round % 4 {
            0 => drop(begun(&server)),
            1 => drop(server.connect().send("GET / HTTP/1.1\r\nHo")),
            2 => drop(server.connect().send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc")),
            _ => drop(server.connect()),
        }
    }
    until("all connections are closed", || server.sockets() <= before);
    assert_eq!(server.get("/").text(), "front");
}

#[test]
fn without_descriptors_nothing_becomes_a_404_and_service_resumes() {
    let dir = site();
    for number in 0..40 {
        dir.write(&format!("site/f{number}"), vec![b'x'; 10_000_000]);
    }
    let hosts = "num-threads: 1\nhosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n";
    let server = Launch::config(&dir, hosts).after("ulimit -n 64").serve();
    let mut clients: Vec<Client> = (0..40).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.answer().text(), "front");
    }
    // No client reads its response, so that every file stays open.
    let mut statuses = Vec::new();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(format!("GET /f{number} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let head = client.until("\r\n\r\n").head();
        assert_eq!(head.field("retry-after").is_some(), head.status == 503, "{head:?}");
        statuses.push(head.status);
    }
    let served = statuses.iter().filter(|status| **status == 200).count();
    assert!((1..40).contains(&served), "{statuses:?}");
    assert_eq!(statuses, [vec![200; served], vec![503; 40 - served]].concat());
    drop(clients);
    for number in 0..40 {
        assert_eq!(server.get(&format!("/f{number}")).status, 200, "{number}: service has resumed");
    }
}

#[test]
fn more_connections_than_allowed_wait_for_their_turn() {
    let dir = site();
    let text = "max-connections: 4\nnum-threads: 1\nhosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n";
    let server = Server::config(&dir, text);
    let request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let mut clients: Vec<Client> = (0..40).map(|_| server.connect()).collect();
    clients.iter_mut().for_each(|client| _ = client.send(request));
    for client in &mut clients {
        assert_eq!(client.answer().text(), "front");
    }
}

#[test]
fn idle_connections_above_the_soft_limit_make_room() {
    let dir = site();
    let text = "soft-connection-limit: 2\nsoft-connection-limit.min-age: 0\nnum-threads: 1\n\
                hosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n";
    let server = Server::config(&dir, text);
    let before = server.sockets();
    let mut clients: Vec<Client> = (0..6).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.answer().text(), "front");
    }
    // Four go, long before http1-request-timeout.
    let begin = std::time::Instant::now();
    until("two are left", || server.sockets() <= before + 2);
    assert!(begin.elapsed().as_secs() < 9);
}

#[test]
fn a_root_that_is_gone_and_comes_back_is_served_again() {
    let dir = site();
    let server = Server::site(&dir, "file.cache.revalidate: 0");
    assert_eq!(server.get("/").text(), "front");
    std::fs::rename(dir.path("site"), dir.path("away")).expect("renamed");
    assert_eq!(server.get("/").status, 404);
    std::fs::rename(dir.path("away"), dir.path("site")).expect("renamed");
    assert_eq!(server.get("/").text(), "front");
}

#[test]
fn a_worker_is_not_held_up_by_slow_clients() {
    let dir = site();
    let server =
        Server::config(&dir, "num-threads: 1\nhosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n");
    let slow: Vec<Client> = (0..30).map(|_| begun(&server)).collect();
    let halves: Vec<_> = (0..30)
        .map(|_| {
            let mut client = server.connect();
            client.send("GET / HTTP/1.1\r\nHost:");
            client
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(server.get("/").text(), "front");
    }
    drop((slow, halves));
}
