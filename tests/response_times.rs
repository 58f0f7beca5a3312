//! Responses that report their duration (`server-timing`), and responses that are slowed down on purpose
//! (`throttle-response`).

use crate::support::h2::get;
use crate::support::upstream::Upstream;
use crate::support::{Answer, Scratch, Server, Wire};
use std::time::{Duration, Instant};

/// The names of the metrics in a value of `server-timing`, each with its number of milliseconds.
fn metrics(value: &str) -> Vec<(&str, f64)> {
    let metric = |text: &'_ str| -> (usize, f64) {
        let (name, duration) = text.split_once("; dur=").unwrap_or_else(|| panic!("a metric, not {text:?}"));
        (name.len(), duration.parse().expect("milliseconds"))
    };
    value.split(", ").map(|text| (&text[..metric(text).0], metric(text).1)).collect()
}

fn names(answer: &Answer) -> Vec<Vec<&str>> {
    let values = answer.all("server-timing");
    values.iter().map(|value| metrics(value).iter().map(|(name, _)| *name).collect()).collect()
}

const OF_HEAD: [&str; 5] = ["connect", "request-header", "request-body", "request-total", "process"];
const OF_END: [&str; 2] = ["response", "total"];

#[test]
fn files_say_how_long_they_took() {
    let dir = Scratch::new();
    dir.write("site/a.txt", "four");
    let text = "
hosts:
  default:
    paths:
      /: {file.dir: DIR/site, server-timing: ON}
      /enforced: {file.dir: DIR/site, server-timing: ENFORCE}
      /off: {file.dir: DIR/site}
";
    let server = Server::config(&dir, text);
    let plain = server.get("/a.txt");
    assert_eq!((plain.text().as_str(), plain.field("content-length")), ("four", Some("4")));
    assert_eq!(names(&plain), [OF_HEAD.to_vec()], "no trailer without chunks");
    let chunked = server.get("/enforced/a.txt");
    assert_eq!((chunked.text().as_str(), chunked.field("content-length")), ("four", None));
    assert_eq!(chunked.field("trailer"), Some("server-timing"));
    assert_eq!(names(&chunked), [OF_HEAD.to_vec(), OF_END.to_vec()]);
    assert_eq!(server.get("/off/a.txt").field("server-timing"), None);
    assert_eq!(names(&server.get("/none")), [OF_HEAD.to_vec()], "errors too");
    let old = server.ask("GET /enforced/a.txt HTTP/1.0\r\n\r\n").remove(0);
    assert_eq!((old.text().as_str(), names(&old)), ("four", vec![OF_HEAD.to_vec()]));
    let mut client = server.connect();
    let head = client.send("HEAD /enforced/a.txt HTTP/1.1\r\nHost: a\r\n\r\n").answer_to_head();
    assert_eq!((head.field("content-length"), names(&head)), (Some("4"), vec![OF_HEAD.to_vec()]));
    let mut wire = Wire::open(&server.address);
    let answer = wire.send(get(1, "/a.txt")).answer(1);
    assert_eq!((answer.text().as_str(), answer.field("content-length")), ("four", Some("4")));
    assert_eq!(names(&answer), [OF_HEAD.to_vec(), OF_END.to_vec()]);
}

#[test]
fn the_times_of_an_upstream_are_reported_too() {
    let slow = Upstream::scripted(|conn| {
        while conn.request().is_some() {
            std::thread::sleep(Duration::from_millis(50));
            conn.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nServer-Timing: db; dur=1\r\n\r\n4\r\nfour\r\n");
            std::thread::sleep(Duration::from_millis(50));
            conn.send("0\r\nX-Own: 1\r\n\r\n");
        }
    });
    let dir = Scratch::new();
    let text = format!(
        "server-timing: ON\nhosts: {{default: {{paths: {{/: {{proxy.reverse.url: 'http://{}'}}}}}}}}\n",
        slow.address
    );
    let server = Server::config(&dir, &text);
    let answer = server.get("/");
    assert_eq!(answer.text(), "four");
    let of_head = [&OF_HEAD[..], &["proxy-idle", "proxy-connect", "proxy-request", "proxy-process"]].concat();
    let of_end = [&OF_END[..], &["proxy-response", "proxy-total"]].concat();
    assert_eq!(names(&answer), [vec!["db"], of_head, of_end], "{answer:?}");
    assert_eq!(answer.field("x-own"), Some("1"), "the upstream's trailers stay");
    let values = answer.all("server-timing");
    let all: Vec<_> = values.iter().flat_map(|value| metrics(value)).collect();
    let time = |name: &str| all.iter().find(|(own, _)| *own == name).expect("a metric").1;
    for name in ["process", "proxy-process", "response", "proxy-response"] {
        assert!(time(name) >= 40.0, "{name}: {all:?}");
    }
    assert!(time("total") >= time("process") + time("response") - 1.0, "{all:?}");
}

#[test]
fn a_response_is_sent_as_fast_as_its_field_says() {
    let dir = Scratch::new();
    let content = "0123456789".repeat(6_000);
    dir.write("site/large", &content);
    let upstream = Upstream::answering(format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nX-Traffic: 100000\r\n\r\n{content}",
        content.len()
    ));
    let text = format!(
        "throttle-response: ON
hosts:
  default:
    paths:
      /slow: {{file.dir: DIR/site, header.add: 'X-Traffic: 100000'}}
      /up: {{proxy.reverse.url: 'http://{address}/'}}
      /fast: {{file.dir: DIR/site}}
      /off: {{file.dir: DIR/site, throttle-response: OFF, header.add: 'X-Traffic: 100000'}}
",
        address = upstream.address
    );
    let server = Server::config(&dir, &text);
    // 60,000 bytes, of which a tenth of a second's leave at once.
    let least = Duration::from_millis(490);
    for target in ["/slow/large", "/up/large"] {
        let begun = Instant::now();
        let answer = server.get(target);
        assert!(begun.elapsed() >= least, "{target}: {:?}", begun.elapsed());
        assert_eq!((answer.field("x-traffic"), answer.field("content-length")), (None, Some("60000")));
        assert!(answer.text() == content, "{target}");
        let begun = Instant::now();
        let mut wire = Wire::open(&server.address);
        assert!(wire.send(get(1, target)).answer(1).text() == content, "{target}");
        assert!(begun.elapsed() >= least, "{target}: {:?}", begun.elapsed());
    }
    assert!(server.get("/fast/large").text() == content);
    assert_eq!(server.get("/off/large").field("x-traffic"), Some("100000"));
    // Two at once do not share a rate.
    let begun = Instant::now();
    let mut clients = [server.connect(), server.connect()];
    for client in &mut clients {
        client.send("GET /slow/large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    }
    clients.iter_mut().for_each(|client| assert!(client.answer().text() == content));
    assert!(begun.elapsed() >= least, "{:?}", begun.elapsed());
}
