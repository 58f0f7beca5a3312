//! Black-box tests: they start the real program and speak to it over sockets. A file per feature; the names
//! say what holds.
//!
//! Started by root, the program becomes `nobody`, as users will have it. What cannot be tried on a machine, since a
//! program is missing or only root can try it, says so by `skip`; with `HAYAMI_ALL_CLIENTS=1` that is a failure.

mod answers;
mod bench_command;
mod bench_json;
mod bench_peers;
mod bench_tls;
mod bench_warnings;
mod client_certificates;
mod clients;
mod config;
mod early_hints;
mod error_log;
mod fairness;
mod fastcgi;
mod fastcgi_faults;
mod fastcgi_spawn;
mod faults;
mod files;
mod h2_abuse;
mod h2_answers;
mod h2_browser;
mod h2_clients;
mod h2_conformance;
mod h2_frames;
mod h2_time;
mod hosts;
mod http1;
mod layers;
mod limits;
mod logs;
mod paths;
mod proxy;
mod proxy_failures;
mod proxy_fields;
mod proxy_http2;
mod proxy_manner;
mod proxy_peers;
mod proxy_proof;
mod proxy_protocol;
mod proxy_request;
mod proxy_tls;
mod ranges;
mod reproxy;
mod response_times;
mod rest_api;
mod smuggling;
mod starlet;
mod start;
mod strict;
mod support;
mod tls_config;
mod tls_early_data;
mod tls_handshake;
mod tls_log;
mod tls_ocsp;
mod tls_reload;
mod tls_resumption;
mod tls_scan;
mod tunnel;
mod tunnel_peers;
mod upstreams;
mod upstreams_health;
mod websocket_example;
