//! The bare loops of this package: see `src/bin/bare_epoll`.

use std::net::SocketAddrV4;
use std::process::Command;

use super::{Site, Upstream, hayami};
use crate::backend::HEAD;
use crate::workload::Wire;

pub(super) fn version() -> Result<String, String> {
    let binary = hayami::release_folder().join("bare_epoll");
    if binary.is_file() { Ok("bare epoll loop of this tree".to_owned()) } else { Err("not built".to_owned()) }
}

pub(super) fn command(site: &Site<'_>) -> Result<Command, String> {
    if let Some(Upstream::Http(upstream)) = site.upstream {
        return Ok(forward(site, upstream));
    }
    let mut command = Command::new(hayami::release_folder().join("bare_epoll"));
    command.arg("--port").arg(site.address.port().to_string());
    command.arg("--bytes").arg(site.answer.bytes.to_string());
    command.arg("--content").arg(site.answer.content.to_string());
    if site.wire == Wire::Http2 {
        command.arg("--http2");
    }
    if site.answer.per_request {
        command.arg("--per-request");
    }
    Ok(command)
}

fn forward(site: &Site<'_>, upstream: SocketAddrV4) -> Command {
    let mut command = Command::new(hayami::release_folder().join("bare_epoll"));
    command.arg("--port").arg(site.address.port().to_string());
    command.arg("--forward").arg(upstream.to_string());
    command.arg("--bytes").arg((site.answer.content as u64 + HEAD).to_string());
    if site.answer.per_request {
        command.arg("--per-request");
    }
    command
}
