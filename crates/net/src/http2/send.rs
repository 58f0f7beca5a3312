//! Continues exchanges: asynchronous responses, and content by priority, as windows and the output have room.

use super::stream::Stream;
use super::{Http2, give_up};
use crate::connection::Need;
use crate::exchange::{Exchange, Progress, Protocol, Reset, Slot, Streams};
use crate::link::Link;
use crate::output::ROOM;
use crate::service::Service;
use crate::turn_budget::cost;
use crate::worker::Worker;
use hayami_h2::Key;

impl Http2 {
    /// Continues the streams that were woken.
    #[inline]
    pub(super) fn take_woken<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) {
        while let Some(stream) = self.woken.pop() {
            if let Some(at) = self.waiting.iter().position(|key| key.stream_id() == stream) {
                let key = self.waiting.swap_remove(at);
                self.resume(link, worker, key);
            } else if let Some(key) = self.engine.find(stream) {
                self.push(link, worker, key);
            }
        }
    }

    pub(super) fn resume<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>, key: Key) {
        if self.engine.exchange(key).is_some_and(|exchange| exchange.has_body()) {
            self.engine.set_ready(key, true);
            return self.push(link, worker, key);
        }
        self.go_on(link, worker, key, 0);
    }

    /// Handles a wake-up of a stream that does not wait: moves data from a tunnel's client even if the other
    /// direction is blocked, and grants the client credit for what was taken.
    fn push<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>, key: Key) {
        self.load(key);
        let Some(exchange) = self.at_work.as_deref_mut() else { return };
        if exchange.has_body() && exchange.is_tunnel() && exchange.has_reader() {
            return self.run(link, worker, key, 0);
        }
        let mut stream =
            Stream { engine: &mut self.engine, config: &self.config, link, worker, key, room: 0 };
        exchange.settle(&mut stream, worker);
        self.deadlines.starving |= exchange.starves();
        self.put_back(worker, key);
    }

    /// Sends content, most urgent first.
    pub(super) fn pump<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>) -> Need {
        while !link.output.is_full() {
            let Some((key, room)) = self.engine.next() else {
                let idle = self.engine.streams() == 0;
                return if worker.budget.is_used_up() { Need::Turn } else { Need::Frames { idle } };
            };
            let frame = self.engine.max_data().min(ROOM);
            // File content fills as many frames as there is room for, since each read is a system call.
            let most = if self.engine.may_send_on(key) { link.output.room().max(frame) } else { frame };
            self.go_on(link, worker, key, room.min(most));
            worker.budget.spend(cost::SYSTEM_CALL);
        }
        Need::RoomOrFrames
    }

    /// Continues the exchange of a stream, which may send `room` bytes of content.
    pub(super) fn go_on<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>, key: Key, room: usize) {
        self.load(key);
        match self.at_work {
            Some(_) => self.run(link, worker, key, room),
            None => self.engine.set_ready(key, false),
        }
    }

    /// Keeps the exchange of a new request whose response cannot be completed at once.
    pub(super) fn keep<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>, key: Key, exchange: Slot) {
        self.busiest = self.busiest.max(self.engine.streams());
        self.at_work = exchange;
        match self.at_work.as_deref() {
            Some(exchange) if exchange.awaits_answer() => self.run(link, worker, key, 0),
            Some(_) => self.begin_body(worker, key),
            None => {}
        }
    }

    /// Continues the current exchange.
    fn run<S: Service>(&mut self, link: &mut Link, worker: &Worker<S>, key: Key, room: usize) {
        let Some(exchange) = self.at_work.as_deref_mut() else { return };
        let (awaited, sent) = (exchange.awaits_answer(), exchange.sent());
        let mut stream = Stream { engine: &mut self.engine, config: &self.config, link, worker, key, room };
        let progress = exchange.go_on(&mut stream, worker);
        self.deadlines.sent += exchange.sent() - sent;
        self.deadlines.starving |= exchange.starves();
        match progress {
            Progress::More if awaited => return self.begin_body(worker, key),
            Progress::More => {}
            // The stream stays ready: this call was only to move data from the client.
            Progress::Pending if room == 0 && exchange.has_body() => {}
            Progress::Pending | Progress::HalfClosed => {
                self.engine.set_ready(key, false);
                self.waiting.push(key);
            }
            Progress::Complete | Progress::Broken => {
                return self.at_work.take().into_iter().for_each(|exchange| worker.exchanges.give(exchange));
            }
        }
        self.put_back(worker, key);
    }

    /// Marks the content as ready to be sent.
    fn begin_body<S>(&mut self, worker: &Worker<S>, key: Key) {
        if self.at_work.as_deref().is_some_and(Exchange::is_tunnel) {
            self.tunnels.push(key);
        }
        self.engine.set_ready(key, true);
        self.put_back(worker, key);
    }

    /// Makes the exchange of a stream the current one.
    #[inline]
    fn load(&mut self, key: Key) {
        self.at_work = self.engine.get(key).and_then(Option::take);
    }

    #[inline]
    pub(super) fn put_back<S>(&mut self, worker: &Worker<S>, key: Key) {
        match self.engine.get(key) {
            Some(slot) => *slot = self.at_work.take(),
            None => self.give_up_work(worker),
        }
    }

    /// The stream was closed while its exchange was running.
    #[cold]
    fn give_up_work<S>(&mut self, worker: &Worker<S>) {
        if let Some(exchange) = self.at_work.take() {
            give_up(exchange, worker, "the client canceled the request");
        }
    }

    /// Resets a stream with its response incomplete.
    #[cold]
    pub(super) fn reset<S>(
        &mut self,
        link: &mut Link,
        worker: &Worker<S>,
        key: Key,
        reset: Reset,
        why: &'static str,
    ) {
        let exchange = self.engine.get(key).and_then(Option::take);
        let mut stream =
            Stream { engine: &mut self.engine, config: &self.config, link, worker, key, room: 0 };
        stream.reset(reset, why);
        self.end_early(worker, key, exchange, why);
    }

    /// Aborts the exchange of a stream that is closed early.
    pub(super) fn end_early<S>(&mut self, worker: &Worker<S>, key: Key, exchange: Slot, why: &'static str) {
        let Some(exchange) = exchange else { return };
        self.waiting.retain(|waiting| *waiting != key);
        give_up(exchange, worker, why);
    }
}
