//! What all connections of a worker share.

use crate::buffer::Pool;
use crate::byte_budget::ByteBudget;
use crate::clock::Clock;
use crate::common::Common;
use crate::exchange;
use crate::quota::Quota;
use crate::timeouts::Timeouts;
use crate::turn_budget::TurnBudget;
use crate::waker::Woken;
use hayami_h1::Limits;
use hayami_http::RequestHead;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// How HTTP/2 is spoken.
#[derive(Clone, Debug)]
pub struct Http2Config {
    /// Limits and budgets.
    pub engine: hayami_h2::Config,
    /// In clear, a client may begin with HTTP/2 (RFC 9113 §3.3).
    pub prior_knowledge: bool,
    /// In clear, a client may ask for HTTP/2 by `Upgrade: h2c` (RFC 7540 §3.2).
    pub upgrade: bool,
}

impl Default for Http2Config {
    fn default() -> Self {
        Self { engine: hayami_h2::Config::default(), prior_knowledge: true, upgrade: true }
    }
}

/// What all connections of a worker share.
pub(crate) struct Worker<S> {
    pub(crate) service: S,
    pub(crate) clock: Rc<Clock>,
    pub(crate) pool: Rc<Pool>,
    pub(crate) limits: Limits,
    pub(crate) http2: Http2Config,
    /// That of `http2`, shared by the connections that were begun with it.
    pub(crate) http2_engine: Rc<hayami_h2::Config>,
    pub(crate) timeouts: Timeouts,
    pub(crate) quota: Arc<Quota>,
    pub(crate) content: Arc<ByteBudget>,
    pub(crate) draining: Cell<bool>,
    /// Of the turn at hand.
    pub(crate) budget: TurnBudget,
    /// Connections and tasks that were woken.
    pub(crate) woken: Arc<Woken>,
    /// The head of the request at hand; used again and again.
    pub(crate) head: RefCell<RequestHead>,
    pub(crate) common: Common,
    /// Memory of exchanges.
    pub(crate) exchanges: exchange::Pool,
}

impl<S> Worker<S> {
    /// Goes over to another service after a reload, with the same loop.
    pub(crate) fn renew(&mut self, service: S, limits: Limits, http2: Http2Config, timeouts: Timeouts) {
        self.service = service;
        self.limits = limits;
        self.http2_engine = Rc::new(http2.engine);
        self.http2 = http2;
        self.timeouts = timeouts;
        // The server may have another name.
        self.common = Common::default();
    }
}
