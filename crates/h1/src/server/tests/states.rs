//! Every state of a connection, and every call in it: the bytes written and the next state of the connection.

use super::*;
use hayami_http::{ResponseHead, Status};

const LIMITS: Limits = Limits {
    request_line: 99,
    head: 99,
    fields: 9,
    content: 9,
    chunk_line: 9,
    chunk_extensions: 9,
    trailer: 9,
    interim: 0,
};

/// A server after these steps, each one a letter.
fn after(steps: &str) -> Server {
    let mut server = Server::new();
    for step in steps.chars() {
        let out = &mut Vec::new();
        match step {
            'g' => receive(&mut server, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
            'p' => receive(&mut server, b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n"),
            '.' => receive(&mut server, b"GE"),
            'a' => receive(&mut server, b"abc"), // content, then its end
            '!' => receive(&mut server, b"\0\r\n"),
            'r' => server.refuse(),
            '0' => {
                let _ = server.send_head(&ResponseHead::new(Status::OK), Some(0), b"", out);
            }
            '3' => {
                let _ = server.send_head(&ResponseHead::new(Status::OK), Some(3), b"", out);
            }
            'c' => {
                let _ = server.send_head(&ResponseHead::new(Status::OK), None, b"", out);
            }
            'x' => server.send_content(b"xyz", out),
            'e' => {
                let _ = server.send_end(None, out);
            }
            's' => server.close_after_response(),
            'k' => server.cut_short(),
            step => panic!("no step is called {step}"),
        }
    }
    server
}

/// Receives until there is nothing more to receive.
fn receive(server: &mut Server, mut bytes: &[u8]) {
    let mut head = RequestHead::default();
    while let Ok(received) = server.receive(&LIMITS, bytes, &mut head) {
        bytes = &bytes[received.consumed..];
        if received.event == Event::More {
            break;
        }
    }
}

/// The calls that write something in that state, by letter: interim, head, content, piece, end.
fn writing(steps: &str) -> String {
    type Call = (char, fn(&mut Server, &mut Vec<u8>));
    let calls: [Call; 5] = [
        ('i', |server, out| server.send_interim(&ResponseHead::new(Status::CONTINUE), out)),
        ('h', |server, out| {
            let _ = server.send_head(&ResponseHead::new(Status::OK), Some(0), b"", out);
        }),
        ('c', |server, out| server.send_content(b"x", out)),
        ('p', |server, out| {
            let mark = server.begin_chunk(out);
            out.push(b'x');
            server.end_chunk(mark, out);
        }),
        ('e', |server, out| {
            let _ = server.send_end(None, out);
        }),
    ];
    let mut writing = String::new();
    for (letter, call) in calls {
        let (mut server, mut out) = (after(steps), Vec::new());
        call(&mut server, &mut out);
        if !out.is_empty() {
            writing.push(letter);
        } else if matches!(letter, 'i' | 'h') && !steps.contains('.') {
            assert_eq!(server.next(), Next::Close, "{letter} is out of turn after {steps:?}");
        }
    }
    writing
}

#[test]
fn each_call_writes_in_its_states_and_the_next_step_follows() {
    use Next::*;
    #[rustfmt::skip] // a table reads best as one
    let cases = [
        // Before a request.
        ("",     "",    KeepAlive), (".",    "",    KeepAlive), ("s",    "",    Close),     (".s",   "",    KeepAlive),
        // The response is due.
        ("g",    "ih",  Close),     ("p",    "ih",  Close),     ("pa",   "ih",  Close),     ("gs",   "ih",  Close),
        ("g0g",  "ih",  Close),     ("p0ag", "ih",  Close),
        // Its content is due.
        ("g3",   "cp",  Close),     ("gc",   "cpe", Close),     ("p3",   "cp",  Close),     ("pc",   "cpe", Close),
        ("pa3",  "cp",  Close),     ("pac",  "cpe", Close),     ("p3a",  "cp",  Close),     ("pca",  "cpe", Close),
        // It is complete, and so is the request.
        ("g0",   "",    KeepAlive), ("g3x",  "",    KeepAlive), ("gce",  "",    KeepAlive), ("gcxe", "",    KeepAlive),
        ("pa0",  "",    KeepAlive), ("pa3x", "",    KeepAlive), ("p0a",  "",    KeepAlive), ("p3xa", "",    KeepAlive),
        ("p3ax", "",    KeepAlive), ("gs0",  "",    Close),     ("g0s",  "",    Close),     ("p0as", "",    Close),
        // It is complete before the request is.
        ("p0",   "",    Discard),   ("p3x",  "",    Discard),   ("pce",  "",    Discard),   ("p0s",  "",    Close),
        ("ps0",  "",    Close),
        // It was cut short.
        ("g3e",  "",    Close),     ("g3k",  "",    Close),     ("gck",  "",    Close),     ("gcke", "",    Close),
        ("p3k",  "",    Close),     ("gk0",  "",    Close),
        // The request was refused, or broke a rule.
        ("r",    "ih",  Close),     (".r",   "ih",  Close),     ("!",    "ih",  Close),     ("pr",   "ih",  Close),
        ("r0",   "",    Close),     ("!0",   "",    Close),     ("!3",   "cp",  Close),     ("!3x",  "",    Close),
        ("pr0",  "",    Close),     ("p3r",  "cp",  Close),     ("p3rx", "",    Close),     ("pcr",  "cpe", Close),
        ("gr",   "ih",  Close),     ("gr0",  "",    Close),     ("g0r",  "",    Close),     ("!0g",  "",    Close),
        // A call came out of turn.
        ("k",    "",    Close),     ("kg",   "ih",  Close),     ("kg0",  "",    Close),     ("0g0",  "",    Close),
        ("g00",  "",    Close),     ("g30x", "",    Close),     ("0",    "",    Close),
    ];
    for (steps, calls, next) in cases {
        assert_eq!((writing(steps).as_str(), after(steps).next()), (calls, next), "{steps:?}");
    }
}

#[test]
fn content_is_read_while_the_response_is_made_and_nothing_after_it() {
    let input = b"abcGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    for sent in ["", "c", "cx", "3xe"] {
        let mut server = after(&format!("p{sent}"));
        let mut more = |input: &[u8]| server.receive_more(&LIMITS, input).expect("content");
        assert_eq!(more(b""), Received { consumed: 0, event: Event::More }, "{sent}");
        assert_eq!(more(input), Received { consumed: 3, event: Event::Content(0..3) }, "{sent}");
        assert_eq!(more(&input[3..]), Received { consumed: 0, event: Event::End }, "{sent}");
        assert_eq!(more(&input[3..]), Received { consumed: 0, event: Event::More }, "{sent}");
    }
    for whole in ["", "g", "gc", "pr"] {
        let received = after(whole).receive_more(&LIMITS, input);
        assert_eq!(received, Ok(Received { consumed: 0, event: Event::More }), "{whole}");
    }
}
