//! Directives of h2o that are read and checked, but have no effect here.
//!
//! Some can be ignored silently: they tune mechanisms that hayami does not have. For the others the server warns at
//! startup, so that the operator does not rely on them.

use crate::config::directive::{Directive, Levels, Scope, group};
use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};
use crate::feature::Feature;

/// Checks the argument; returns whether to warn that it has no effect.
pub(super) type Check = fn(&Node) -> Result<bool, ConfigError>;

/// The setter of a directive without effect.
pub(super) fn ignore(scope: &mut Scope<'_>, node: &Node, check: Check, why: &str) -> Result<(), ConfigError> {
    if check(node)? {
        scope.warn(node.error(why));
    }
    Ok(())
}

/// A directive without effect: name, levels, argument, default in h2o, help, check of the argument, and why it has no
/// effect.
macro_rules! ignored {
    ($name:literal, $levels:ident, $argument:literal, $default:literal, $help:literal, $why:literal, $check:expr) => {
        Directive {
            name: $name,
            levels: Levels::$levels,
            argument: $argument,
            default: $default,
            help: $help,
            set: |scope, node| {
                crate::modules::ignored::ignore(
                    scope,
                    node,
                    $check,
                    concat!("`", $name, "` has no effect: ", $why),
                )
            },
        }
    };
}
pub(super) use ignored;

/// Warns for ON, not for OFF, which is how hayami behaves.
fn off_is_fine(node: &Node) -> Result<bool, ConfigError> {
    node.on_off()
}

fn silent_integer(node: &Node) -> Result<bool, ConfigError> {
    node.integer(0..=u64::MAX).map(|_| false)
}

/// This feature.
pub const FEATURE: Feature =
    Feature { ignored: &[group("Accepted without effect", DIRECTIVES)], ..Feature::new(&[]) };

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    ignored!(
        "temp-buffer-path",
        GLOBAL,
        "a directory",
        "/tmp",
        "Where h2o spills large buffers. hayami does not spill buffers.",
        "buffers are not spilled to disk",
        |node| node.text().map(|_| false)
    ),
    ignored!(
        "temp-buffer-threshold",
        GLOBAL,
        "bytes | OFF",
        "33554432",
        "The size from which h2o spills buffers. hayami does not spill buffers.",
        "buffers are not spilled to disk",
        |node| if node.one_of(&["OFF"]).is_ok() { Ok(false) } else { node.bytes().map(|_| false) }
    ),
    ignored!(
        "max-spare-pipes",
        GLOBAL,
        "a number",
        "0",
        "The number of pipes that h2o keeps for splicing. hayami uses no pipes.",
        "pipes are not used",
        silent_integer
    ),
    ignored!(
        "proxy.max-spare-pipes",
        GLOBAL,
        "a number",
        "0",
        "Deprecated name of `max-spare-pipes`.",
        "pipes are not used",
        silent_integer
    ),
    ignored!(
        "io_uring-batch-size",
        GLOBAL,
        "a number",
        "1",
        "How many io_uring submissions h2o batches. hayami does not use io_uring.",
        "io_uring is not used",
        silent_integer
    ),
    ignored!(
        "num-quic-threads",
        GLOBAL,
        "a number",
        "all threads",
        "The number of threads that serve HTTP/3, which is not supported yet.",
        "HTTP/3 is not supported yet",
        silent_integer
    ),
    ignored!(
        "max-quic-connections",
        GLOBAL,
        "a number",
        "max-connections",
        "The maximum number of HTTP/3 connections. HTTP/3 is not supported yet.",
        "HTTP/3 is not supported yet",
        silent_integer
    ),
    ignored!(
        "ssl-offload",
        GLOBAL,
        "OFF | kernel | zerocopy",
        "OFF",
        "Where h2o encrypts: in the process or in the kernel. hayami encrypts in its workers.",
        "the workers encrypt, not the kernel",
        |node| node.one_of(&["OFF", "kernel", "zerocopy"]).map(|which| which != 0)
    ),
    ignored!(
        "neverbleed-offload",
        GLOBAL,
        "OFF | QAT | QAT-AUTO",
        "OFF",
        "Where h2o computes RSA signatures. hayami computes them in its workers.",
        "the workers sign, without an accelerator",
        |node| node.one_of(&["OFF", "QAT", "QAT-AUTO"]).map(|which| which != 0)
    ),
    ignored!(
        "duration-stats",
        GLOBAL,
        "ON | OFF",
        "OFF",
        "Whether the status page shows how long requests take. A status page is not supported yet.",
        "a status page is not supported yet",
        off_is_fine
    ),
    ignored!(
        "capabilities",
        GLOBAL,
        "a sequence of names",
        "none",
        "Linux capabilities that h2o keeps when it changes its user. hayami drops them.",
        "the process keeps no capabilities when it changes its user",
        |node| match &node.value {
            Value::Sequence(nodes) => nodes.iter().try_for_each(|node| node.text().map(drop)).map(|()| true),
            _ => Err(node.expected("a sequence of capability names")),
        }
    ),
    ignored!(
        "crash-handler",
        GLOBAL,
        "a command",
        "none",
        "The command to which h2o pipes its backtrace after a fatal signal. hayami has no crash handler.",
        "crash handlers are not supported",
        |node| node.text().map(|_| true)
    ),
    ignored!(
        "crash-handler.wait-pipe-close",
        GLOBAL,
        "ON | OFF",
        "OFF",
        "Whether h2o waits for its crash handler. hayami has no crash handler.",
        "crash handlers are not supported",
        |node| node.on_off().map(|_| false)
    ),
];
