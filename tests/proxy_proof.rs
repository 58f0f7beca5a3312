//! What was found by attacking the proxy as a whole, and must not come back.

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
            let preface = conn.octets(24).is_some_and(|octets| octets.starts_with(b"PRI * HTTP/2.0"));
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
