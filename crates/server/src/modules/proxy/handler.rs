//! The handler of a proxied path: chooses an upstream and sends it the request.

use super::attempt::Attempt;
use super::failure;
use super::route::ProxyRoute;
use super::streaming::Watch;
use super::target::Below;
use super::tunnel::Passed;
use super::upload::Upload;
use crate::feature::RouteContext;
use crate::handler::{Exchange, Handler, Outcome};
use crate::modules::upstreams::{Dispatch, Reference};
use std::rc::Rc;

/// Forwards requests.
struct Proxy(Rc<ProxyRoute>);

/// Builds the handler of a path. Without an event loop nothing can connect; then the handler does nothing.
pub fn build(reverse: &Reference, route: &RouteContext<'_>) -> Box<dyn Handler> {
    match &route.worker.outbound {
        Some(outbound) => Box::new(Proxy(Rc::new(ProxyRoute::new(reverse, route, outbound)))),
        None => Box::new(NullHandler),
    }
}

/// Stands in for a handler when a configuration is only tested.
struct NullHandler;

impl Handler for NullHandler {
    fn handle(&self, _: &mut Exchange<'_>) -> Outcome {
        Outcome::Declined
    }
}

impl Handler for Proxy {
    fn handle(&self, exchange: &mut Exchange<'_>) -> Outcome {
        let passing = &self.0;
        let tunnel_request = match passing.tunnels.pass(exchange) {
            Passed::Ordinary => None,
            Passed::On(tunnel_request) => Some(tunnel_request),
            Passed::Answered(answer) => return answer,
        };
        let key = passing.pool.key(exchange.head, exchange.client_address());
        let chosen = passing.pool.choose(key);
        let below = Below::new(exchange.head, exchange.path, exchange.below);
        let trace = exchange.trace.map(Rc::clone);
        let content = exchange.content.take();
        let watch = passing.streaming.watch(exchange.head);
        let content = content.map(|content| Upload::new(content, passing.rewriting.underscores));
        let (mut upload, refusals) = content.unzip();
        if let (Some(upload), Some(watch)) = (&mut upload, &watch) {
            upload.tell(watch.activity().clone());
        }
        let member = chosen.as_ref().ok().map(|chosen| &**chosen.member());
        let mut call = match passing.call(exchange, member, &below, upload) {
            Ok(call) => call,
            Err(fault) => return failure::bad_request(&fault),
        };
        call.options.streaming = watch.as_ref().map(Watch::over_http2);
        if let Some(tunnel_request) = &tunnel_request {
            tunnel_request.prepare(&mut call);
        }
        let attempt = Attempt {
            dispatch: Dispatch {
                pool: Rc::clone(&passing.pool),
                transport: passing.transport,
                key,
                trace,
                subject: None,
            },
            below,
            refusals,
            replaces_host: passing.replaces_host(exchange),
            passing: Rc::clone(passing),
            tunnel_request,
            watch,
            ends_with: passing.proxy_options.forward_close.then(|| Rc::clone(exchange.connection)),
        };
        let begun = attempt.dispatch.begin(chosen, call);
        Outcome::from_upstream(attempt.run(begun))
    }
}
