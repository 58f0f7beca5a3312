//! One connection to an upstream that carries many calls: its socket, its output and the calls waiting for
//! send capacity.

use super::super::cause::Cause;
use super::super::io_stream::IoStream;
use super::super::upstream::Upstream;
use super::Sessions;
use super::stream::{Slot, Stream};
use hayami_h2::{Client, Config, ErrorCode, Key, Request};
use hayami_http::{FieldSection, ResponseHead, Status};
use hayami_net::buffer::Input;
use hayami_net::clock::Millis;
use hayami_net::upstream_io::UpstreamIo;
use hayami_net::upstream_io::{Driver, SocketHandle};
use hayami_tls::Alpn;
use std::cell::{Cell, RefCell, RefMut};
use std::rc::{Rc, Weak};
use std::task::Poll;
use std::time::Duration;

/// Unsent bytes above which calls have to wait with their content.
const MOST_UNSENT: usize = 256 * 1024;

/// Sent bytes that are worth removing from the front of the output buffer.
const MUCH_SENT: usize = 64 * 1024;

/// A connection; dropping it closes it.
pub(crate) struct Session {
    pub(super) upstream: Rc<Upstream>,
    /// The list in which calls find it while it takes any.
    pub(super) sessions: Weak<Sessions>,
    pub(super) outbound: UpstreamIo,
    pub(super) wire: Rc<SocketHandle>,
    /// Index of its address among the origin's addresses.
    pub(super) at: usize,
    state: RefCell<State>,
    /// Whether it is queued for a turn at the end of the event loop's round.
    queued: Cell<bool>,
}

/// The mutable state of a session.
pub(super) struct State {
    pub(super) stage: Stage,
    /// `None` once it is closed or handed over.
    pub(super) channel: Option<IoStream>,
    pub(super) engine: Client<Slot>,
    pub(super) config: Config,
    pub(super) input: Input,
    /// The response head being received.
    pub(super) head: ResponseHead,
    pub(super) out: Vec<u8>,
    /// Bytes at the front of `out` that have been sent.
    pub(super) sent: usize,
    /// Bytes sent earlier and already removed from `out`.
    pub(super) gone: u64,
    /// Calls whose content waits for send capacity, the longest-waiting first.
    pub(super) blocked: Vec<Key>,
    /// The upstream refused a stream: no new one is opened before another one ends.
    pub(super) full: bool,
    /// Number of calls so far.
    pub(super) served: u64,
    /// In milliseconds: when bytes last arrived; since when there has been no call; since when nothing could
    /// be sent; when the last unanswered PING was sent.
    pub(super) heard: Millis,
    pub(super) idle_since: Option<Millis>,
    pub(super) stuck: Option<Millis>,
    pub(super) probed: Option<Millis>,
    /// The error code of the upstream's GOAWAY, if any.
    pub(super) goodbye: Option<ErrorCode>,
}

/// The lifecycle of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Connecting; what calls write is buffered.
    Connecting,
    /// Accepting calls.
    Open,
    /// Accepting no new calls; ends with the last one.
    Leaving,
    /// Closed.
    Over,
}

impl Driver for Session {
    fn on_event(self: Rc<Self>, _: &SocketHandle) {
        self.take_turn();
    }

    fn turn(self: Rc<Self>) {
        self.take_turn();
    }

    fn queues(&self) -> bool {
        !self.queued.replace(true)
    }

    fn collapse(&self) {
        self.give_up();
    }
}

impl Session {
    /// Starts a session on a connection being established.
    pub(super) fn begin(
        upstream: &Rc<Upstream>,
        sessions: &Rc<Sessions>,
        channel: IoStream,
        at: usize,
    ) -> Rc<Self> {
        let config = sessions.config;
        let (mut engine, mut out) = (Client::new(&config), upstream.outbound.pool().take());
        engine.start(&config, &mut out);
        let wire = Rc::clone(&channel.wire);
        let state = State {
            stage: Stage::Connecting,
            channel: Some(channel),
            engine,
            config,
            input: Input::default(),
            head: ResponseHead::new(Status::OK),
            out,
            sent: 0,
            gone: 0,
            blocked: Vec::new(),
            full: false,
            served: 0,
            heard: upstream.outbound.clock().millis(),
            idle_since: None,
            stuck: None,
            probed: None,
            goodbye: None,
        };
        let session = Rc::new(Self {
            upstream: Rc::clone(upstream),
            sessions: Rc::downgrade(sessions),
            outbound: upstream.outbound.clone(),
            wire,
            at,
            state: RefCell::new(state),
            queued: Cell::new(false),
        });
        session.wire.driven_by(&session);
        session
    }

    pub(super) fn state(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }

    /// Removes the session from the list, so that new calls no longer find it.
    pub(super) fn take_no_more(&self) {
        if let Some(sessions) = self.sessions.upgrade() {
            sessions.remove(self);
        }
    }

    /// Whether it takes one more call; see [`Sessions::find`](super::Sessions).
    pub(super) fn has_room(&self, at: usize, allowed: u32) -> bool {
        let state = self.state.borrow();
        let fit = match state.stage {
            Stage::Connecting => self.at >= at,
            Stage::Open => state.probed.is_none() && !state.full && !self.wire.socket.has_ended(),
            Stage::Leaving | Stage::Over => false,
        };
        let unknown = state.engine.allowed_streams().is_none();
        let too_many = unknown && state.engine.streams() >= allowed.max(1) as usize;
        fit && !too_many && state.engine.capacity(&state.config) > 0
    }

    pub(super) fn is_idle(&self) -> bool {
        let state = self.state.borrow();
        state.stage == Stage::Open && state.engine.streams() == 0
    }

    /// Writes a request head; `None` if the session takes no more requests.
    pub(super) fn ask(
        self: &Rc<Self>,
        request: &Request<'_>,
        fields: &FieldSection,
        reports_interim: bool,
    ) -> Option<(Key, Rc<Stream>)> {
        let mut state = self.state.borrow_mut();
        let State { engine, config, out, gone, .. } = &mut *state;
        if out.capacity() == 0 {
            *out = self.outbound.pool().take();
        }
        let stream = Stream::new(*gone + out.len() as u64, reports_interim);
        let key = engine.send_request(config, request, fields, out).ok()?;
        if let Some(slot) = engine.get(key) {
            *slot = Some(Rc::clone(&stream));
        }
        (state.idle_since, state.served) = (None, state.served + 1);
        self.outbound.queue(self);
        Some((key, stream))
    }

    /// Number of calls so far.
    pub(super) fn served(&self) -> u64 {
        self.state.borrow().served
    }

    /// Whether it may take a call that must not be sent twice. An idle session asks the kernel whether the
    /// connection has events that the event loop has not seen yet.
    pub(super) fn is_sound(self: &Rc<Self>) -> bool {
        let is_quiet = |state: &mut State| state.channel.as_mut().is_some_and(IoStream::is_quiet);
        let news = self.is_idle() && !is_quiet(&mut self.state.borrow_mut());
        if news {
            self.wire.socket.may_read(false);
            self.take_turn();
        }
        !news || self.is_idle()
    }

    /// Whether the connection is still being established.
    pub(super) fn is_connecting(&self) -> bool {
        self.state.borrow().stage == Stage::Connecting
    }

    /// Bytes of content that a call may send now.
    pub(super) fn room(&self, key: Key) -> usize {
        let state = self.state.borrow();
        let unsent = state.out.len() - state.sent;
        state.engine.room(key).min(MOST_UNSENT.saturating_sub(unsent))
    }

    /// Writes content, at most as much as there is [`room`](Self::room) for; `trailers` or `end` ends the request.
    pub(super) fn send(self: &Rc<Self>, key: Key, bytes: &[u8], end: bool, trailers: Option<&FieldSection>) {
        let mut state = self.state.borrow_mut();
        let State { engine, out, .. } = &mut *state;
        if !bytes.is_empty() || (end && trailers.is_none()) {
            engine.send_data(key, bytes, end && trailers.is_none(), out);
        }
        if let Some(trailers) = trailers {
            engine.send_trailers(key, trailers, out);
        }
        self.outbound.queue(self);
    }

    /// Registers the call's stream to be woken when there is send capacity.
    pub(super) fn block(&self, key: Key) {
        let mut state = self.state.borrow_mut();
        if !state.blocked.contains(&key) {
            state.blocked.push(key);
        }
    }

    /// Gives the upstream `bytes` of stream window back.
    pub(super) fn release_stream_window(self: &Rc<Self>, key: Key, bytes: usize) {
        let mut state = self.state.borrow_mut();
        let State { engine, config, out, .. } = &mut *state;
        let before = out.len();
        engine.release_stream_window(config, key, bytes, out);
        if out.len() > before {
            self.outbound.queue(self);
        }
    }

    /// Drops a stream that no call waits for; if it is open, sends RST_STREAM.
    pub(super) fn reset(self: &Rc<Self>, key: Key, code: ErrorCode) {
        let mut state = self.state.borrow_mut();
        if state.stage == Stage::Over {
            return;
        }
        let State { engine, out, .. } = &mut *state;
        if engine.reset(key, code, out).is_some() {
            state.full = false;
        }
        // The session may be idle now, or at its end.
        self.outbound.queue(self);
    }

    /// Sets a deadline by which a stream has to make progress.
    pub(super) fn expect(&self, stream: &Stream, within: Duration) {
        let now = self.outbound.clock().millis();
        let deadline = now.after(within);
        stream.set_deadline(now, deadline);
        self.wire.set_deadline_before(deadline);
    }

    /// Runs a turn: after a socket event, a deadline, or writes by calls.
    fn take_turn(self: &Rc<Self>) {
        self.queued.set(false);
        let mut state = self.state.borrow_mut();
        if state.stage == Stage::Over {
            return;
        }
        if let Err(cause) = self.go_on(&mut state) {
            self.fail(&mut state, &cause);
        }
        self.settle(&mut state);
    }

    fn go_on(self: &Rc<Self>, state: &mut State) -> Result<(), Cause> {
        if self.wire.is_late() {
            self.expire(state)?;
        }
        if let Err(cause) = self.flush(state) {
            if state.stage != Stage::Connecting {
                // The upstream may have responded before it closed.
                self.wire.socket.may_read(true);
                self.receive(state)?;
            }
            return Err(cause);
        }
        if state.stage != Stage::Connecting {
            self.receive(state)?;
        }
        self.outbound.watch(&self.wire).map_err(Cause::Io)?;
        self.wake_blocked(state);
        Ok(())
    }

    /// Sends until the output or the socket buffer is exhausted.
    pub(super) fn flush(&self, state: &mut State) -> Result<(), Cause> {
        let Some(channel) = &mut state.channel else { return Ok(()) };
        if state.stage == Stage::Connecting && channel.poll_connected()?.is_pending() {
            return Ok(());
        }
        if state.stage == Stage::Connecting && channel.info().is_some_and(|info| info.alpn != Some(Alpn::H2))
        {
            return self.hand_over(state);
        }
        while let Some(channel) = &mut state.channel
            && state.sent < state.out.len()
        {
            match channel.send(&state.out[state.sent..]) {
                Poll::Ready(Ok(bytes)) => {
                    state.sent += bytes;
                    state.stuck = None;
                    self.note_connected(state);
                }
                Poll::Ready(Err(error)) => return Err(Cause::Io(error)),
                Poll::Pending => {
                    self.keep_unsent(state);
                    return Ok(());
                }
            }
        }
        match state.channel.as_mut().map(IoStream::flush) {
            Some(Poll::Ready(Err(error))) => return Err(Cause::Io(error)),
            Some(Poll::Pending) => self.keep_unsent(state),
            Some(Poll::Ready(Ok(()))) | None => {}
        }
        state.gone += state.sent as u64;
        state.sent = 0;
        state.out.clear();
        Ok(())
    }

    /// Handles a full socket buffer.
    fn keep_unsent(&self, state: &mut State) {
        if state.sent >= MUCH_SENT {
            state.out.drain(..state.sent);
            state.gone += state.sent as u64;
            state.sent = 0;
        }
        if state.stage != Stage::Connecting && state.stuck.is_none() {
            let now = self.outbound.clock().millis();
            state.stuck = Some(now);
            self.wire.set_deadline_before(now.after(self.upstream.timeouts.io));
        }
    }

    #[inline]
    fn note_connected(&self, state: &mut State) {
        if state.stage != Stage::Connecting {
            return;
        }
        state.stage = Stage::Open;
        self.wire.progressed();
        let info = state.channel.as_ref().and_then(IoStream::info);
        self.upstream.count_opened(info.is_some_and(|info| info.resumed));
        if self.upstream.closes() {
            self.take_no_more();
            state.stage = Stage::Leaving;
        }
        for key in state.engine.keys().collect::<Vec<_>>() {
            if let Some(Some(stream)) = state.engine.get(key) {
                stream.wake();
            }
        }
    }

    /// Wakes calls that wait for send capacity, as many as the connection window allows.
    fn wake_blocked(&self, state: &mut State) {
        let State { engine, blocked, out, sent, .. } = state;
        if blocked.is_empty() || out.len() - *sent >= MOST_UNSENT {
            return;
        }
        let mut left = engine.connection_room();
        blocked.retain(|key| {
            let room = engine.room(*key).min(left);
            let Some(Some(stream)) = engine.get(*key) else { return false };
            if room == 0 {
                return true;
            }
            left -= room;
            stream.wake();
            false
        });
    }
}
