//! The consequences of an upstream failure: the client's status, and the log line with upstream, cause and time.

use super::streaming::Stalled;
use crate::handler::Outcome;
use crate::modules::upstreams::FailureKind;
use hayami_client::{Cause, Failure, Phase};
use hayami_http::{Response, Status};
use hayami_net::service::{Refusal, Refusals};
use rustix::io::Errno;
use std::{fmt, io};

/// The client's status; the client is not told the cause (RFC 9110 §15.6).
pub(in crate::modules) fn status(failure: &Failure, refusal: Option<&Refusal>) -> Status {
    match (&failure.cause, refusal) {
        // The client's own fault: its content broke a rule or a limit.
        (_, Some(refusal)) => refusal.status(),
        (Cause::Content(_), None) => Status::BAD_REQUEST,
        (Cause::Timeout, _) => Status::GATEWAY_TIMEOUT,
        (Cause::Io(error), _) if is_ours(error) => Status::SERVICE_UNAVAILABLE,
        (Cause::Protocol(fault), _) if fault.is_overload => Status::SERVICE_UNAVAILABLE,
        _ => Status::BAD_GATEWAY,
    }
}

/// The response when the request is not retried; `reasons` are those of all tries.
pub(in crate::modules) fn outcome(
    failure: &Failure,
    reasons: &[String],
    refusals: Option<&Refusals>,
) -> Outcome {
    let refusal = refusals.and_then(Refusals::get);
    Outcome::Failed { response: response(status(failure, refusal.as_ref())), reason: reasons.join("; ") }
}

/// The response to a request that cannot be forwarded.
#[cold]
pub(in crate::modules) fn bad_request(fault: &dyn fmt::Display) -> Outcome {
    Outcome::Failed { response: response(Status::BAD_REQUEST), reason: format!("client: {fault}") }
}

/// The response to a request whose content was refused while the upstream accepted no more of it.
#[cold]
pub(in crate::modules) fn refused(refusal: &Refusal) -> Outcome {
    let reason = match refusal {
        Refusal::Overload => refusal.to_string(),
        _ => format!("client: the request's content: {refusal}"),
    };
    Outcome::Failed { response: response(refusal.status()), reason }
}

/// The response to a streaming call that has been idle for too long.
#[cold]
pub(super) fn stalled(stalled: &Stalled) -> Outcome {
    let reason = format!("streaming call: {stalled}");
    Outcome::Failed { response: response(Status::GATEWAY_TIMEOUT), reason }
}

/// The response in place of one that cannot be forwarded.
#[cold]
pub(in crate::modules) fn bad_response(upstream: &str, fault: &dyn fmt::Display) -> Outcome {
    let reason = format!("upstream {upstream}: its response cannot be forwarded: {fault}");
    Outcome::Failed { response: response(Status::BAD_GATEWAY), reason }
}

/// The response with that status.
pub(in crate::modules) fn response(status: Status) -> Response {
    let mut response = crate::service::plain(status, "");
    if status == Status::SERVICE_UNAVAILABLE {
        response.head.append(b"retry-after", b"1");
    }
    response
}

/// Whether this machine, not the upstream, lacks a resource.
pub(in crate::modules) fn is_ours(error: &io::Error) -> bool {
    let lacking = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::ADDRNOTAVAIL];
    Errno::from_io_error(error).is_some_and(|errno| lacking.contains(&errno))
}

/// What the failure says about the upstream's health; `None` if nothing.
pub(in crate::modules) fn failure_kind(failure: &Failure) -> Option<FailureKind> {
    match (failure.phase, &failure.cause) {
        (Phase::Connect, Cause::Timeout) => Some(FailureKind::Silent),
        (Phase::Connect, Cause::Io(error)) if is_ours(error) => None,
        (Phase::Connect, _) => Some(FailureKind::Refused),
        _ => None,
    }
}

/// Whether a retry of the same request may succeed.
pub(in crate::modules) fn is_worth_repeating(failure: &Failure) -> bool {
    match (failure.phase, &failure.cause) {
        (_, Cause::Content(_)) => false,
        (_, Cause::Io(error)) if is_ours(error) => false,
        // A slow upstream is likely slow again, and the client has waited long enough.
        (phase, Cause::Timeout) => phase == Phase::Connect,
        // A protocol error is likely to repeat.
        (_, Cause::Protocol(_)) => false,
        _ => true,
    }
}

/// The log line: `upstream http://127.0.0.1:3000: Connection refused while connecting, after 0.4 ms`. If the client is
/// at fault, it names the client instead.
pub(in crate::modules) fn reason(upstream: &str, failure: &Failure) -> String {
    let phase = failure.phase;
    let elapsed = failure.elapsed.as_secs_f64() * 1000.0;
    let after = if elapsed < 10.0 { format!("{elapsed:.1}") } else { format!("{elapsed:.0}") };
    match &failure.cause {
        Cause::Content(error) => format!("client: {error} while {phase}, after {after} ms"),
        cause => format!("upstream {upstream}: {cause} while {phase}, after {after} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hayami_http::SourceError;
    use std::time::Duration;

    fn failure(phase: Phase, cause: Cause) -> Failure {
        Failure { phase, cause, elapsed: Duration::from_micros(12_345), call: None }
    }

    #[test]
    fn each_failure_has_its_status_its_words_and_its_consequences() {
        let io = |errno: Errno| Cause::Io(errno.into());
        let cases = [
            (
                failure(Phase::Connect, io(Errno::CONNREFUSED)),
                (502, Some(FailureKind::Refused), true),
                "Connection refused (os error 111) while connecting",
            ),
            (
                failure(Phase::Connect, Cause::Timeout),
                (504, Some(FailureKind::Silent), true),
                "timed out while connecting",
            ),
            (
                failure(Phase::Connect, io(Errno::MFILE)),
                (503, None, false),
                "Too many open files (os error 24) while connecting",
            ),
            (
                failure(Phase::FirstByte, Cause::Timeout),
                (504, None, false),
                "timed out while waiting for the response",
            ),
            (
                failure(Phase::FirstByte, Cause::Closed),
                (502, None, true),
                "the upstream closed the connection while waiting for the response",
            ),
            (
                failure(Phase::Send, Cause::Content(SourceError("the client broke off".into()))),
                (400, None, false),
                "the client broke off while sending the request",
            ),
        ];
        for (failure, (code, health, again), words) in cases {
            assert_eq!(status(&failure, None).code(), code, "{words}");
            assert_eq!(failure_kind(&failure), health, "{words}");
            assert_eq!(is_worth_repeating(&failure), again, "{words}");
            let whose = if code == 400 { "client" } else { "upstream http://a" };
            assert_eq!(reason("http://a", &failure), format!("{whose}: {words}, after 12 ms"));
        }
        let slow = failure(Phase::Send, Cause::Content(SourceError("slow".into())));
        assert_eq!(status(&slow, Some(&Refusal::Timeout)), Status::REQUEST_TIMEOUT);
    }
}
