//! What becomes of a call when an attempt has failed: in one table.

/// How often a request is sent again that its upstream did not look at: who refuses three times means it.
const REPEATS: u8 = 2;

/// A failed attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed {
    /// How far it had come.
    pub(super) reach: Reach,
    /// Its connection had served others.
    pub(super) reused: bool,
    /// Sending the request twice does no harm (RFC 9110 §9.2.2).
    pub(super) repeatable: bool,
    /// What could be sent of its content once more.
    pub(super) left: Left,
    /// How often the call was sent again so far.
    pub(super) repeats: u8,
}

/// How far a failed request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// No address took a connection.
    Unreachable,
    /// This address took none.
    Unconnected,
    /// There is a connection, over which another protocol is to be spoken.
    OtherProtocol,
    /// The upstream has not looked at it (RFC 9113 §8.7), or nothing of it has left.
    Unseen,
    /// The connection was lost, and nothing of the response has come.
    Lost,
    /// The upstream has dealt with it, or has let it wait.
    Seen,
}

/// What could be sent of a request's content once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// All of it, to any upstream; or there is none.
    Whole,
    /// All of it, as it was encoded for this upstream.
    Encoded,
    /// Not all of it.
    Part,
}

/// What becomes of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It goes to the next address of its origin.
    NextAddress,
    /// It is sent once more.
    Again,
    /// It is sent in the other protocol.
    OtherProtocol,
    /// It has failed here. `elsewhere`: it may be sent to another upstream.
    Over { elsewhere: bool },
}

/// What becomes of the call after a failed attempt.
#[cold]
pub(super) fn judge(failed: &Failed) -> Verdict {
    let again = match failed.reach {
        Reach::Unconnected => return Verdict::NextAddress,
        Reach::OtherProtocol => return Verdict::OtherProtocol,
        Reach::Unseen => true,
        // An upstream may close a connection that is idle in the moment in which a request leaves on it.
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

    /// Reach, content left; then the verdict for: a new connection, a used one; the same for repeatable requests.
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
