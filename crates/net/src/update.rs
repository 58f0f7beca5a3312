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
    /// All listeners. The worker closes a listener that is not among them as soon as its accept queue is empty, and closes
    /// that listener's connections when their current exchanges are complete.
    pub listeners: Vec<ListenerUpdate>,
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
    /// A new listener, or another accept queue of one that the worker has.
    Open(Listener),
    /// A listener that the worker has, with all its queues. If it requires other client certificates than before, its open
    /// connections are closed when their current exchanges are complete.
    Keep {
        /// Its index among all listeners of the program.
        index: usize,
        /// As in [`Listener`].
        tls: Option<Arc<Acceptor>>,
        /// As in [`Listener`].
        proxy_protocol: Option<Expectation>,
    },
}

/// The updates of a worker. Once the sender is dropped, the worker closes its listeners and ends with its last connection.
pub type Updates<S> = mpsc::UnboundedReceiver<Update<S>>;
