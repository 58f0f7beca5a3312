//! Interim responses of handlers (1xx, RFC 9110 §15.2).

use hayami_net::service::{HeadChange, Interim};

/// Sends a handler's interim responses. The channel is created when a handler first needs it: most never do.
pub struct Interims<'a> {
    place: &'a mut Option<Interim>,
    /// The path's changes to them.
    change: Option<&'a HeadChange>,
}

impl<'a> Interims<'a> {
    /// Sends to the existing channel, or to one created on demand.
    pub(crate) fn new(place: &'a mut Option<Interim>, change: Option<&'a HeadChange>) -> Self {
        Self { place, change }
    }

    /// A handle that sends them to the client.
    pub fn handle(&mut self) -> Interim {
        let interim = self.place.get_or_insert_default();
        match self.change {
            Some(change) => interim.changed_by(change.clone()),
            None => interim.clone(),
        }
    }
}
