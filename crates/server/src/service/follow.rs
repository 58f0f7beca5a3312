//! Answers that say where the real one is (`reproxy`): followed, a bounded number of times.

use super::request_context::{RequestContext, Scratch};
use super::subrequest::elsewhere;
use super::{Core, plain};
use crate::handler::{Exchange, Outcome};
use crate::internal_target as target;
use crate::modules::reproxy::{Instruction, Kept, Rules};
use hayami_http::{RequestHead, Response, Status, TargetForm, encode_path};
use std::rc::Rc;

impl Core {
    /// The answer, unless it says that the real one is elsewhere: then what comes of going there.
    #[inline]
    pub(super) fn follow(
        &self,
        context: &mut RequestContext,
        head: &mut RequestHead,
        scratch: &mut Scratch,
        mut response: Response,
    ) -> Result<Response, Outcome> {
        if context.route.reproxy.is_some() {
            let route = Rc::clone(&context.route);
            if let Some(rules) = &route.reproxy
                && let Some(outcome) = self.apply_instruction(rules, context, head, scratch, &response)
            {
                return Err(outcome);
            }
        }
        if let Some(kept) = context.kept.take() {
            kept.put_into(&mut response.head);
        }
        Ok(response)
    }

    /// Goes where an answer says, if it says so.
    fn apply_instruction(
        &self,
        rules: &Rules,
        context: &mut RequestContext,
        head: &mut RequestHead,
        scratch: &mut Scratch,
        response: &Response,
    ) -> Option<Outcome> {
        let instruction = match rules.read(&response.head) {
            Ok(instruction) => instruction?,
            Err(reason) => return Some(failed(reason)),
        };
        if !self.may_delegate(context) {
            return Some(failed(format!(
                "too many delegations (`max-delegations: {}`)",
                self.max_delegations
            )));
        }
        Some(match instruction {
            Instruction::Ask { target, kept } => {
                keep(context, kept);
                context.asked.get_or_insert_with(|| target::path_and_query(head));
                *head = target::redirected(head, &target, false);
                self.ask(context, head, scratch)
            }
            Instruction::File { path, kept } => {
                keep(context, kept);
                send_file(rules, context, head, scratch, path)
            }
        })
    }

    /// Asks this server, or the one that the target names.
    fn ask(&self, context: &mut RequestContext, head: &RequestHead, scratch: &mut Scratch) -> Outcome {
        if head.form() == TargetForm::Absolute {
            let host = self.router.named_host(target::is_https(head), head.authority());
            if let Some(remote) = elsewhere(head, host, &context.route) {
                let client = context.client.address(&context.connection);
                return remote.ask(head, &context.connection, client, context.early);
            }
            context.host = host;
        }
        self.locate(context, head, scratch)
    }
}

fn keep(context: &mut RequestContext, kept: Option<Kept>) {
    if kept.is_some() {
        context.kept = kept;
    }
}

/// Sends a file of the directory of `reproxy.sendfile`.
fn send_file(
    rules: &Rules,
    context: &mut RequestContext,
    head: &mut RequestHead,
    scratch: &mut Scratch,
    path: Vec<u8>,
) -> Outcome {
    let Some(files) = rules.files() else { return Outcome::Declined };
    let mut target = Vec::with_capacity(path.len());
    encode_path(&path, &mut target);
    *head = target::redirected(head, &target, false);
    scratch.path = path;
    context.ask_only(files, head, &scratch.path, 1)
}

fn failed(reason: String) -> Outcome {
    Outcome::Failed { response: plain(Status::BAD_GATEWAY, ""), reason }
}

impl RequestContext {
    /// Asks a handler that is none of the path's; who else is there is not asked.
    pub(super) fn ask_only(
        &mut self,
        handler: &dyn crate::handler::Handler,
        head: &mut RequestHead,
        path: &[u8],
        below: usize,
    ) -> Outcome {
        self.next = usize::MAX;
        handler.handle(&mut Exchange {
            head,
            path,
            below,
            connection: &self.connection,
            client: &self.client,
            env: &self.route.env,
            content: &mut None,
            upgrade: &mut None,
            interims: None,
            trace: None,
            early: self.early,
            asked: None,
            script: None,
        })
    }
}
