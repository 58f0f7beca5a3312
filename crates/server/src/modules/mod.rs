//! The features: a file or folder each, with its directives, settings, runtime object and tests.

pub mod access;
pub mod access_log;
pub mod auth;
pub mod auth_request;
pub mod compress;
pub mod connect;
pub mod early_hints;
pub mod env;
pub mod error_doc;
pub mod error_log;
pub mod expires;
pub mod fastcgi;
pub mod file;
pub mod headers;
pub mod hosts;
pub mod http1;
pub mod http2;
pub mod identity;
pub mod ignored;
pub mod limits;
pub mod listen;
pub mod process;
pub mod proxy;
pub mod rate_limit;
pub mod real_ip;
pub mod redirect;
pub mod reproxy;
pub mod rewrite;
pub mod server_timing;
pub mod session_resumption;
pub mod stash;
pub mod static_response;
pub mod tcp;
pub mod throttle;
pub mod try_files;
pub mod upstreams;

#[cfg(test)]
pub(crate) mod test_support;
