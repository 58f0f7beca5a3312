//! What the worker's loop knows of connections to upstreams.

use crate::clock::Clock;
use std::io;
use std::rc::Rc;

/// A worker's way to connections that it opens itself; [`run`](crate::run) makes it.
#[derive(Clone)]
pub struct Outbound(Rc<Inner>);

struct Inner {
    clock: Rc<Clock>,
}

impl Outbound {
    pub(crate) fn new(clock: &Rc<Clock>) -> io::Result<Self> {
        Ok(Self(Rc::new(Inner { clock: Rc::clone(clock) })))
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.0.clock
    }
}
