//! The control socket: `hayami reload` uses it to control a running server.
//!
//! A unix socket that its owner and root can connect to, named by the server's process id. A client writes a line with its
//! command; the server answers with lines, `warning TEXT` and `error TEXT` as they are found, and finally
//! `done TEXT` or `failed CODE`.

pub(crate) mod client;
mod directory;
pub(crate) mod server;

/// The only command.
const RELOAD: &str = "reload";
const WARNING: &str = "warning ";
const ERROR: &str = "error ";
const DONE: &str = "done ";
const FAILED: &str = "failed ";
