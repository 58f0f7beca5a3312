//! From a handler's response to the answer that leaves: error page, filters, log.

use super::error_page::with_page;
use super::request_context::{DetachedRequest, Pending, Progress, RequestContext, Scratch};
use super::{Core, page};
use crate::handler::RequestInfo;
use hayami_http::{Method, RequestHead, Response, Status};
use hayami_net::service::{Answer, Observer, Outcome};
use std::rc::Rc;

/// Requests whose memory is kept, and how large their heads may be: together 256 KB for each worker at most.
const SPARES: usize = 64;
const SPARE: usize = 4096;

impl DetachedRequest {
    /// Waits for the response.
    pub(super) async fn response(&mut self, core: &Rc<Core>, mut pending: Pending) -> Response {
        loop {
            match core.proceed(&mut self.context, &mut self.head, &mut self.scratch, pending).await {
                Progress::Ready(response) => return response,
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
        mut context: RequestContext,
        head: &mut RequestHead,
        path: &[u8],
        response: Response,
    ) -> Outcome {
        context.note_original(&response);
        match self.error_page(&context, head, response.head.status()) {
            None => Outcome::Ready(context.leave(head, path, response)),
            Some((_, Progress::Ready(page))) => {
                Outcome::Ready(context.leave(head, path, with_page(response, page)))
            }
            Some((mut page, Progress::Later(pending))) => {
                let (core, head, path) = (Rc::clone(self), std::mem::take(head), path.to_vec());
                Outcome::Later(Box::pin(async move {
                    let page = page.page(&core, pending).await;
                    context.leave(&head, &path, with_page(response, page))
                }))
            }
        }
    }

    /// Finishes a response that comes later.
    pub(super) fn finish_later(self: &Rc<Self>, mut detached: DetachedRequest, pending: Pending) -> Outcome {
        let core = Rc::clone(self);
        Outcome::Later(Box::pin(async move {
            let response = detached.response(&core, pending).await;
            let DetachedRequest { context, mut head, scratch } = detached;
            match core.finish(context, &mut head, &scratch.path, response) {
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
    pub(super) fn finish_now(
        self: &Rc<Self>,
        mut context: RequestContext,
        head: &RequestHead,
        response: Response,
    ) -> Answer {
        context.note_original(&response);
        match self.error_page(&context, head, response.head.status()) {
            Some((_, Progress::Ready(page))) => context.leave(head, b"/", with_page(response, page)),
            _ => context.leave(head, b"/", response),
        }
    }
}

/// Whether a response of this status makes the stream, or the connection, a tunnel (RFC 9110 §7.8, §9.3.6; RFC 8441 §5).
#[inline]
fn grants_tunnel(head: &RequestHead, status: Status) -> bool {
    status == Status::SWITCHING_PROTOCOLS
        || head.method() == Method::Connect && (200..300).contains(&status.code())
}

impl RequestContext {
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
        Answer { response, observer: self.passed_limits.hold_until_sent(observer) }
    }
}
