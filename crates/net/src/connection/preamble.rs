//! What precedes requests: the PROXY protocol header and the TLS handshake.

use super::Connection;
use super::state::{Event, Stage};
use crate::any_session::ask;
use crate::service::Service;
use crate::session::Session;
use crate::transport::Read;
use crate::worker::Worker;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

impl Connection {
    /// Handles what has to come before reading.
    #[cold]
    pub(super) fn go_on_with_preamble<S: Service>(&mut self, worker: &Worker<S>) -> Poll<()> {
        if self.transport.expects_announcement() {
            self.read_proxy_header(worker)
        } else {
            self.look_up_session(worker)
        }
    }

    /// Waits for the PROXY protocol header, which contains the client's address.
    fn read_proxy_header<S: Service>(&mut self, worker: &Worker<S>) -> Poll<()> {
        match ready!(self.transport.poll_announcement()) {
            Some(Ok(ends)) => {
                self.link.idle_since = worker.clock.millis();
                // The service does not know the connection yet.
                if let (Some(ends), Some(info)) = (ends, Rc::get_mut(&mut self.link.info)) {
                    (info.peer, info.local) = (ends.peer, ends.local);
                }
            }
            Some(Err(fault)) => {
                worker.service.report(&self.link.info, &fault);
                self.link.on(Event::Lost);
            }
            None => self.link.on(Event::Lost),
        }
        Poll::Ready(())
    }

    /// Waits for the lookup of the client's TLS session in a shared store.
    #[cold]
    fn look_up_session<S: Service>(&mut self, worker: &Worker<S>) -> Poll<()> {
        let waker = self.link.waker(worker);
        let mut cx = Context::from_waker(&waker);
        match ready!(self.transport.poll_lookup(&mut cx, &worker.pool, &mut self.link.input)) {
            Ok(Some(news)) => self.on_news(worker, news),
            Ok(None) => {}
            Err(_) => self.link.on(Event::Lost),
        }
        Poll::Ready(())
    }

    /// Handles results of reading that concern the transport.
    #[cold]
    pub(super) fn on_news<S: Service>(&mut self, worker: &Worker<S>, news: Read) {
        match news {
            Read::Bytes | Read::Lookup => {}
            Read::End => {
                let goes_on =
                    self.link.stage == Stage::Open && ask!(&mut self.session, own => own.half_closed());
                if !goes_on {
                    self.link.on(Event::Lost);
                }
            }
            Read::Established(info) => self.session.establish(&mut self.link, worker, info),
            Read::PlainHttp => {
                self.transport.give_up_tls();
                self.session.refuse_plain(&mut self.link, worker);
            }
        }
    }
}
