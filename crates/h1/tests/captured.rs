//! Heads as real programs send them.

use hayami_h1::{Client, ClientEvent, Event, Limits, Next, RequestContent, ResponseContent, Server};
use hayami_http::{FieldSection, Known, Method, RequestHead, ResponseHead, Status, TargetForm, Version};

/// One request: who sends it, its bytes, and what must be found in it.
struct Sent {
    by: &'static str,
    wire: &'static str,
    method: Method,
    authority: &'static str,
    path: &'static str,
    content: RequestContent,
    stays: bool,
}

const GET: Sent = Sent {
    by: "",
    wire: "",
    method: Method::Get,
    authority: "127.0.0.1:8080",
    path: "/",
    content: RequestContent::None,
    stays: true,
};

const REQUESTS: &[Sent] = &[
    Sent { by: "wrk", wire: "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", ..GET },
    Sent {
        by: "curl",
        wire: "GET /a%20b HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n",
        path: "/a%20b",
        ..GET
    },
    Sent {
        by: "curl with an upload and a proxy",
        wire: "PUT http://example.org/up HTTP/1.1\r\nHost: example.org\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\
               Proxy-Connection: Keep-Alive\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n",
        method: Method::Put,
        authority: "example.org",
        path: "/up",
        content: RequestContent::Chunked,
        ..GET
    },
    Sent {
        by: "ab",
        wire: "GET / HTTP/1.0\r\nHost: 127.0.0.1:8080\r\nUser-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n",
        stays: false,
        ..GET
    },
    Sent {
        by: "ab -k",
        wire: "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nHost: 127.0.0.1:8080\r\nUser-Agent: ApacheBench/2.3\r\n\
               Accept: */*\r\n\r\n",
        ..GET
    },
    Sent {
        by: "Python's http.client",
        wire: "POST /form HTTP/1.1\r\nHost: localhost:8080\r\nAccept-Encoding: identity\r\nContent-Length: 7\r\n\
               Content-type: application/x-www-form-urlencoded\r\n\r\n",
        method: Method::Post,
        authority: "localhost:8080",
        path: "/form",
        content: RequestContent::Length(7),
        ..GET
    },
    Sent {
        by: "a health check",
        wire: "OPTIONS / HTTP/1.0\r\n\r\n",
        method: Method::Options,
        authority: "",
        stays: false,
        ..GET
    },
    Sent {
        by: "a hand in telnet",
        wire: "GET / HTTP/1.1\nhost:localhost\nconnection:close\n\n",
        authority: "localhost",
        stays: false,
        ..GET
    },
    Sent {
        by: "Firefox",
        wire: "GET /?q=%E6%B0%B4&a=[1]|{2} HTTP/1.1\r\nHost: [::1]:8080\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; \
               rv:132.0) Gecko/20100101 Firefox/132.0\r\nAccept: text/html,*/*;q=0.8\r\nAccept-Language: en-GB,en;q=0.5\
               \r\nAccept-Encoding: gzip, deflate, br, zstd\r\nDNT: 1\r\nConnection: keep-alive\r\nCookie: a=\"b\"; c=\r\n\
               Upgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\nPriority: u=0, i\r\n\r\n",
        authority: "[::1]:8080",
        ..GET
    },
];

#[test]
fn requests_of_programs_in_the_field_are_understood() {
    for sent in REQUESTS {
        let (mut server, mut head) = (Server::new(), RequestHead::default());
        let received = server.receive(&Limits::default(), sent.wire.as_bytes(), &mut head).expect(sent.by);
        assert_eq!(received.consumed, sent.wire.len(), "{}", sent.by);
        assert_eq!(received.event, Event::Request(sent.content), "{}", sent.by);
        assert_eq!((head.method(), head.path()), (sent.method, sent.path.as_bytes()), "{}", sent.by);
        assert_eq!(head.authority(), sent.authority.as_bytes(), "{}", sent.by);
        assert_eq!(head.form() == TargetForm::Absolute, sent.wire.contains(" http://"), "{}", sent.by);
        assert_eq!(head.version() == Version::Http10, sent.wire.contains(" HTTP/1.0"), "{}", sent.by);
        assert_eq!(server.expects_continue(), head.get(Known::Expect).is_some(), "{}", sent.by);
        if sent.content == RequestContent::None {
            server.send_head(&ResponseHead::new(Status::OK), Some(0), b"", &mut Vec::new());
            assert_eq!(server.next() == Next::KeepAlive, sent.stays, "{}", sent.by);
        }
    }
}

#[test]
fn responses_of_servers_in_the_field_are_understood() {
    let nginx = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\nContent-Type: text/html\r\n\
                 Content-Length: 615\r\nLast-Modified: Sat, 21 Nov 2026 11:00:00 GMT\r\nConnection: keep-alive\r\n\
                 ETag: \"6740d1c0-267\"\r\nAccept-Ranges: bytes\r\n\r\n";
    let h2o = "HTTP/1.1 304 Not Modified\r\nConnection: keep-alive\r\nServer: h2o/2.2.5\r\nvary: accept-encoding\r\n\r\n";
    let python = "HTTP/1.0 200 OK\r\nServer: SimpleHTTP/0.6 Python/3.11.2\r\nContent-type: text/html\r\n\r\n";
    let node = "HTTP/1.1 200 OK\r\nX-Powered-By: Express\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    let cases = [
        ("nginx", nginx, ResponseContent::Length(615)),
        ("h2o", h2o, ResponseContent::None),
        ("Python", python, ResponseContent::UntilClose),
        ("Node", node, ResponseContent::Chunked),
    ];
    for (by, wire, want) in cases {
        let (mut client, mut head) = (Client::new(), ResponseHead::new(Status::OK));
        let none = FieldSection::default();
        client
            .send_head(b"GET", b"/", &none, RequestContent::None, &mut Vec::new())
            .expect("one of few requests");
        let received = client.receive(&Limits::default(), wire.as_bytes(), &mut head).expect(by);
        assert_eq!(received.event, ClientEvent::Response(want), "{by}");
        assert_eq!(head.iter().count(), wire.lines().count() - 2, "{by}");
    }
}
