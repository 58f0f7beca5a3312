//! The bare-loop limit: one thread, one epoll, a constant answer. A server that uses epoll and one system
//! call each to receive and to send cannot cost less, so hayami is compared with it.
//!
//! It is not a server: a request is everything up to an empty line, without content, and its target is
//! ignored. Modes:
//! - keep-alive (default): every complete request of a read is answered, all with one send;
//! - `--http2`: the bare frame loop, see `frames`;
//! - `--per-request`: TCP_DEFER_ACCEPT, a new connection is read before it is registered with
//!   epoll, answered and closed;
//! - `--forward ADDRESS`: the bare forwarding loop, see `forwarding`;
//! - `--count FILE`: keeps the number of connections accepted so far in a file, for races of connection pooling.

mod answer;
mod answering;
mod connection;
mod count;
mod defer_accept;
mod forwarding;
mod frames;
mod poll;
mod table;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::answer::Answer;
use crate::answering::Answering;
use crate::connection::Reply;
use crate::count::Count;
use crate::forwarding::Forwarding;
use crate::frames::Frames;

/// The bare-loop limit of the races.
#[derive(Parser)]
struct Options {
    /// Port to listen on, at 127.0.0.1.
    #[arg(long)]
    port: u16,
    /// Bytes of a whole response, head included.
    #[arg(long)]
    bytes: usize,
    /// Bytes of its content.
    #[arg(long, default_value_t = 0, required_unless_present = "forward")]
    content: usize,
    /// Forward requests to this upstream, and its responses, which have `bytes` bytes, back.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["http2", "content", "count"])]
    forward: Option<SocketAddrV4>,
    /// Speak HTTP/2, by prior knowledge; `bytes` are those of the two frames of a response.
    #[arg(long, conflicts_with = "per_request")]
    http2: bool,
    /// Answer one request per connection, and close it.
    #[arg(long)]
    per_request: bool,
    /// Keep the number of connections accepted so far in this file.
    #[arg(long, value_name = "FILE")]
    count: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bare_epoll: port {}: {error}", options.port);
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> std::io::Result<()> {
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, options.port);
    if let Some(upstream) = options.forward {
        return poll::run(Forwarding::listen(address, upstream, options.bytes, options.per_request)?);
    }
    let reply = if options.http2 {
        Reply::Http2(Frames::new(options.bytes, options.content))
    } else {
        Reply::Http1(Answer::new(options.bytes, options.content, options.per_request))
    };
    let count = options.count.as_deref().map(Count::new).transpose()?;
    poll::run(Answering::listen(address, reply, options.per_request, count)?)
}
