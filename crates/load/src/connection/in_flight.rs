//! A request that waits for its answer.

/// A request on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InFlight {
    /// When it was due, when it was sent, and when the response began (0: not yet).
    pub(crate) due: u64,
    pub(crate) sent: u64,
    pub(crate) first: u64,
    /// Bytes of content so far.
    pub(crate) content: u64,
    pub(crate) status: u16,
    pub(crate) wrong: Wrong,
    /// It is the one that is shown.
    pub(crate) is_sample: bool,
    /// Bytes of the request's content that wait for room (HTTP/2).
    pub(crate) body_left: u32,
    /// The index of its template.
    pub(crate) template: u32,
}

/// The unexpected properties of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wrong {
    #[default]
    No,
    Status,
    Content,
    Length,
}
