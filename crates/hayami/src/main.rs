//! The program: command line, rights, descriptors, signals, workers.
//!
//! ```text
//! args ─▶ prepare (site: a folder or a file becomes settings; all checks) ─▶ check: print, exit
//!                                                    └▶ serve: sockets, logs, pid file, user, workers, signals
//! bench ─▶ plan, runs, reports: the load generator, with its own command line
//! reload ─▶ control (a unix socket) ─▶ the running server: prepare again, then update all workers
//! ```
//!
//! `hayami-server` decides about responses, `hayami-net` moves bytes.
#![forbid(unsafe_code)]

mod access;
mod args;
mod banner;
mod before;
mod bench;
mod check;
mod control;
mod descriptors;
mod dev_tls;
mod error_log;
mod exit;
mod explain;
mod hints;
mod pid_file;
mod prepare;
mod reach;
mod reload;
mod serve;
mod signals;
mod site;
mod socket_file;
mod sockets;
mod spawner;
mod supervise;
mod user;
mod workers;

use args::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "bench") {
        return bench::bench(&words[2..]);
    }
    if words.get(1).is_some_and(|word| word == "reload") {
        return control::client::reload(&words[2..]);
    }
    if words.get(1).is_some_and(|word| word == spawner::SUPERVISE) {
        return supervise::supervise(&words[2..]);
    }
    let command = match args::parse(words) {
        Ok(command) => command,
        Err(failure) => return exit::finish(Err(failure)),
    };
    exit::finish(match command {
        Command::Print(text) => exit::print(&text),
        Command::Check(args) => check::check(&args),
        Command::Serve(args) => serve::serve(&args),
    })
}
