//! Requests and wakers for tests of handlers, without a connection.

use super::{Exchange, Handler, Outcome};
use crate::client::Client;
use crate::passed_limits::PassedLimits;
use crate::phase::{PhaseRequest, Step, Verdict};
use crate::subrequest::{Responding, Subrequest, Subrequests};
use hayami_http::request::RequestLine;
use hayami_http::{RequestHead, Span, normalize};
use hayami_net::Instant;
use hayami_net::service::{Address, ConnectionInfo};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

/// Counts how often its waker was woken.
#[derive(Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wakes {
    /// A counter with its waker.
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let wakes = Arc::<Self>::default();
        (Arc::clone(&wakes), wakes.into())
    }

    /// How often it was woken.
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// How often it was woken since the last call.
    pub(crate) fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The head of a request without fields, as the HTTP/1 parser would make it.
pub(crate) fn head(method: &str, target: &str) -> RequestHead {
    let bytes = format!("{method} {target}");
    let start = method.len() + 1;
    let path_end = target.find('?').map_or(bytes.len(), |mark| start + mark);
    let mut head = RequestHead::default();
    head.reset_to(bytes.as_bytes());
    head.set_line(RequestLine {
        method: Span::new(0, method.len()),
        target: Span::new(start, bytes.len()),
        path: Span::new(start, path_end),
        query: (path_end < bytes.len()).then(|| Span::new(path_end + 1, bytes.len())),
        ..RequestLine::default()
    });
    head
}

/// The head of `GET target`.
pub(crate) fn get(target: &str) -> RequestHead {
    head("GET", target)
}

/// A connection from 192.0.2.1:4000 to 198.51.100.1:80.
pub(crate) fn connection() -> Rc<ConnectionInfo> {
    Rc::new(ConnectionInfo {
        id: 7,
        listener: 0,
        peer: Address::Ip(([192, 0, 2, 1], 4000).into()),
        local: Address::Ip(([198, 51, 100, 1], 80).into()),
        accepted: Instant::now(),
        tls: None,
        ends: Default::default(),
        cancel_on_close: Default::default(),
        outdated: Default::default(),
    })
}

/// The result of `handler` for a request to a path whose prefix has `below` bytes.
pub(crate) fn handle(handler: &dyn Handler, head: &RequestHead, below: usize) -> Outcome {
    let mut scratch = Vec::new();
    let path = normalize(head.path(), &mut scratch).expect("a path");
    let mut head = head.clone();
    let path = path.to_vec();
    handler.handle(&mut Exchange {
        head: &mut head,
        path: &path,
        below,
        connection: &connection(),
        client: &Client::default(),
        env: &Rc::default(),
        content: &mut None,
        upgrade: &mut None,
        interims: None,
        trace: None,
        early: false,
        asked: None,
        script: None,
    })
}

/// The verdict of a step about a request that cannot make subrequests.
pub(crate) fn pass(step: &dyn Step, head: &mut RequestHead, client: &mut Client) -> Verdict {
    pass_again(step, head, client, &mut PassedLimits::default())
}

/// What a step says to a request that these limits have counted before.
pub(crate) fn pass_again(
    step: &dyn Step,
    head: &mut RequestHead,
    client: &mut Client,
    passed_limits: &mut PassedLimits,
) -> Verdict {
    step.check(&mut PhaseRequest {
        head,
        connection: &connection(),
        client,
        passed_limits,
        asked: None,
        subrequests: &NoSubrequests,
    })
}

struct NoSubrequests;

impl Subrequests for NoSubrequests {
    fn start(&self, _: Subrequest) -> Responding {
        panic!("a subrequest")
    }
}
