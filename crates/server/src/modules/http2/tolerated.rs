//! Directives of h2o for HTTP/2 and HTTP/3 that are read and checked, and have no effect: their part of
//! HTTP/2 is not needed here, or HTTP/3 is not there.

use crate::config::directive::{Directive, Levels};
use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};
use crate::modules::tolerated::tolerated;

fn seconds(node: &Node) -> Result<bool, ConfigError> {
    node.seconds().map(|_| true)
}

fn milliseconds(node: &Node) -> Result<bool, ConfigError> {
    node.milliseconds(0).map(|_| true)
}

fn on_off(node: &Node) -> Result<bool, ConfigError> {
    node.on_off().map(|_| true)
}

/// h2o's range, widened to what its older versions took.
fn requests(node: &Node) -> Result<bool, ConfigError> {
    node.integer(1..=1024).map(|_| true)
}

fn ratio(node: &Node) -> Result<bool, ConfigError> {
    let ratio = node.text().ok().and_then(|text| text.parse::<f64>().ok());
    let fits = ratio.is_some_and(|ratio| ratio.is_finite() && ratio >= 0.0);
    if fits { Ok(true) } else { Err(node.expected("a ratio, such as 0.1")) }
}

fn casper(node: &Node) -> Result<bool, ConfigError> {
    if matches!(node.value, Value::Mapping(_)) { Ok(true) } else { node.on_off() }
}

/// The directives of HTTP/2 and HTTP/3 without effect.
pub(crate) const DIRECTIVES: &[Directive] = &[
    tolerated!(
        "http2-max-concurrent-streaming-requests-per-connection",
        GLOBAL,
        "a number",
        "1",
        "Requests of one connection whose content h2o passes on while it comes. Here that is all of them.",
        "the content of every request is passed on while it comes",
        requests
    ),
    tolerated!(
        "http2-latency-optimization-min-rtt",
        GLOBAL,
        "milliseconds",
        "50",
        "From which round-trip time on h2o keeps little in the kernel's send buffer.",
        "what waits in the kernel does not depend on the round-trip time",
        milliseconds
    ),
    tolerated!(
        "http2-latency-optimization-max-additional-delay",
        GLOBAL,
        "a ratio",
        "0.1",
        "The delay h2o allows for that, as a part of the round-trip time.",
        "what waits in the kernel does not depend on the round-trip time",
        ratio
    ),
    tolerated!(
        "http2-latency-optimization-max-cwnd",
        GLOBAL,
        "octets",
        "65535",
        "Above which congestion window h2o leaves that off.",
        "what waits in the kernel does not depend on the congestion window",
        |node| node.octets().map(|_| true)
    ),
    tolerated!(
        "http2-reprioritize-blocking-assets",
        GLOBAL_HOST,
        "ON | OFF",
        "ON",
        "Whether h2o sends styles and scripts first to clients that say nothing of priorities. Browsers say by RFC 9218 what they need first, and that is followed.",
        "clients say by RFC 9218 what they need first",
        on_off
    ),
    tolerated!(
        "http2-allow-cross-origin-push",
        GLOBAL_PATH,
        "ON | OFF",
        "OFF",
        "Whether h2o may push what belongs to another authority. Nothing is pushed here.",
        "nothing is pushed, browsers no longer take it",
        on_off
    ),
    tolerated!(
        "http2-casper",
        GLOBAL_HOST,
        "ON | OFF | a mapping",
        "OFF",
        "Whether h2o remembers by a cookie what a client has, so that it is not pushed again. Nothing is pushed here.",
        "nothing is pushed, browsers no longer take it",
        casper
    ),
    tolerated!(
        "http2-debug-state",
        HOST,
        "minimum | hpack",
        "",
        "A page of h2o's that shows the state of its connection. There is none here.",
        "there is no such page",
        |node| node.one_of(&["minimum", "hpack"]).map(|_| true)
    ),
    tolerated!(
        "http2-dos-delay",
        GLOBAL,
        "milliseconds",
        "100",
        "How long h2o delays the requests of a suspicious connection. Here such a connection is ended.",
        "a connection that breaks its budget is ended, not delayed",
        milliseconds
    ),
    tolerated!(
        "http3-idle-timeout",
        GLOBAL,
        "seconds",
        "30",
        "How long an HTTP/3 connection may be idle.",
        "HTTP/3 is not there yet",
        seconds
    ),
    tolerated!(
        "http3-graceful-shutdown-timeout",
        GLOBAL,
        "seconds",
        "0",
        "How long a connection may go on after it was told to end; 0 waits for the peer.",
        "HTTP/3 is not there yet",
        seconds
    ),
    tolerated!(
        "http3-input-window-size",
        GLOBAL,
        "octets",
        "16777216",
        "The flow-control window for the content of a request.",
        "HTTP/3 is not there yet",
        |node| node.octets().map(|_| true)
    ),
    tolerated!(
        "http3-max-concurrent-streaming-requests-per-connection",
        GLOBAL,
        "a number",
        "1",
        "Requests of one connection whose content is passed on while it comes.",
        "HTTP/3 is not there yet",
        requests
    ),
    tolerated!(
        "http3-gso",
        GLOBAL,
        "ON | OFF",
        "ON",
        "Whether the kernel splits what is sent into packets.",
        "HTTP/3 is not there yet",
        on_off
    ),
    tolerated!(
        "http3-ack-frequency",
        GLOBAL,
        "a ratio",
        "0",
        "How often the peer acknowledges, as a part of the congestion window.",
        "HTTP/3 is not there yet",
        ratio
    ),
    tolerated!(
        "http3-allow-delayed-ack",
        GLOBAL,
        "ON | OFF",
        "ON",
        "Whether acknowledgements may wait.",
        "HTTP/3 is not there yet",
        on_off
    ),
];
