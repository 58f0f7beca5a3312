//! HTTP/2 and HTTP/3: read and checked, so that a configuration of h2o runs unmodified. They take effect
//! when the protocols are there.

use super::tolerated::tolerated;
use crate::config::directive::{Directive, Levels};
use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};

fn seconds(node: &Node) -> Result<bool, ConfigError> {
    node.seconds().map(|_| true)
}

fn number(node: &Node) -> Result<bool, ConfigError> {
    node.integer(0..=u64::MAX).map(|_| true)
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

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    tolerated!(
        "http2-idle-timeout",
        GLOBAL,
        "seconds",
        "10",
        "How long an HTTP/2 connection may be idle.",
        "HTTP/2 is not there yet",
        seconds
    ),
    tolerated!(
        "http2-graceful-shutdown-timeout",
        GLOBAL,
        "seconds",
        "0",
        "How long a connection may go on after it was told to end; 0 waits for the peer.",
        "HTTP/2 is not there yet",
        seconds
    ),
    tolerated!(
        "http2-max-streams",
        GLOBAL,
        "a number",
        "100",
        "The most streams that a peer may open at once.",
        "HTTP/2 is not there yet",
        number
    ),
    tolerated!(
        "http2-max-concurrent-requests-per-connection",
        GLOBAL,
        "a number",
        "100",
        "Requests of one connection that are answered at once; more wait.",
        "HTTP/2 is not there yet",
        requests
    ),
    tolerated!(
        "http2-max-concurrent-streaming-requests-per-connection",
        GLOBAL,
        "a number",
        "1",
        "Requests of one connection whose content is passed on while it comes.",
        "HTTP/2 is not there yet",
        requests
    ),
    tolerated!(
        "http2-input-window-size",
        GLOBAL,
        "octets",
        "16777216",
        "The flow-control window for the content of a request.",
        "HTTP/2 is not there yet",
        |node| node.octets().map(|_| true)
    ),
    tolerated!(
        "http2-latency-optimization-min-rtt",
        GLOBAL,
        "milliseconds",
        "50",
        "From which round-trip time on little is kept in the kernel's send buffer.",
        "HTTP/2 is not there yet",
        number
    ),
    tolerated!(
        "http2-latency-optimization-max-additional-delay",
        GLOBAL,
        "a ratio",
        "0.1",
        "The delay allowed for that, as a part of the round-trip time.",
        "HTTP/2 is not there yet",
        ratio
    ),
    tolerated!(
        "http2-latency-optimization-max-cwnd",
        GLOBAL,
        "octets",
        "65535",
        "Above which congestion window that is off.",
        "HTTP/2 is not there yet",
        |node| node.octets().map(|_| true)
    ),
    tolerated!(
        "http2-reprioritize-blocking-assets",
        GLOBAL_HOST,
        "ON | OFF",
        "ON",
        "Whether styles and scripts go first to clients that say nothing of priorities.",
        "HTTP/2 is not there yet",
        on_off
    ),
    tolerated!(
        "http2-push-preload",
        GLOBAL_HOST,
        "ON | OFF",
        "ON",
        "Whether `link: rel=preload` pushes.",
        "HTTP/2 is not there yet",
        on_off
    ),
    tolerated!(
        "http2-allow-cross-origin-push",
        GLOBAL_PATH,
        "ON | OFF",
        "OFF",
        "Whether what is pushed may belong to another authority.",
        "HTTP/2 is not there yet",
        on_off
    ),
    tolerated!(
        "http2-casper",
        GLOBAL_HOST,
        "ON | OFF | a mapping",
        "OFF",
        "Whether a cookie remembers what a client has, so that it is not pushed again.",
        "HTTP/2 is not there yet",
        casper
    ),
    tolerated!(
        "http2-debug-state",
        HOST,
        "minimum | hpack",
        "",
        "A page that shows the state of its connection.",
        "HTTP/2 is not there yet",
        |node| node.one_of(&["minimum", "hpack"]).map(|_| true)
    ),
    tolerated!(
        "http2-dos-delay",
        GLOBAL,
        "milliseconds",
        "100",
        "How long the requests of a suspicious connection wait.",
        "HTTP/2 is not there yet",
        number
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
