//! The way to a route among many: hosts, paths, regular expressions. What answers is a redirect.

use super::site::{connection, head, request, site};
use hayami_net::service::{Outcome, Service};
use hayami_server::config::settings::Settings;
use hayami_server::features::load_text;
use std::sync::Arc;

const SITE: &str = "
listen: 80
hosts:
  host.example: {paths: {/: {redirect: /elsewhere/}}}
";

pub(super) fn hosts_10(times: u32) {
    hosts(10, times);
}

pub(super) fn hosts_10_000(times: u32) {
    hosts(10_000, times);
}

pub(super) fn paths_10(times: u32) {
    paths(10, times);
}

pub(super) fn paths_1_000(times: u32) {
    paths(1_000, times);
}

/// Requests for the host in the middle of so many.
fn hosts(count: usize, times: u32) {
    let mut settings = (*settings(SITE)).clone();
    let host = settings.hosts.remove(0);
    for number in 0..count {
        let mut host = host.clone();
        host.name = format!("host{number:05}.example");
        settings.hosts.push(host);
    }
    answer(settings.into(), "/a/page.html", &format!("host{:05}.example", count / 2), times);
}

/// Requests for the path in the middle of so many.
fn paths(count: usize, times: u32) {
    let text: String =
        (0..count).map(|n| format!("      /section{n:05}/part: {{redirect: /elsewhere/}}\n")).collect();
    let settings = settings(&format!("listen: 80\nhosts:\n  host.example:\n    paths:\n{text}"));
    answer(settings, &format!("/section{:05}/part/page.html", count / 2), "host.example", times);
}

fn settings(text: &str) -> Arc<Settings> {
    load_text("routes", text).unwrap_or_else(|errors| panic!("{errors}")).settings
}

fn answer(settings: Arc<Settings>, path: &str, host: &str, times: u32) {
    let (site, connection, mut head) = (site(settings), connection(), head(path, host));
    for _ in 0..times {
        let Outcome::Ready(answer) = site.respond(&mut request(&mut head, &connection)) else {
            panic!("a redirect is there at once")
        };
        assert_eq!(answer.response.head.status().code(), 302);
    }
}
