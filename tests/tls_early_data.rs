//! Early data of TLS 1.3 (RFC 8446 section 2.3, RFC 8470): off by default, and only for safe methods.

use crate::support::tls::{Said, last, s_client, site as serve};
use crate::support::{Scratch, Server};

/// The line below `ssl:` that switches it on.
const ON: &str = "early-data: ON";

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("site/ten", "0123456789");
    crate::support::certificates::Authority::new(&dir).issue_leaf();
    dir
}

/// Gets a ticket, and sends `request` as early data with it.
#[track_caller]
fn early(dir: &Scratch, server: &Server, request: &str) -> Said {
    let (kept, early) = (dir.text("session"), dir.text("early"));
    let said = s_client(&server.address, &["-tls1_3", "-sess_out", &kept], &last("/ten"));
    assert!(said.has("0123456789"), "{said:?}");
    dir.write("early", request);
    s_client(&server.address, &["-tls1_3", "-sess_in", &kept, "-early_data", &early], "")
}

#[test]
fn early_data_is_not_offered_unless_asked_for() {
    let dir = site();
    let server = serve(&dir, "", "");
    let kept = dir.text("session");
    let said = s_client(&server.address, &["-tls1_3", "-sess_out", &kept], &last("/ten"));
    assert!(said.has("Max Early Data: 0") && !said.has("Max Early Data: 1"), "{said:?}");
}

#[test]
fn safe_requests_are_answered_early_and_others_with_425() {
    let dir = site();
    let server = serve(&dir, ON, "");
    let said = early(&dir, &server, &last("/ten"));
    assert!(said.has("Early data was accepted") && said.has("0123456789"), "{said:?}");
    let post = "POST /ten HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let said = early(&dir, &server, post);
    assert!(said.has("Early data was accepted") && said.has("HTTP/1.1 425"), "{said:?}");
    // After the handshake it is an ordinary request.
    let said = s_client(&server.address, &["-tls1_3"], post);
    assert!(said.has("HTTP/1.1 405"), "{said:?}");
}

#[test]
fn early_data_is_taken_once() {
    let dir = site();
    let server = serve(&dir, ON, "");
    let kept = dir.text("session");
    let said = s_client(&server.address, &["-tls1_3", "-sess_out", &kept], &last("/ten"));
    assert!(said.has("0123456789"), "{said:?}");
    dir.write("early", last("/ten"));
    let again = || {
        let early = dir.text("early");
        s_client(&server.address, &["-tls1_3", "-sess_in", &kept, "-early_data", &early], &last("/ten"))
    };
    // RFC 8446 section 8: the same first flight again is a replay.
    assert!(again().has("Early data was accepted"));
    let replayed = again();
    assert!(!replayed.has("Early data was accepted"), "{replayed:?}");
    assert!(replayed.has("0123456789"), "{replayed:?}");
}
