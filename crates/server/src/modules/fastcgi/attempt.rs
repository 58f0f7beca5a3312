//! One request in flight to an application, and the response to the client.

use super::response::{Meaning, read};
use super::spool::{self, Room, Spooled};
use super::stderr_log;
use crate::handler::Outcome;
use crate::modules::proxy::{Upload, failure, poll_refused};
use crate::modules::upstreams::{Answered, Dispatch, Failed, Member};
use crate::observe::Severity;
use crate::upstream_trace::Direction;
use hayami_client::{Call, Reply};
use hayami_http::{Response, Source, SourceError};
use hayami_net::service::Refusals;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

/// A request in flight.
pub(super) struct Attempt {
    pub(super) dispatch: Dispatch,
    /// Reports refusal of the client's request body.
    pub(super) refusals: Option<Refusals>,
    /// Whether errors of requests go to the error log.
    pub(super) reports_errors: bool,
}

impl Attempt {
    /// Buffers the content first, since its length must be sent ahead of it.
    pub(super) async fn collect(self, upload: Upload, mut call: Call, room: Room) -> Outcome {
        match Spooled::collect(upload, room).await {
            Ok(spooled) => {
                let length = spooled.length().unwrap_or_default();
                call.fields.append(b"CONTENT_LENGTH", length.to_string().as_bytes());
                self.run_with(spooled, call).await
            }
            Err(error) => self.broke_off(&error),
        }
    }

    fn broke_off(&self, failure: &spool::Failure) -> Outcome {
        let refusal = self.refusals.as_ref().and_then(Refusals::get);
        let status = refusal.map_or(failure.status(), |refusal| refusal.status());
        let reason = format!("the request's content: {failure}");
        Outcome::Failed { response: failure::response(status), reason }
    }

    /// Sends the request with its content.
    pub(super) async fn run_with(self, content: impl Source + 'static, call: Call) -> Outcome {
        let content: Box<dyn Source> = Box::new(content);
        let content = match &self.dispatch.trace {
            Some(trace) => trace.counted(content, Direction::Up, self.dispatch.pool.clock()),
            None => content,
        };
        self.run(Call { content: Some(content), ..call }).await
    }

    /// Sends the request to one server of the application, then to others if it fails and a retry is safe.
    pub(super) async fn run(self, mut call: Call) -> Outcome {
        let chosen = self.dispatch.pool.choose(self.dispatch.key);
        if let Ok(chosen) = &chosen {
            call = self.listening(call, chosen.member());
        }
        let answer = {
            let listening = |call, member: &Member| self.listening(call, member);
            let begun = self.dispatch.begin(chosen, call);
            let mut answer = pin!(self.dispatch.run(begun, listening));
            poll_fn(|cx| match answer.as_mut().poll(cx) {
                Poll::Ready(answer) => Poll::Ready(Ok(answer)),
                Poll::Pending => {
                    poll_refused(self.refusals.as_ref(), cx).map(|refusal| Err(failure::refused(&refusal)))
                }
            })
            .await
        };
        match answer {
            Ok(Ok(answered)) => self.answer(answered),
            Ok(Err(Failed::Upstream { failure, reasons })) => {
                failure::outcome(&failure, &reasons, self.refusals.as_ref())
            }
            Ok(Err(Failed::NotSent(outcome))) | Err(outcome) => outcome,
        }
    }

    /// The same call, logging what this member writes to its standard error under the member's name.
    fn listening(&self, call: Call, member: &Member) -> Call {
        let whose = self.dispatch.whose(member).into_owned();
        Call { errors: Some(stderr_log::sink(&self.dispatch.pool, whose)), ..call }
    }

    fn answer(self, answered: Answered) -> Outcome {
        let Answered { reply: Reply { mut head, content, timing, .. }, member, permit } = answered;
        match read(&mut head) {
            Ok(Meaning::Response) => {}
            Ok(Meaning::Elsewhere(target)) => return Outcome::Internal { target, keep_method: false },
            Err(fault) => return failure::bad_response(&self.dispatch.whose(&member), &fault),
        }
        let dispatch = Rc::new(self.dispatch);
        let report = self.reports_errors.then(|| {
            let dispatch = Rc::clone(&dispatch);
            move |error: &SourceError| {
                let whose = dispatch.whose(&member);
                let text = format_args!("{whose}: the content of the response is incomplete: {error}");
                dispatch.pool.report(Severity::Error, text);
            }
        });
        Outcome::Ready(Response { head, content: dispatch.follow(content, timing, permit, report) })
    }
}
