//! What the engines and the loop of a worker take from the settings.

use hayami_h1::Limits;
use hayami_net::{Http2Config, Timeouts};
use hayami_server::config::settings::Settings;
use hayami_server::modules::http1;
use hayami_server::modules::http2;
use hayami_server::modules::limits;
use hayami_server::modules::proxy;

pub(super) fn limits(settings: &Settings) -> Limits {
    let http1 = settings.global.get::<http1::Settings>();
    Limits {
        request_line: http1.request_line,
        head: http1.head,
        fields: http1.fields,
        content: settings.global.get::<limits::Settings>().request_body,
        chunk_line: http1.chunk_line,
        chunk_extensions: http1.chunk_extensions,
        trailer: http1.trailer,
        ..Limits::default()
    }
}

pub(super) fn timeouts(settings: &Settings) -> Timeouts {
    let http1 = settings.global.get::<http1::Settings>();
    Timeouts {
        request: http1.request_timeout,
        receive: http1.request_io_timeout,
        send: http1.response_io_timeout,
        min_rate: settings.global.get::<limits::Settings>().min_rate,
        idle: settings.global.get::<http2::Settings>().idle_timeout,
        graceful: settings.global.get::<http2::Settings>().graceful_shutdown_timeout.unwrap_or_default(),
        handshake: settings.global.get::<limits::Settings>().handshake_timeout,
        ..Timeouts::default()
    }
}

pub(super) fn http2(settings: &Settings) -> Http2Config {
    let (http1, http2) = (settings.global.get::<http1::Settings>(), settings.global.get::<http2::Settings>());
    let defaults = hayami_h2::Config::default();
    let engine = hayami_h2::Config {
        max_concurrent_streams: http2.concurrent_streams(),
        initial_window: defaults.initial_window.min(http2.input_window),
        max_stream_window: http2.input_window,
        max_connection_window: defaults.max_connection_window.max(http2.input_window),
        enable_connect_protocol: proxy::has_tunnels(settings),
        // HTTP/1's limits apply to both: users send the same fields over either.
        max_header_list: http1.head.saturating_add(FIELD_OVERHEAD * u32::from(http1.fields)),
        max_fields: http1.fields,
        max_target: http1.request_line,
        ..defaults
    };
    Http2Config { engine, prior_knowledge: http2.prior_knowledge, upgrade: http1.upgrade_to_http2 }
}

/// What a field counts besides its bytes (RFC 9113 §6.5.2).
const FIELD_OVERHEAD: u32 = 32;
