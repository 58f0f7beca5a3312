//! The beginning of an exchange: a request has arrived, and the service is called.

use super::answer::send;
use super::protocol::Protocol;
use super::{Exchange, Slot, Work};
use crate::request_body::{self, BodySender, RequestBody};
use crate::service::{Interim, Outcome, Request, Service, Upgrade, UpgradeKind};
use crate::turn_budget::cost;
use crate::upgrade;
use crate::worker::Worker;
use hayami_http::RequestHead;

/// The content that a request announces.
struct Announced {
    feed: BodySender,
    expects_continue: bool,
    is_tunnel: bool,
}

/// Calls the service, and sends the response if it is ready; otherwise returns an exchange. `length`: bytes of
/// content, `None` if unknown; `follows`: there is content, possibly empty.
#[inline]
pub(crate) fn begin<P: Protocol, S: Service>(
    protocol: &mut P,
    worker: &Worker<S>,
    head: &mut RequestHead,
    (length, follows): (Option<u64>, bool),
) -> Slot {
    let kind = if protocol.may_tunnel(head, follows) { upgrade::requested(head) } else { None };
    let (announced, incoming) = match follows || kind.is_some() {
        true => announce(protocol, worker, head, length, kind.is_some()),
        false => (None, None),
    };
    let mut request = protocol.request(head, length);
    match kind {
        Some(kind) => request.upgrade = incoming.map(|incoming| offer(kind, incoming)),
        None => request.content = incoming,
    }
    worker.budget.spend(cost::REQUEST);
    request.connection.cancel_on_close.set(false);
    let outcome = worker.service.respond(&mut request);
    let Request { content, upgrade, interim, .. } = request;
    drop((content, upgrade));
    match outcome {
        Outcome::Ready(answer) => {
            let unread = announced.as_ref().map_or(0, |announced| announced.unread(length));
            let unsent = send(protocol, worker, answer, unread)?;
            let mut exchange = worker.exchanges.take();
            exchange.expect_content(announced, length);
            exchange.begin_body(unsent);
            Some(exchange)
        }
        Outcome::Later(answer) => {
            let mut exchange = worker.exchanges.take();
            exchange.expect_content(announced, length);
            exchange.work = Work::Answer(answer);
            exchange.interim = interim.map(Interim::into_heads);
            Some(exchange)
        }
    }
}

/// Creates both ends of the content that a request announces.
#[inline(never)]
fn announce<P: Protocol, S>(
    protocol: &mut P,
    worker: &Worker<S>,
    head: &RequestHead,
    length: Option<u64>,
    is_tunnel: bool,
) -> (Option<Announced>, Option<RequestBody>) {
    let expects_continue = protocol.expects_continue(head);
    // The length of a tunnel is not known.
    let length = length.filter(|_| !is_tunnel);
    let (feed, incoming) = request_body::content(length, protocol.waker().into_owned(), &worker.content);
    (Some(Announced { feed, expects_continue, is_tunnel }), Some(incoming))
}

#[cold]
fn offer((kind, protocols): (UpgradeKind, Vec<u8>), bytes: RequestBody) -> Upgrade {
    bytes.disable_read_timeout();
    Upgrade { kind, protocols, bytes }
}

impl Announced {
    /// Bytes of content that the handler does not take.
    fn unread(&self, length: Option<u64>) -> u64 {
        if self.feed.has_reader() { 0 } else { length.unwrap_or(0) }
    }
}

impl Exchange {
    /// Keeps the content for the handler; if that has dropped its end, the content is discarded.
    fn expect_content(&mut self, announced: Option<Announced>, length: Option<u64>) {
        self.length = length;
        let Some(Announced { feed, expects_continue, is_tunnel }) = announced else { return };
        if feed.has_reader() {
            (self.content, self.expects_continue, self.tunnel) = (Some(feed), expects_continue, is_tunnel);
        }
    }
}
