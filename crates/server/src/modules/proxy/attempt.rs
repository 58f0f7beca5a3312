//! One request in flight: retries on other upstreams, and the response to the client.

use super::failure;
use super::response;
use super::route::ProxyRoute;
use super::streaming::Watch;
use super::target::Below;
use super::tunnel::TunnelRequest;
use super::upload::poll_refused;
use crate::handler::Outcome;
use crate::modules::upstreams::{Answered, Begun, Dispatch, Failed, Member, follow};
use crate::observe::Severity;
use hayami_client::{Call, Reply};
use hayami_http::{FieldSection, Response, SourceError, Status};
use hayami_net::service::{ConnectionInfo, Refusals};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

/// A request in flight.
pub(super) struct Attempt {
    pub(super) passing: Rc<ProxyRoute>,
    pub(super) dispatch: Dispatch,
    /// To build the target for another upstream.
    pub(super) below: Below,
    /// Reports refusal of the client's request body.
    pub(super) refusals: Option<Refusals>,
    /// Whether another upstream gets another Host.
    pub(super) replaces_host: bool,
    /// The tunnel requested by the client.
    pub(super) tunnel_request: Option<Box<TunnelRequest>>,
    /// Watches the call for inactivity, if it is a streaming one.
    pub(super) watch: Option<Watch>,
    /// The client's connection, if it is closed together with the upstream's.
    pub(super) ends_with: Option<Rc<ConnectionInfo>>,
}

impl Attempt {
    /// Sends the request to the chosen upstream, then to others if it fails and a retry is safe.
    pub(super) async fn run(mut self, begun: Begun) -> Outcome {
        let mut watch = self.watch.take();
        let answer = {
            let readdress = |call, member: &Member| self.readdressed(call, member);
            let mut answer = pin!(self.dispatch.run(begun, readdress));
            poll_fn(|cx| {
                if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                    return Poll::Ready(Ok(answer));
                }
                if let Some(Poll::Ready(stalled)) = watch.as_mut().map(|watch| watch.poll(cx)) {
                    return Poll::Ready(Err(failure::stalled(&stalled)));
                }
                poll_refused(self.refusals.as_ref(), cx).map(|refusal| Err(failure::refused(&refusal)))
            })
            .await
        };
        self.watch = watch;
        match answer {
            Ok(Ok(answered)) => self.answer(answered),
            Ok(Err(Failed::Upstream { failure, reasons })) => {
                failure::outcome(&failure, &reasons, self.refusals.as_ref())
            }
            Ok(Err(Failed::NotSent(outcome))) | Err(outcome) => outcome,
        }
    }

    /// The same request, for another upstream.
    fn readdressed(&self, mut call: Call, member: &Member) -> Call {
        call.target = self.passing.target(member, &self.below);
        if self.replaces_host {
            call.fields = with_host(std::mem::take(&mut call.fields), member.url().authority.as_bytes());
        }
        call
    }

    fn answer(mut self, mut answered: Answered) -> Outcome {
        let Some(tunnel_request) = self.tunnel_request.take() else { return self.response(answered) };
        let reply = &mut answered.reply;
        let wrong = match reply.tunnel.take() {
            None if tunnel_request.takes(&reply.head) => return self.response(answered),
            None => "it returned a success status without switching protocols".to_owned(),
            Some(tunnel) => {
                match tunnel_request.granted(answered.reply.head, tunnel, self.passing.keep_server) {
                    Ok(Response { head, content }) => {
                        // A tunnel holds its permit for as long as it is open.
                        let content = follow(content, answered.permit, None::<fn(&SourceError)>);
                        return Outcome::Ready(Response { head, content });
                    }
                    Err(wrong) => wrong,
                }
            }
        };
        let reason = format!("upstream {}: {wrong}", answered.member.shown());
        Outcome::Failed { response: failure::response(Status::BAD_GATEWAY), reason }
    }

    fn response(mut self, answered: Answered) -> Outcome {
        let Answered { reply: Reply { mut head, content, closes, timing, .. }, member, permit } = answered;
        if let Err(fault) = response::clean(&mut head, self.passing.keep_server) {
            return failure::bad_response(member.shown(), &fault);
        }
        if !self.passing.adds_date {
            head.omit_date();
        }
        if let Some(mapping) = self.passing.mapping(&member) {
            mapping.apply(head.own_all());
        }
        if let Some(connection) = self.ends_with.as_ref().filter(|_| closes) {
            connection.ends.set(true);
        }
        let content = match self.watch.take() {
            Some(watch) => watch.follow(content),
            None => content,
        };
        let report = self.passing.reports_errors.then(|| self.passing.report(member, self.below));
        Outcome::Ready(Response { head, content: self.dispatch.follow(content, timing, permit, report) })
    }
}

impl ProxyRoute {
    /// Reports that the content of a response broke off.
    fn report(self: &Rc<Self>, member: Rc<Member>, below: Below) -> impl Fn(&SourceError) + use<> {
        let passing = Rc::clone(self);
        move |error| {
            let target = passing.target(&member, &below);
            let (shown, target) = (member.shown(), String::from_utf8_lossy(&target));
            let text =
                format_args!("{shown}: the content of the response to \"{target}\" is incomplete: {error}");
            passing.pool.report(Severity::Error, text);
        }
    }
}

/// Replaces Host if it is the first field; one set by a `proxy.header.*` command is kept.
fn with_host(fields: Box<FieldSection>, host: &[u8]) -> Box<FieldSection> {
    if fields.iter().next().is_none_or(|(name, _)| name != b"host") {
        return fields;
    }
    let mut changed = Box::<FieldSection>::default();
    changed.append(b"host", host);
    fields.lines().skip(1).for_each(|line| changed.append_line(line));
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_upstream_gets_its_own_host_unless_a_command_has_set_one() {
        let cases = [(["host", "a"], ["other", "1"]), (["a", "host"], ["0", "1"])];
        for (names, want) in cases {
            let mut fields = Box::<FieldSection>::default();
            for (number, name) in names.iter().enumerate() {
                fields.append(name.as_bytes(), number.to_string().as_bytes());
            }
            let changed = with_host(fields, b"other");
            assert_eq!(changed.iter().map(|(_, value)| value).collect::<Vec<_>>(), want.map(str::as_bytes));
        }
    }
}
