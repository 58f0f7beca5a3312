//! What a worker goes over to while it serves.

use crate::accept::Listener;
use crate::clock::Clock;
use crate::proxy_protocol::Expectation;
use crate::timeouts::Timeouts;
use crate::upstream_io::UpstreamIo;
use crate::worker::Http2Config;
use hayami_h1::Limits;
use hayami_tls::Acceptor;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc;

/// What a worker goes on with between two of its rounds, after a reload. Connections stay. A request under way stays with the
/// service that it began with; what a connection has told its client of HTTP/2 stays as well.
pub struct Update<S> {
    /// Limits of HTTP/1 messages.
    pub limits: Limits,
    /// How HTTP/2 is spoken.
    pub http2: Http2Config,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// All accept queues. A listener of which none is among them is closed as soon as its queues are empty, and its
    /// connections are closed when their current exchanges are complete. Queues of other listeners are left to the program.
    pub listeners: Vec<ListenerUpdate>,
    /// The worker leaves: it releases its accept queues, which other workers take over with the connections in them, and ends
    /// with its last connection.
    pub leaves: bool,
    /// Makes the service, as for [`run`](crate::run).
    pub make: MakeService<S>,
    /// Called when all of that has happened, or with what the kernel refuses of a new listener. All else has happened then.
    pub done: Box<dyn FnOnce(io::Result<()>) + Send>,
}

/// Makes the service of a worker, on its thread, from the one that it takes the place of.
pub type MakeService<S> = Box<dyn FnOnce(&Rc<Clock>, &UpstreamIo, &S) -> S + Send>;

/// A listener after a reload.
#[derive(Debug)]
pub enum ListenerUpdate {
    /// A queue that the worker does not have.
    Open(Listener),
    /// A queue that the worker has. If its listener requires other client certificates than before, open connections are
    /// closed when their current exchanges are complete.
    Keep {
        /// As in [`Listener`].
        index: usize,
        /// As in [`Listener`].
        queue: usize,
        /// As in [`Listener`].
        tls: Option<Arc<Acceptor>>,
        /// As in [`Listener`].
        proxy_protocol: Option<Expectation>,
    },
}

/// The updates of a worker. Once the sender is dropped, the worker leaves.
pub type Updates<S> = mpsc::UnboundedReceiver<Update<S>>;
