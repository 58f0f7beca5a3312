//! A worker that forwards every request to one upstream; it isolates the cost of upstream connections.
//!
//! `cargo run --release -p hayami-net --example forward -- 127.0.0.1:8090 127.0.0.1:8091`

use hayami_client as upstream;
use hayami_client::{Backend, Call, Origin, Timeouts as Patience};
use hayami_h1::Limits;
use hayami_http::field::FieldLine;
use hayami_http::{Content, FieldSection, Known, Response, Source, Status};
use hayami_net::dial::Peer;
use hayami_net::listen::{Endpoint, Options, bind, bound_address};
use hayami_net::service::{Answer, Outcome, Refusal, Request, Service};
use hayami_net::upstream_io::UpstreamIo;
use hayami_net::{Config, Http2Config, Listener, Phase, Quota, Timeouts, run};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Hop-by-hop fields (RFC 9110 §7.6.1).
const HOP_BY_HOP: [Known; 6] = [
    Known::Connection,
    Known::KeepAlive,
    Known::ProxyConnection,
    Known::Te,
    Known::TransferEncoding,
    Known::Upgrade,
];

struct Forward(Rc<Backend>);

impl Service for Forward {
    fn respond(&self, request: &mut Request<'_>) -> Outcome {
        let lines = request.head.fields();
        let mut fields = FieldSection::with_capacity(lines.bytes().len() + 2 * lines.len(), lines.len());
        for FieldLine { name, value, known, .. } in request.head.fields().lines() {
            if !known.is_some_and(|known| HOP_BY_HOP.contains(&known)) {
                fields.append(name, value);
            }
        }
        let content = request.content.take().map(|content| Box::new(content) as Box<dyn Source>);
        let repeatable = request.head.method().is_safe();
        let call = Call::new(request.head.method_name(), request.head.target().to_vec(), fields);
        let call = Call { content, repeatable, ..call };
        request.connection.cancel_on_close.set(true);
        let reply = upstream::call(&self.0, call);
        Outcome::Later(Box::pin(async {
            Answer::from(match reply.await {
                Ok(reply) => Response { head: reply.head, content: reply.content },
                Err(failure) => Response::text(Status::BAD_GATEWAY, format!("{failure:?}\n")),
            })
        }))
    }

    fn refuse(&self, refusal: &Refusal, _: &mut Request<'_>) -> Answer {
        Answer::from(Response { content: Content::Empty, ..Response::empty(refusal.status()) })
    }

    fn server_name(&self) -> Option<&[u8]> {
        None
    }
}

fn backend(outbound: &UpstreamIo, upstream: SocketAddr) -> Rc<Backend> {
    let patience = Duration::from_secs(30);
    let timeouts = Patience { connect: patience, first_byte: patience, io: patience, keep_alive: patience };
    let origin = Origin {
        peers: vec![Peer::Tcp(upstream)],
        protocol: Default::default(),
        tls: None,
        limits: Limits::default(),
        streams: 100,
        buffer: hayami_client::BUFFER,
        timeouts,
        idle: 1000,
    };
    Backend::new(outbound, origin)
}

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let (Some(address), Some(upstream)) = (arguments.next(), arguments.next()) else {
        return Err(std::io::Error::other("the arguments are ADDRESS:PORT UPSTREAM:PORT"));
    };
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
    run(config, phases, |_, outbound| Ok(Forward(backend(outbound, upstream))))
}
