//! Why a connection is no longer usable, by kind.

use crate::Errors;

/// Why a connection is no longer usable. The names are those of `Errors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Connect,
    Tls,
    Reset,
    Timeout,
    Protocol,
    Short,
    Lost,
}

impl Failure {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Connect => Errors::CONNECT,
            Self::Tls => Errors::TLS,
            Self::Reset => "reset",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::Short => "short",
            Self::Lost => "lost",
        }
    }

    pub(crate) fn count_in(self, errors: &mut Errors) -> &mut u64 {
        match self {
            Self::Connect => &mut errors.connect,
            Self::Tls => &mut errors.tls,
            Self::Reset => &mut errors.reset,
            Self::Timeout => &mut errors.timeout,
            Self::Protocol => &mut errors.protocol,
            Self::Short => &mut errors.short,
            Self::Lost => &mut errors.lost,
        }
    }
}
