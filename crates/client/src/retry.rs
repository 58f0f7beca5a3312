//! Decides how to proceed after a failed attempt.

/// How often an unprocessed request is resent; an upstream that refuses it three times will not accept it.
const REPEATS: u8 = 2;

/// A failed attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed {
    /// How far it got.
    pub(super) reach: Reach,
    /// Whether its connection had served earlier requests.
    pub(super) reused: bool,
    /// Whether the request is idempotent (RFC 9110 §9.2.2).
    pub(super) repeatable: bool,
    /// How much of its content could be sent again.
    pub(super) left: Left,
    /// How often the call has been resent so far.
    pub(super) repeats: u8,
}

/// How far a failed request got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// No address accepted a connection.
    Unreachable,
    /// This address accepted no connection.
    Unconnected,
    /// A connection exists, but the peer selected the other protocol.
    OtherProtocol,
    /// The upstream did not process the request (RFC 9113 §8.7), or none of it was sent.
    Unseen,
    /// The connection was lost before any byte of the response.
    Lost,
    /// The upstream has processed the request or let it time out.
    Seen,
}

/// How much of a request's content could be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// All of it, to any upstream, or there is none.
    Whole,
    /// All of it, but encoded for this upstream.
    Encoded,
    /// Not all of it.
    Part,
}

/// How to proceed with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Try the next address of the origin.
    NextAddress,
    /// Send it again.
    Again,
    /// Send it over the other protocol.
    OtherProtocol,
    /// Fail here; if `elsewhere`, it may be sent to another upstream.
    Over { elsewhere: bool },
}

/// Decides how to proceed with a call after a failed attempt.
#[cold]
pub(super) fn judge(failed: &Failed) -> Verdict {
    let again = match failed.reach {
        Reach::Unconnected => return Verdict::NextAddress,
        Reach::OtherProtocol => return Verdict::OtherProtocol,
        Reach::Unseen => true,
        // The upstream may close an idle connection just as a request is sent on it.
        Reach::Lost => failed.reused && failed.repeatable,
        Reach::Unreachable | Reach::Seen => false,
    };
    if again && failed.left != Left::Part && failed.repeats < REPEATS {
        return Verdict::Again;
    }
    let harmless = failed.repeatable || matches!(failed.reach, Reach::Unreachable | Reach::Unseen);
    Verdict::Over { elsewhere: harmless && failed.left == Left::Whole }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Left::{Encoded, Part, Whole};
    use Verdict::{Again, NextAddress, OtherProtocol, Over};

    /// Reach and content left; then the verdicts for a new and a reused connection, and the same for
    /// repeatable requests.
    const TABLE: &[(Reach, Left, [Verdict; 4])] = &[
        (Reach::Unreachable, Whole, [ELSEWHERE, ELSEWHERE, ELSEWHERE, ELSEWHERE]),
        (Reach::Unreachable, Encoded, [LOST, LOST, LOST, LOST]),
        (Reach::Unreachable, Part, [LOST, LOST, LOST, LOST]),
        (Reach::Unconnected, Whole, [NextAddress; 4]),
        (Reach::Unconnected, Encoded, [NextAddress; 4]),
        (Reach::Unconnected, Part, [NextAddress; 4]),
        (Reach::OtherProtocol, Whole, [OtherProtocol; 4]),
        (Reach::OtherProtocol, Encoded, [OtherProtocol; 4]),
        (Reach::OtherProtocol, Part, [OtherProtocol; 4]),
        (Reach::Unseen, Whole, [Again; 4]),
        (Reach::Unseen, Encoded, [Again; 4]),
        (Reach::Unseen, Part, [LOST, LOST, LOST, LOST]),
        (Reach::Lost, Whole, [LOST, LOST, ELSEWHERE, Again]),
        (Reach::Lost, Encoded, [LOST, LOST, LOST, Again]),
        (Reach::Lost, Part, [LOST, LOST, LOST, LOST]),
        (Reach::Seen, Whole, [LOST, LOST, ELSEWHERE, ELSEWHERE]),
        (Reach::Seen, Encoded, [LOST, LOST, LOST, LOST]),
        (Reach::Seen, Part, [LOST, LOST, LOST, LOST]),
    ];
    const ELSEWHERE: Verdict = Over { elsewhere: true };
    const LOST: Verdict = Over { elsewhere: false };

    #[test]
    fn only_what_does_no_harm_is_sent_again() {
        for (reach, left, want) in TABLE {
            let cases = [(false, false), (false, true), (true, false), (true, true)];
            for ((repeatable, reused), want) in cases.into_iter().zip(want) {
                let failed = Failed { reach: *reach, reused, repeatable, left: *left, repeats: 0 };
                assert_eq!(judge(&failed), *want, "{failed:?}");
            }
        }
    }

    #[test]
    fn a_request_that_is_refused_again_and_again_goes_elsewhere() {
        let refused =
            Failed { reach: Reach::Unseen, reused: true, repeatable: false, left: Whole, repeats: REPEATS };
        assert_eq!(judge(&refused), ELSEWHERE);
        assert_eq!(judge(&Failed { left: Encoded, ..refused }), LOST);
        assert_eq!(judge(&Failed { repeats: REPEATS - 1, ..refused }), Again);
    }
}
