//! Directives of h2o for HTTP/2 and HTTP/3 that are read and checked, but have no effect: the feature is not needed
//! here, or HTTP/3 is not supported.

use crate::config::directive::{Directive, Levels};
use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};
use crate::modules::ignored::ignored;

fn seconds(node: &Node) -> Result<bool, ConfigError> {
    node.seconds().map(|_| true)
}

fn milliseconds(node: &Node) -> Result<bool, ConfigError> {
    node.milliseconds(0).map(|_| true)
}

fn on_off(node: &Node) -> Result<bool, ConfigError> {
    node.on_off().map(|_| true)
}

/// h2o's range, extended to that of its older versions.
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
    ignored!(
        "http2-max-concurrent-streaming-requests-per-connection",
        GLOBAL,
        "a number",
        "1",
        "How many requests per connection h2o streams to the upstream. hayami streams the content of every \
         request.",
        "the content of every request is streamed",
        requests
    ),
    ignored!(
        "http2-latency-optimization-min-rtt",
        GLOBAL,
        "milliseconds",
        "50",
        "The round-trip time from which h2o keeps the kernel's send buffer small.",
        "the amount of data in the kernel's send buffer does not depend on the round-trip time",
        milliseconds
    ),
    ignored!(
        "http2-latency-optimization-max-additional-delay",
        GLOBAL,
        "a ratio",
        "0.1",
        "The delay that h2o allows for that, as a fraction of the round-trip time.",
        "the amount of data in the kernel's send buffer does not depend on the round-trip time",
        ratio
    ),
    ignored!(
        "http2-latency-optimization-max-cwnd",
        GLOBAL,
        "bytes",
        "65535",
        "The congestion window above which h2o disables that.",
        "the amount of data in the kernel's send buffer does not depend on the congestion window",
        |node| node.bytes().map(|_| true)
    ),
    ignored!(
        "http2-reprioritize-blocking-assets",
        GLOBAL_HOST,
        "ON | OFF",
        "ON",
        "Whether h2o sends style sheets and scripts first to clients that send no priorities. hayami follows \
         the priorities that browsers send (RFC 9218).",
        "clients send priorities by RFC 9218",
        on_off
    ),
    ignored!(
        "http2-allow-cross-origin-push",
        GLOBAL_PATH,
        "ON | OFF",
        "OFF",
        "Whether h2o may push resources of another authority. hayami does not support server push.",
        "server push is not supported; browsers have dropped it",
        on_off
    ),
    ignored!(
        "http2-casper",
        GLOBAL_HOST,
        "ON | OFF | a mapping",
        "OFF",
        "Whether h2o tracks in a cookie what a client has cached, to avoid pushing it again. hayami does not \
         support server push.",
        "server push is not supported; browsers have dropped it",
        casper
    ),
    ignored!(
        "http2-debug-state",
        HOST,
        "minimum | hpack",
        "",
        "A page in h2o that shows the state of its connection. hayami has no such page.",
        "there is no such page",
        |node| node.one_of(&["minimum", "hpack"]).map(|_| true)
    ),
    ignored!(
        "http2-dos-delay",
        GLOBAL,
        "milliseconds",
        "100",
        "How long h2o delays the requests of a suspicious connection. hayami closes such a connection.",
        "a connection that exceeds its budget is closed, not delayed",
        milliseconds
    ),
    ignored!(
        "http3-idle-timeout",
        GLOBAL,
        "seconds",
        "30",
        "How long an HTTP/3 connection may be idle.",
        "HTTP/3 is not supported yet",
        seconds
    ),
    ignored!(
        "http3-graceful-shutdown-timeout",
        GLOBAL,
        "seconds",
        "0",
        "How long a connection may stay open after GOAWAY; 0 waits for the peer.",
        "HTTP/3 is not supported yet",
        seconds
    ),
    ignored!(
        "http3-input-window-size",
        GLOBAL,
        "bytes",
        "16777216",
        "The flow-control window for the content of a request.",
        "HTTP/3 is not supported yet",
        |node| node.bytes().map(|_| true)
    ),
    ignored!(
        "http3-max-concurrent-streaming-requests-per-connection",
        GLOBAL,
        "a number",
        "1",
        "How many requests per connection are streamed to the upstream.",
        "HTTP/3 is not supported yet",
        requests
    ),
    ignored!(
        "http3-gso",
        GLOBAL,
        "ON | OFF",
        "ON",
        "Whether the kernel splits sent data into packets (segmentation offload).",
        "HTTP/3 is not supported yet",
        on_off
    ),
    ignored!(
        "http3-ack-frequency",
        GLOBAL,
        "a ratio",
        "0",
        "How often the peer acknowledges, as a fraction of the congestion window.",
        "HTTP/3 is not supported yet",
        ratio
    ),
    ignored!(
        "http3-allow-delayed-ack",
        GLOBAL,
        "ON | OFF",
        "ON",
        "Whether acknowledgements may be delayed.",
        "HTTP/3 is not supported yet",
        on_off
    ),
];
