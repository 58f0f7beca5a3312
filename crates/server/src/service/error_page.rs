//! Error pages (`error-doc`): subrequests whose content takes the place of the server's own texts.

use super::Core;
use super::request_context::DetachedRequest;
use super::request_context::{Pending, Progress, RequestContext};
use super::subrequest::Parent;
use crate::internal_target as target;
use crate::modules::error_doc;
use crate::subrequest::Subrequest;
use hayami_http::{Known, RequestHead, Response, Status};
use std::rc::Rc;

impl DetachedRequest {
    /// Waits for an error page.
    pub(super) async fn page(&mut self, core: &Rc<Core>, mut pending: Pending) -> Response {
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
    /// The page that stands for an error of this status: from this server itself, or the one that its URL names.
    #[inline]
    pub(super) fn error_page(
        self: &Rc<Self>,
        context: &RequestContext,
        head: &RequestHead,
        status: Status,
    ) -> Option<(DetachedRequest, Progress)> {
        if !status.is_error() {
            return None;
        }
        let url = context.route.error_pages.url(status)?;
        Some(self.fetch(context, target::page(head, url.as_bytes())))
    }

    #[cold]
    fn fetch(self: &Rc<Self>, context: &RequestContext, head: RequestHead) -> (DetachedRequest, Progress) {
        let parent = Parent { early: false, ..context.as_parent(self) };
        let page = parent.enter(&head);
        let (mut detached, progress) = self.run(page, &context.route, Subrequest { head, handler: None });
        let progress = self.follow_page(&mut detached, progress);
        (detached, progress)
    }

    /// Follows redirects of an error page within this server: `/errors` leads to `/errors/` where a directory is.
    fn follow_page(self: &Rc<Self>, page: &mut DetachedRequest, mut step: Progress) -> Progress {
        while let Progress::Ready(response) = &step {
            let Some(next) = self.redirected_page(page, response) else { break };
            step = next;
        }
        step
    }

    /// Where an error page has moved to, if it has and that is on this server.
    fn redirected_page(self: &Rc<Self>, page: &mut DetachedRequest, response: &Response) -> Option<Progress> {
        let moved = matches!(response.head.status().code(), 301 | 302 | 303 | 307 | 308);
        let location = response.head.get(Known::Location).filter(|_| moved)?;
        // No host of this server has answered.
        page.context.host?;
        let head = target::page(&page.head, location);
        let host = match head.authority().is_empty() {
            true => page.context.host,
            false => Some(self.router.named_host(target::is_https(&head), head.authority())?),
        };
        if !self.may_redirect(&mut page.context) {
            return None;
        }
        (page.context.host, page.head) = (host, head);
        let outcome = self.locate(&mut page.context, &page.head, &mut page.scratch);
        Some(self.advance(&mut page.context, &mut page.head, &mut page.scratch, outcome))
    }
}

/// `response` with the page's content, if there is a page: an error page that is an error itself is none.
pub(super) fn with_page(response: Response, page: Response) -> Response {
    if page.head.status() == Status::OK { error_doc::merge(response, page) } else { response }
}
