//! `real-ip`: the client behind a proxy, and every use of its address.

use crate::support::peers::Peer;
use crate::support::upstream::Upstream;
use crate::support::{Scratch, Server, Wire, until};

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/a.txt", "four");
    dir
}

const FROM: &str = "X-Forwarded-For: 203.0.113.9\r\n";

#[test]
fn logs_and_lists_see_the_client_of_a_trusted_proxy() {
    let dir = site();
    let lines = "real-ip: {from: 127.0.0.0/8}\nallow: 203.0.113.0/24\ndeny: all\n\
                 access-log: {path: DIR/log, format: '%h %{remote}p %{c}h %s'}";
    let server = Server::site(&dir, lines);
    let cases = [
        ("", 403, "127.0.0.1 PORT 127.0.0.1 403"),
        (FROM, 200, "203.0.113.9 - 127.0.0.1 200"),
        ("x-forwarded-for: 203.0.113.9, 198.51.100.1\r\n", 403, "198.51.100.1 - 127.0.0.1 403"),
        (
            "x-forwarded-for: 203.0.113.9:77\r\nX-Forwarded-For: 127.0.0.9\r\n",
            200,
            "203.0.113.9 77 127.0.0.1 200",
        ),
        ("x-forwarded-for: unknown\r\n", 403, "127.0.0.1 PORT 127.0.0.1 403"),
    ];
    for (number, (fields, status, want)) in cases.into_iter().enumerate() {
        let mut client = server.connect();
        let answer = client.send(format!("GET /a.txt HTTP/1.1\r\nHost: a\r\n{fields}\r\n")).answer();
        assert_eq!(answer.status, status, "{fields}");
        until("the line is there", || dir.read("log").lines().count() == number + 1);
        let want = want.replace("PORT", &client.local_port().to_string());
        assert_eq!(dir.read("log").lines().last(), Some(&*want), "{fields}");
    }
    server.until_stderr("info request: from 198.51.100.1 for \"/a.txt\": access is denied by `deny: all`");
}

#[test]
fn what_others_say_is_not_heard_and_an_inner_level_may_switch_it_off() {
    let dir = site();
    let lines = |from: &str| format!("real-ip: {{from: {from}}}\nallow: 203.0.113.9\ndeny: all\n");
    assert_eq!(Server::site(&dir, &lines("10.0.0.0/8")).get_with("/a.txt", FROM).status, 403);
    assert_eq!(Server::site(&dir, &lines("[10.0.0.0/8, 127.0.0.1]")).get_with("/a.txt", FROM).status, 200);
    let text = "real-ip: {from: 127.0.0.1}\ndeny: 203.0.113.9\nhosts: {default: {paths: {/: {file.dir: DIR/site}, \
                /off: {real-ip: OFF, file.dir: DIR/site}}}}\n";
    let server = Server::config(&dir, text);
    assert_eq!(server.get_with("/a.txt", FROM).status, 403);
    assert_eq!(server.get_with("/off/a.txt", FROM).status, 200);
}

#[test]
fn every_stream_of_a_proxys_connection_has_its_own_client() {
    let dir = site();
    let server = Server::site(&dir, "real-ip: {from: 127.0.0.1, header: Forwarded}\ndeny: 203.0.113.0/24");
    let mut wire = Wire::open(&server.address);
    for (number, (value, want)) in [
        ("for=203.0.113.9;proto=https", 403),
        ("for=\"[2001:db8::7]:4711\"", 200),
        ("for=203.0.113.9, for=198.51.100.1", 200),
        ("for=_hidden", 200),
        ("for=203.0.113.8", 403),
    ]
    .into_iter()
    .enumerate()
    {
        let stream = 1 + 2 * number as u32;
        wire.ask(stream, "GET", "/a.txt", &[("forwarded", value)], true);
        assert_eq!(wire.answer(stream).status, want, "{value}");
    }
}

#[test]
fn upstreams_get_the_clients_address() {
    let (dir, upstream) = (site(), Upstream::echo());
    let text = format!(
        "real-ip: {{from: 127.0.0.1}}\nproxy.emit-forwarded-header: ON\nhosts: {{default: {{paths: {{/: \
         {{proxy.reverse.url: 'http://{}'}}}}}}}}\n",
        upstream.address
    );
    let server = Server::config(&dir, &text);
    assert_eq!(server.get_with("/", FROM).status, 200);
    let asked = upstream.last();
    assert_eq!(asked.all("x-forwarded-for"), ["203.0.113.9, 203.0.113.9"]);
    assert_eq!(asked.all("forwarded"), ["for=203.0.113.9;host=a;proto=http"]);
}

#[test]
fn requests_of_a_client_go_to_one_upstream_whatever_proxy_brings_them() {
    let dir = site();
    let upstreams = [0, 1, 2].map(|number| {
        Upstream::answering(format!("HTTP/1.1 200 OK\r\nX-Own: {number}\r\nContent-Length: 0\r\n\r\n"))
    });
    let urls = upstreams.each_ref().map(|upstream| format!("'http://{}'", upstream.address)).join(", ");
    let text = format!(
        "num-threads: 1\nreal-ip: {{from: 127.0.0.1}}\nhosts: {{default: {{paths: {{/: {{proxy.reverse.url: {{backends: \
         [{urls}], balancer: {{hash: client}}}}}}}}}}}}\n"
    );
    let server = Server::config(&dir, &text);
    let chosen = |client: u8| {
        let fields = format!("X-Forwarded-For: 203.0.113.{client}\r\n");
        server.get_with("/", &fields).field("x-own").expect("an upstream").to_owned()
    };
    let all: Vec<_> = (0..20).map(chosen).collect();
    assert_eq!(all, (0..20).map(chosen).collect::<Vec<_>>());
    assert!(all.iter().any(|own| *own != all[0]), "{all:?}");
}

#[test]
fn applications_get_the_clients_address() {
    let dir = site();
    dir.write("site/who.php", "<?php echo $_SERVER['REMOTE_ADDR'];");
    let Some(fpm) = Peer::php_fpm(&dir, 1, "") else { return };
    let lines = format!(
        "real-ip: {{from: 127.0.0.1, header: x-real-ip}}\nfile.custom-handler: {{extension: .php, fastcgi.connect: {{port: \
         {}, type: tcp}}}}",
        fpm.port
    );
    let server = Server::site(&dir, &lines);
    assert_eq!(server.get_with("/who.php", "X-Real-IP: 2001:db8::7\r\n").text(), "2001:db8::7");
    assert_eq!(server.get("/who.php").text(), "127.0.0.1");
}
