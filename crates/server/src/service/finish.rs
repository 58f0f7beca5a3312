//! From a handler's response to the answer that leaves: error page, filters, log.

use super::dispatch::{Pending, Progress, Scratch, Way};
use super::{Core, page};
use crate::handler::RequestInfo;
use crate::internal_target as target;
use crate::modules::error_doc;
use hayami_http::{Known, Method, RequestHead, Response, Status};
use hayami_net::service::{Answer, Observer, Outcome};
use std::rc::Rc;

/// Requests whose memory is kept, and how large their heads may be: together 256 KB for each worker at most.
const SPARES: usize = 64;
const SPARE: usize = 4096;

/// A request that outlives the call that brought it.
pub(super) struct Journey {
    pub(super) way: Way,
    pub(super) head: RequestHead,
    pub(super) scratch: Scratch,
}

impl Journey {
    /// Waits for the response.
    async fn response(&mut self, core: &Core, mut pending: Pending) -> Response {
        loop {
            match core.proceed(&mut self.way, &mut self.head, &mut self.scratch, pending).await {
                Progress::Ready(response) => return response,
                Progress::Later(next) => pending = next,
            }
        }
    }

    /// Waits for an error page.
    async fn page(&mut self, core: &Core, mut pending: Pending) -> Response {
        loop {
            let response = self.response(core, pending).await;
            match core.follow_page(self, Progress::Ready(response)) {
                Progress::Ready(page) => return page,
                Progress::Later(next) => pending = next,
            }
        }
    }
}

impl Core {
    /// Finishes a response that is here. Only an error page may take its time.
    #[inline]
    pub(super) fn finish(
        self: &Rc<Self>,
        mut way: Way,
        head: &mut RequestHead,
        path: &[u8],
        response: Response,
    ) -> Outcome {
        way.note_original(&response);
        match self.error_page(&way, head, response.head.status()) {
            None => Outcome::Ready(way.leave(head, path, response)),
            Some((_, Progress::Ready(page))) => {
                Outcome::Ready(way.leave(head, path, with_page(response, page)))
            }
            Some((mut page, Progress::Later(pending))) => {
                let (core, head, path) = (Rc::clone(self), std::mem::take(head), path.to_vec());
                Outcome::Later(Box::pin(async move {
                    let page = page.page(&core, pending).await;
                    way.leave(&head, &path, with_page(response, page))
                }))
            }
        }
    }

    /// Finishes a response that comes later.
    pub(super) fn finish_later(self: &Rc<Self>, mut journey: Journey, pending: Pending) -> Outcome {
        let core = Rc::clone(self);
        Outcome::Later(Box::pin(async move {
            let response = journey.response(&core, pending).await;
            let Journey { way, mut head, scratch } = journey;
            match core.finish(way, &mut head, &scratch.path, response) {
                Outcome::Ready(answer) => {
                    core.recycle(head, scratch);
                    answer
                }
                Outcome::Later(answer) => answer.await,
            }
        }))
    }

    /// Keeps a request's memory for another one.
    fn recycle(&self, mut head: RequestHead, scratch: Scratch) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARES && head.fields().bytes().len() <= SPARE {
            head.reset_to(b"");
            spare.push((head, scratch));
        }
    }

    /// Finishes a refusal, which cannot wait: an error page that is not at hand is done without.
    pub(super) fn finish_now(&self, mut way: Way, head: &RequestHead, response: Response) -> Answer {
        way.note_original(&response);
        match self.error_page(&way, head, response.head.status()) {
            Some((_, Progress::Ready(page))) => way.leave(head, b"/", with_page(response, page)),
            _ => way.leave(head, b"/", response),
        }
    }

    /// The page that stands for an error of this status, fetched from this server itself.
    #[inline]
    fn error_page(&self, way: &Way, head: &RequestHead, status: Status) -> Option<(Journey, Progress)> {
        if !status.is_error() {
            return None;
        }
        let url = way.route.error_pages.url(status)?;
        Some(self.fetch(way, target::page(head, url.as_bytes())))
    }

    /// Asks this server itself, or the one that the URL names: no log, no error page of the error page.
    #[cold]
    fn fetch(&self, way: &Way, mut head: RequestHead) -> (Journey, Progress) {
        let named = self.router.named_host(target::is_https(&head), head.authority());
        let is_path = head.authority().is_empty();
        let remote = way.route.error_pages.remote.as_ref().filter(|_| !is_path && named.is_none());
        let client = way.client.clone();
        let mut way = self.enter(if is_path { way.host } else { named }, &way.connection);
        // The configuration names the page, not the client.
        (way.client, way.is_own) = (client, true);
        let mut scratch = Scratch::default();
        let outcome = match remote {
            Some(remote) => remote.ask(&head, &way.connection, way.client.address(&way.connection), false),
            None => self.locate(&mut way, &head, &mut scratch),
        };
        let step = self.advance(&mut way, &mut head, &mut scratch, outcome);
        let mut journey = Journey { way, head, scratch };
        let step = self.follow_page(&mut journey, step);
        (journey, step)
    }

    /// Follows redirects of an error page within this server: `/errors` leads to `/errors/` where a directory is.
    fn follow_page(&self, page: &mut Journey, mut step: Progress) -> Progress {
        while let Progress::Ready(response) = &step {
            let Some(next) = self.redirected_page(page, response) else { break };
            step = next;
        }
        step
    }

    /// Where an error page has moved to, if it has and that is on this server.
    fn redirected_page(&self, page: &mut Journey, response: &Response) -> Option<Progress> {
        let moved = matches!(response.head.status().code(), 301 | 302 | 303 | 307 | 308);
        let location = response.head.get(Known::Location).filter(|_| moved)?;
        // No host of this server has answered.
        page.way.host?;
        let head = target::page(&page.head, location);
        let host = match head.authority().is_empty() {
            true => page.way.host,
            false => Some(self.router.named_host(target::is_https(&head), head.authority())?),
        };
        if !self.may_redirect(&mut page.way) {
            return None;
        }
        (page.way.host, page.head) = (host, head);
        let outcome = self.locate(&mut page.way, &page.head, &mut page.scratch);
        Some(self.advance(&mut page.way, &mut page.head, &mut page.scratch, outcome))
    }
}

/// `response` with the page's content, if there is a page: an error page that is an error itself is none.
fn with_page(response: Response, page: Response) -> Response {
    if page.head.status() == Status::OK { error_doc::merge(response, page) } else { response }
}

/// Whether a response of this status makes the stream, or the connection, a tunnel (RFC 9110 §7.8, §9.3.6; RFC 8441 §5).
#[inline]
fn grants_tunnel(head: &RequestHead, status: Status) -> bool {
    status == Status::SWITCHING_PROTOCOLS
        || head.method() == Method::Connect && (200..300).contains(&status.code())
}

impl Way {
    #[inline]
    fn note_original(&mut self, response: &Response) {
        if let Some(record) = &mut self.record {
            record.note_original(&response.head);
        }
    }

    /// Filters, then the log: the last that happens to a response before it is sent.
    #[inline]
    fn leave(self, head: &RequestHead, path: &[u8], mut response: Response) -> Answer {
        page::negotiate(head, &mut response);
        let request = RequestInfo { head, path, tunnel: grants_tunnel(head, response.head.status()) };
        for filter in &self.route.filters {
            filter.apply(&request, &mut response);
        }
        if let Some(timing) = self.timing {
            timing.apply(self.route.server_timing, &mut response);
        }
        let observer = self.record.map(|mut record| {
            record.note_response(&response.head, &self.client);
            record as Box<dyn Observer>
        });
        Answer { response, observer }
    }
}
