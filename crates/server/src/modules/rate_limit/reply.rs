//! What a client gets above a limit.

use super::bound::Exceeded;
use super::limit::Limit;
use crate::service::plain;
use hayami_http::Response;
use std::time::Duration;

/// The response to a request that exceeds a limit.
#[cold]
pub(super) fn rejection(limit: &Limit, exceeded: &Exceeded) -> Response {
    let seconds = whole_seconds(exceeded.0);
    let mut response = plain(limit.status, &format!("try again in {seconds} s"));
    let (name, policy) = (limit.policy_name(), limit.bound.policy());
    for (field, value) in [
        // RFC 9110 §10.2.3
        ("retry-after", seconds.to_string()),
        // draft-ietf-httpapi-ratelimit-headers §3, §4: nothing remains until then.
        ("ratelimit-policy", format!("\"{name}\";{policy}")),
        ("ratelimit", format!("\"{name}\";r=0;t={seconds}")),
    ] {
        response.head.append(field.as_bytes(), value.as_bytes());
    }
    response
}

/// Rounded up: who comes back then is served.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}
