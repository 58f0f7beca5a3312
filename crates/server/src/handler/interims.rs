//! Interim responses of handlers (1xx, RFC 9110 §15.2).

use hayami_net::service::{HeadChange, Interim};

/// Where a handler's interim responses go. The place is made when a handler first asks for it: most never do.
pub struct Interims<'a> {
    place: &'a mut Option<Interim>,
    /// What the path changes of them.
    change: Option<&'a HeadChange>,
}

impl<'a> Interims<'a> {
    /// To a place that exists already, or is made here.
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
