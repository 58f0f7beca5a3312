//! Causes of failed requests, in the wording of all reports, and their remedies.

use crate::{Cause, Death, Errors, Outcome, Plan, Tally};
use std::time::Duration;

/// All causes of a target's failures, unexpected statuses among them, the most frequent first.
pub(crate) fn causes(plan: &Plan, tally: &Tally) -> Vec<Cause> {
    let mut causes = tally.causes.clone();
    let unexpected = tally.statuses.iter().filter(|(code, _)| !plan.expect.allows(*code));
    unexpected.for_each(|(code, count)| causes.add_unexpected(code, count));
    causes.sorted()
}

/// The remedy for a cause, as an imperative sentence without its full stop.
pub(crate) fn remedy(cause: &Cause) -> Option<&'static str> {
    let says = |words: &str| cause.text.contains(words);
    match cause.kind {
        Errors::TLS if says("certificate_required") => {
            Some("add --cert and --key: the server requires a client certificate")
        }
        Errors::TLS if says("the server's certificate") && !says("no certificate") => {
            Some("add -k to accept any certificate, or --cacert FILE to trust its issuer")
        }
        Errors::TLS if says("offered TLS versions") || says("protocol_version") => {
            Some("leave out --tls, or choose a version that the server supports")
        }
        Errors::CONNECT if says("too many open files") => Some("raise the limit of open files (`ulimit -n`)"),
        _ => None,
    }
}

/// `the server stopped answering at 3.2 s: connection refused`.
pub(crate) fn death(outcome: &Outcome, death: &Death) -> String {
    let when = match death.at {
        Duration::ZERO => "before measuring began".to_owned(),
        at => format!("at {:.1} s", at.as_secs_f64()),
    };
    let left = outcome.elapsed.saturating_sub(death.at).as_secs_f64();
    let cause = death.cause.clone().unwrap_or_else(|| format!("no response in the {left:.1} s after that"));
    format!("the server stopped answering {when}: {cause}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn causes_have_unexpected_statuses_and_add_up_to_the_errors() {
        let (plan, outcomes) = samples::troubled();
        let tally = &outcomes[0].tally;
        let causes = causes(&plan, tally);
        assert_eq!(causes.iter().map(|cause| cause.count).sum::<u64>(), tally.errors.total());
        assert_eq!(
            (causes[0].kind, causes[0].text.as_str(), causes[0].count),
            ("status", "unexpected status 404 Not Found", 19)
        );
    }

    #[test]
    fn a_remedy_is_named_where_an_option_helps() {
        let cause = |kind, text: &str| Cause { kind, text: text.into(), count: 1 };
        for (kind, text, want) in [
            ("tls", "the server's certificate has expired", Some("-k")),
            ("tls", "the server sent alert 116 (certificate_required)", Some("--cert")),
            ("tls", "the server supports none of the offered TLS versions", Some("--tls")),
            ("tls", "the server showed no certificate", None),
            ("connect", "connection refused", None),
            ("connect", "too many open files", Some("ulimit")),
            ("status", "unexpected status 401 Unauthorized", None),
        ] {
            let said = remedy(&cause(kind, text));
            assert_eq!(said.is_some(), want.is_some(), "{text}: {said:?}");
            assert!(want.is_none_or(|want| said.is_some_and(|said| said.contains(want))), "{text}: {said:?}");
        }
    }

    #[test]
    fn a_death_is_told_with_its_time_and_cause() {
        let (_, outcomes) = samples::single();
        for (at, cause, want) in [
            (3_240, Some("connection refused"), "the server stopped answering at 3.2 s: connection refused"),
            (0, Some("x"), "the server stopped answering before measuring began: x"),
            (3_240, None, "the server stopped answering at 3.2 s: no response in the 6.8 s after that"),
        ] {
            let dead = Death { at: Duration::from_millis(at), cause: cause.map(str::to_owned) };
            assert_eq!(death(&outcomes[0], &dead), want);
        }
    }
}
