//! A worker with a constant response: the cost of the connection loop alone.
//!
//! `cargo run --release -p hayami-net --example constant -- 127.0.0.1:8090`

use hayami_h1::Limits;
use hayami_http::{Content, FieldSection, Response, ResponseHead, Shared, Status};
use hayami_net::listen::{Endpoint, Options, bind, bound_address};
use hayami_net::service::{Answer, Outcome, Refusal, Request, Service};
use hayami_net::{Config, Http2Config, Listener, Phase, Quota, Timeouts, run};
use std::sync::Arc;

struct Constant {
    fields: Arc<FieldSection>,
    content: Shared,
}

impl Service for Constant {
    fn respond(&self, _: &mut Request<'_>) -> Outcome {
        let head = ResponseHead::with_shared(Status::OK, Arc::clone(&self.fields));
        let content = Content::Shared(self.content.clone());
        Outcome::Ready(Answer::from(Response { head, content }))
    }

    fn refuse(&self, refusal: &Refusal, _: &mut Request<'_>) -> Answer {
        Answer::from(Response::text(refusal.status(), format!("{refusal}\n")))
    }

    fn server_name(&self) -> Option<&[u8]> {
        Some(b"constant")
    }
}

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8090".to_owned());
    let address = address.parse().map_err(|_| std::io::Error::other("the argument is ADDRESS:PORT"))?;
    let fd = bind(&Endpoint::Tcp(address), &Options::default())?;
    let listener =
        Listener { address: bound_address(&fd), fd, index: 0, queue: 0, tls: None, proxy_protocol: None };
    let config = Config {
        cpu: None,
        listeners: vec![listener],
        limits: Limits::default(),
        http2: Http2Config::default(),
        timeouts: Timeouts::default(),
        upstreams: Default::default(),
        content: Arc::new(hayami_net::ByteBudget::new(1 << 30)),
        quota: Arc::new(Quota::new(20_000, None)),
        ready: Box::new(|| ()),
    };
    let (_phase, phases) = tokio::sync::watch::channel(Phase::Run);
    run(config, phases, |_, _| {
        let mut fields = FieldSection::default();
        fields.append(b"content-type", b"text/html");
        fields.append(b"last-modified", b"Sat, 21 Nov 2026 00:00:00 GMT");
        fields.append(b"etag", b"\"6738d2a9-264\"");
        fields.append(b"accept-ranges", b"bytes");
        Ok(Constant { fields: Arc::new(fields), content: Shared::from(vec![b'x'; 612]) })
    })
}
