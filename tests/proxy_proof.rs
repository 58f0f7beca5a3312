//! Regression tests for problems found by attacking the proxy as a whole.

use crate::support::upstream::Upstream;
use crate::support::{Scratch, Server, until};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_check_over_http_2_leaves_at_the_start_although_nothing_else_happens() {
    let (dir, came) = (Scratch::new(), Arc::<AtomicBool>::default());
    let upstream = Upstream::scripted({
        let came = Arc::clone(&came);
        move |conn| {
            let preface = conn.bytes(24).is_some_and(|bytes| bytes.starts_with(b"PRI * HTTP/2.0"));
            came.store(preface, Ordering::SeqCst);
            conn.is_closed();
        }
    });
    let text = format!(
        "num-threads: 1\nproxy.http2.force-cleartext: ON\nhosts: {{default: {{paths: {{/: {{proxy.reverse.url: {{backends: \
         'http://{}', health-check: {{path: /, interval: 90000, timeout: 60000}}}}}}}}}}}}\n",
        upstream.address
    );
    let _server = Server::config(&dir, &text);
    until("the check has come", || came.load(Ordering::SeqCst));
}

#[test]
fn an_upstream_that_floods_a_request_that_was_given_up_is_cut_off() {
    let (dir, cut) = (Scratch::new(), Arc::<AtomicBool>::default());
    let upstream = Upstream::scripted({
        let cut = Arc::clone(&cut);
        move |conn| {
            conn.bytes(24);
            // SETTINGS, and then 103 (HPACK: a literal, and the name of :status) in HEADERS of the first stream.
            conn.send(b"\0\0\0\x04\0\0\0\0\0");
            let hints = b"\0\0\x05\x01\x04\0\0\0\x01\x08\x03103".repeat(1000);
            let refused = (0..4000).any(|_| !conn.send(&hints));
            cut.store(refused, Ordering::SeqCst);
        }
    });
    let url = format!("http://{}", upstream.address);
    let text = format!(
        "num-threads: 1\nproxy.http2.force-cleartext: ON\nhosts: {{default: {{paths: {{/: {{proxy.reverse.url: '{url}'}}}}}}}}\n"
    );
    let server = Server::config(&dir, &text);
    assert_eq!(server.get("/").status, 502);
    until("it is cut off", || cut.load(Ordering::SeqCst));
}
