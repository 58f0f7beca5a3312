//! From a request to an application: which script it is for, and what is told of it.

use super::attempt::Attempt;
use super::params::{Facts, params};
use super::{Script, Settings, script};
use crate::handler::{Exchange, Handler, Outcome};
use crate::modules::env;
use crate::modules::proxy::Upload;
use crate::modules::upstreams::{Asking, Pool, Transport};
use crate::worker::WorkerContext;
use hayami_http::{Method, Source};
use hayami_net::upstream::Call;
use std::path::Path;
use std::rc::Rc;

/// Passes requests on to an application; without a loop there is nothing to connect with, and no application.
struct FastCgi(Option<Rc<Passing>>);

/// What a path says to an application.
pub(super) struct Passing {
    pub(super) pool: Rc<Pool>,
    transport: usize,
    root: Option<Rc<Path>>,
    send_delegated_uri: bool,
    underscores: bool,
    /// Whether errors of requests go to the error log.
    pub(super) reports_errors: bool,
    /// What `setenv` and `unsetenv` change in `file.custom-handler`.
    env: env::Changes,
}

/// The handler of the application that is the group of that index.
pub fn build(
    group: usize,
    settings: &Settings,
    env: env::Changes,
    reports_errors: bool,
    worker: &WorkerContext,
) -> Rc<dyn Handler> {
    let passing = worker.outbound.as_ref().map(|outbound| {
        let pool = worker.upstreams.get(group, outbound, &worker.clock);
        Rc::new(Passing {
            transport: pool.transport(Transport::FastCgi(Box::new(settings.of_connections()))),
            pool,
            root: settings.document_root.as_deref().map(Rc::from),
            send_delegated_uri: settings.send_delegated_uri,
            underscores: settings.underscores,
            reports_errors,
            env,
        })
    });
    Rc::new(FastCgi(passing))
}

impl Handler for FastCgi {
    fn handle(&self, exchange: &mut Exchange<'_>) -> Outcome {
        let Some(passing) = &self.0 else { return Outcome::Declined };
        let script = match (exchange.script, &passing.root) {
            (Some(script), _) => Some(script.clone()),
            (None, Some(root)) => script::find(root, exchange.path, exchange.below),
            (None, None) => None,
        };
        let content = exchange.content.take().map(|content| Upload::new(content, passing.underscores));
        let (upload, blame) = content.map_or((None, None), |(upload, blame)| (Some(upload), Some(blame)));
        let length = upload.as_ref().map(Source::length);
        let call = passing.call(exchange, script.as_ref(), length.flatten());
        let asking = Asking {
            pool: Rc::clone(&passing.pool),
            transport: passing.transport,
            key: passing.pool.key(exchange.head, exchange.connection),
            account: exchange.account.map(Rc::clone),
            subject: script.map(|script| shown(&script.name)),
        };
        let attempt = Attempt { asking, blame, reports_errors: passing.reports_errors };
        match (upload, length) {
            // Its length has to be told, and is not known before it is all there.
            (Some(upload), Some(None)) => Outcome::Later(Box::pin(attempt.collect(upload, call))),
            (Some(upload), _) => Outcome::Later(Box::pin(attempt.run_with(upload, call))),
            (None, _) => Outcome::Later(Box::pin(attempt.run(call))),
        }
    }

    fn costs_others(&self) -> bool {
        true
    }
}

/// A script's name for logs. Most have nothing that a log may not have.
fn shown(name: &[u8]) -> Box<str> {
    match str::from_utf8(name) {
        Ok(plain) if plain.bytes().all(|octet| octet.is_ascii_graphic() && !b"\"'\\".contains(&octet)) => {
            plain.into()
        }
        _ => String::from_utf8_lossy(name).escape_default().to_string().into(),
    }
}

impl Passing {
    /// What is asked, without content.
    fn call(&self, exchange: &Exchange<'_>, script: Option<&Script>, content: Option<u64>) -> Call {
        let head = &*exchange.head;
        let changed = self.env.apply(exchange.env);
        let fields = params(&Facts {
            head,
            path: exchange.path,
            asked: exchange.asked.filter(|_| !self.send_delegated_uri),
            script,
            root: self.root.as_deref(),
            connection: exchange.connection,
            content,
            env: changed.as_ref().unwrap_or(exchange.env),
            underscores: self.underscores,
        });
        Call {
            method: head.method_name().to_vec(),
            target: b"/".to_vec(),
            fields,
            content: None,
            // RFC 9110 §9.2.2
            repeatable: head.method().is_safe() || matches!(head.method(), Method::Put | Method::Delete),
            interim: None,
            errors: None,
            upgrade: None,
            manner: Default::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_logs_keep_to_their_line() {
        let cases: [(&[u8], &str); 4] = [
            (b"/a/b.php", "/a/b.php"),
            (b"/a b", "/a b"),
            (b"/a\n\x1b", "/a\\n\\u{1b}"),
            (b"/\"\\", "/\\\"\\\\"),
        ];
        for (name, want) in cases {
            assert_eq!(&*shown(name), want);
        }
    }
}
