//! The response: waiting for it, interim responses before it, and its head.

use super::body::Body;
use super::content::DISCARD;
use super::protocol::{Follows, Protocol};
use super::{Exchange, Progress, Work};
use crate::clock::Instant;
use crate::request_body::BodySender;
use crate::service::{Answer, Observer, Refusal, Service};
use crate::worker::Worker;
use hayami_http::{Content, RequestHead, Response};
use std::task::{Context, Poll};

/// The part of a response that cannot be sent at once.
pub(super) struct Unsent {
    content: Content,
    observer: Option<(Box<dyn Observer>, Instant)>,
    is_tunnel: bool,
}

/// Sends the head of a response, and its content if that can be sent at once. `unread`: bytes of request content that
/// the handler does not take.
#[inline]
pub(super) fn send<P: Protocol, S: Service>(
    protocol: &mut P,
    worker: &Worker<S>,
    answer: Answer,
    unread: u64,
) -> Option<Unsent> {
    let Answer { response: Response { head, content }, observer } = answer;
    if unread > DISCARD {
        protocol.will_not_read(unread);
    }
    let (common, version) = worker.common.fields(&worker.clock, worker.service.server_name(), &head);
    let length = content.len();
    let follows = protocol.head(&head, length, (&common, version));
    drop(common);
    if let Some(fields) = head.into_own() {
        worker.pool.give_fields(fields);
    }
    let observer = observer.map(|observer| (observer, worker.clock.refresh_if_exact()));
    let (rest, written) = match follows {
        Follows::Nothing => (None, 0),
        Follows::Content | Follows::Tunnel => (protocol.whole(content), length.unwrap_or(0)),
    };
    match rest {
        Some(content) => Some(Unsent { content, observer, is_tunnel: follows == Follows::Tunnel }),
        None => {
            if let Some(observer) = observer {
                protocol.report(observer, written);
            }
            None
        }
    }
}

/// Answers an invalid request. If the response is streamed, returns an exchange for the rest.
#[cold]
pub(crate) fn refuse<P: Protocol, S: Service>(
    protocol: &mut P,
    worker: &Worker<S>,
    refusal: &Refusal,
    head: &mut RequestHead,
    length: Option<u64>,
) -> super::Slot {
    let answer = worker.service.refuse(refusal, &mut protocol.request(head, length));
    let unsent = send(protocol, worker, answer, 0)?;
    let mut exchange = worker.exchanges.take();
    exchange.begin_body(unsent);
    Some(exchange)
}

impl Exchange {
    /// Continues the exchange.
    #[inline]
    pub(crate) fn go_on<P: Protocol, S: Service>(
        &mut self,
        protocol: &mut P,
        worker: &Worker<S>,
    ) -> Progress {
        let progress = match self.work {
            Work::Answer(_) => self.poll_answer(protocol, worker),
            Work::Body(_) => self.send_content(protocol, worker),
            Work::Receive => self.receive_rest(protocol),
            Work::Discard => Progress::Pending,
        };
        match progress {
            Progress::Complete => self.complete(protocol),
            Progress::Broken => {}
            Progress::More | Progress::Pending | Progress::HalfClosed => self.settle(protocol, worker),
        }
        progress
    }

    fn poll_answer<P: Protocol, S: Service>(&mut self, protocol: &mut P, worker: &Worker<S>) -> Progress {
        let Work::Answer(answer) = &mut self.work else { return Progress::Pending };
        let polled = match &self.content {
            Some(feed) => {
                let waker = feed.waker();
                feed.attend(|| answer.as_mut().poll(&mut Context::from_waker(&waker)))
            }
            None => answer.as_mut().poll(&mut Context::from_waker(&protocol.waker())),
        };
        if let Some(interim) = self.interim.as_ref().filter(|interim| !interim.is_empty()) {
            interim.take().iter().for_each(|head| protocol.interim(head));
        }
        let Poll::Ready(answer) = polled else { return Progress::Pending };
        self.work = Work::Discard;
        let unread =
            if self.content.as_ref().is_some_and(BodySender::has_reader) { 0 } else { self.remaining() };
        match send(protocol, worker, answer, unread) {
            Some(unsent) => {
                self.begin_body(unsent);
                Progress::More
            }
            None => Progress::Complete,
        }
    }

    /// The head is sent, content follows.
    pub(super) fn begin_body(&mut self, unsent: Unsent) {
        self.work = Work::Body(Body::new(unsent.content));
        (self.observer, self.tunnel) = (unsent.observer, unsent.is_tunnel);
    }

    /// The response is complete.
    fn complete<P: Protocol>(&mut self, protocol: &mut P) {
        // Outstanding content is no longer read: the client may send it to be discarded.
        let held = self.content.take().filter(|feed| !feed.is_complete()).map_or(0, BodySender::end);
        self.work = Work::Discard;
        if held > 0 {
            protocol.taken(held);
        }
        if let Some(observer) = self.observer.take() {
            protocol.report(observer, self.sent);
        }
    }
}
