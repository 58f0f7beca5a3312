//! How sessions and their streams end: deadlines, PING probes, lost connections, GOAWAY.

use super::super::cause::Cause;
use super::super::origin::{Protocol, Timeouts};
use super::super::retry::Reach;
use super::session::{Session, Stage, State};
use hayami_h2::{ErrorCode, Key};
use hayami_net::clock::Millis;
use hayami_net::contain::contained;
use std::io;
use std::rc::Rc;
use std::time::Duration;

/// How long an upstream may take to answer a PING. Responses to PING have priority over all other frames
/// (RFC 9113 §6.7), so load is no excuse.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

impl Session {
    /// A deadline of the session or of one of its streams has passed or has been moved.
    #[cold]
    pub(super) fn expire(&self, state: &mut State) -> Result<(), Cause> {
        let (now, patience) = (self.outbound.clock().millis(), self.upstream.timeouts);
        if state.stage == Stage::Connecting {
            return Err(Cause::Timeout);
        }
        self.wire.progressed();
        let dead = state.probed.is_some_and(|since| now >= since.after(SIGN_OF_LIFE.min(patience.io)));
        let stuck = state.stuck.is_some_and(|since| now >= since.after(patience.io));
        if dead || stuck {
            return Err(Cause::Timeout);
        }
        self.expire_streams(state, now);
        if state.idle_since.is_some_and(|since| now >= since.after(patience.keep_alive)) {
            self.retire(state);
        }
        self.set_deadline(state, patience);
        Ok(())
    }

    /// Fails streams past their deadline; if nothing has been received since one began to wait, probes the
    /// upstream with PING.
    fn expire_streams(&self, state: &mut State, now: Millis) {
        for key in keys(state) {
            let Some(Some(stream)) = state.engine.get(key) else { continue };
            if stream.deadline() > now {
                continue;
            }
            stream.fail(Cause::Timeout, Reach::Seen);
            let silent = state.heard <= stream.since();
            state.engine.reset(key, ErrorCode::CANCEL, &mut state.out);
            if silent && state.probed.is_none() {
                state.engine.ping(&mut state.out);
                state.probed = Some(now);
            }
        }
    }

    /// Sets the session's deadline to the earliest of those pending.
    fn set_deadline(&self, state: &mut State, patience: Timeouts) {
        let streams = keys(state).into_iter().filter_map(|key| {
            let slot = state.engine.get(key)?.as_ref()?;
            Some(slot.deadline())
        });
        let deadline = streams.min().unwrap_or(Millis::NEVER);
        let probed = state.probed.map(|since| since.after(SIGN_OF_LIFE.min(patience.io)));
        let stuck = state.stuck.map(|since| since.after(patience.io));
        let idle_since = state.idle_since.map(|since| since.after(patience.keep_alive));
        let others = [probed, stuck, idle_since].into_iter().flatten().min().unwrap_or(Millis::NEVER);
        self.wire.set_deadline_before(deadline.min(others));
    }

    /// Fails the session and all its streams.
    #[cold]
    pub(super) fn fail(&self, state: &mut State, cause: &Cause) {
        let connecting = state.stage == Stage::Connecting;
        // After a GOAWAY with an error, the upstream may close or reset the connection; report the GOAWAY instead.
        let lost = matches!(cause, Cause::Closed | Cause::Io(_));
        let goodbye = state.goodbye.take().filter(|_| lost).map(Cause::GoneAway);
        let cause = goodbye.as_ref().unwrap_or(cause);
        let left = state.gone + state.sent as u64;
        // Reporting a fault to the upstream is best effort.
        if let Cause::Protocol(_) = cause {
            let _ = self.flush(state);
        }
        self.close(state);
        if connecting {
            self.upstream.count(|counters| counters.failed += 1);
        }
        for stream in state.engine.drain_data().flatten() {
            let reach = match connecting {
                true => Reach::Unconnected,
                false if left <= stream.start => Reach::Unseen,
                false => Reach::Lost,
            };
            stream.fail(copy(cause), reach);
        }
    }

    /// Closes the connection and fails its calls after a panic, since the session's state is no longer trustworthy.
    #[cold]
    pub(super) fn give_up(&self) {
        let cause = Cause::Io(io::Error::other("an internal error; the error log has the panic's message"));
        let failed = contained(|| self.fail(&mut self.state(), &cause));
        if failed.is_none() {
            contained(|| self.close(&mut self.state()));
        }
    }

    /// The upstream has chosen HTTP/1.1: hands the connection over to the pool.
    #[cold]
    pub(super) fn hand_over(&self, state: &mut State) -> Result<(), Cause> {
        let channel = state.channel.take();
        self.close(state);
        let upstream = &self.upstream;
        let other = upstream.protocol == Protocol::Http2;
        if let Some(channel) = channel.filter(|_| !other) {
            self.sessions
                .upgrade()
                .inspect(|sessions| sessions.note_unwanted(self.outbound.clock().millis()));
            upstream.count_opened(channel.info().is_some_and(|info| info.resumed));
            upstream.give_unshared(channel);
        }
        for stream in state.engine.drain_data().flatten() {
            let why = io::Error::new(io::ErrorKind::Unsupported, "the upstream does not speak HTTP/2");
            let reach = if other { Reach::Unconnected } else { Reach::OtherProtocol };
            stream.fail(Cause::Io(why), reach);
        }
        Ok(())
    }

    /// Takes no more calls; the session ends with its last call.
    pub(super) fn leave(self: &Rc<Self>) {
        let mut state = self.state();
        if state.stage == Stage::Open {
            state.stage = Stage::Leaving;
        }
        // Calls already started on an old address continue with it.
        self.outbound.queue(self);
    }

    /// Sends GOAWAY and closes the session if no call is left.
    fn retire(&self, state: &mut State) {
        if state.engine.streams() == 0 && state.stage != Stage::Over {
            state.engine.go_away(&mut state.out);
            let _ = self.flush(state);
            self.close(state);
        }
    }

    fn close(&self, state: &mut State) {
        state.stage = Stage::Over;
        self.wire.progressed();
        self.take_no_more();
        // Calls still holding their stream learn of the end from it; the connection need not stay open.
        state.channel = None;
        state.input.end(self.outbound.pool());
        state.blocked = Vec::new();
    }

    /// Ends a turn: releases memory and records whether the session is idle.
    pub(super) fn settle(self: &Rc<Self>, state: &mut State) {
        if state.stage == Stage::Over {
            return;
        }
        state.input.release(self.outbound.pool());
        if let Some(channel) = &mut state.channel {
            channel.release();
        }
        if state.stage == Stage::Connecting {
            return;
        }
        if state.out.len() > state.sent && !self.wire.socket.is_blocked() {
            self.outbound.queue(self);
        }
        if state.engine.streams() > 0 {
            return;
        }
        if state.out.is_empty() {
            self.outbound.pool().give(std::mem::take(&mut state.out));
        }
        state.full = false;
        if state.stage == Stage::Leaving {
            return self.retire(state);
        }
        if state.idle_since.is_none() {
            let now = self.outbound.clock().millis();
            state.idle_since = Some(now);
            self.wire.set_deadline_before(now.after(self.upstream.timeouts.keep_alive));
        }
    }
}

fn keys(state: &State) -> Vec<Key> {
    state.engine.keys().collect()
}

/// Copies the cause for another stream.
fn copy(cause: &Cause) -> Cause {
    match cause {
        Cause::Io(error) => Cause::Io(match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        }),
        Cause::Timeout => Cause::Timeout,
        Cause::Protocol(fault) => Cause::Protocol(fault.clone()),
        Cause::Reset(code) => Cause::Reset(*code),
        Cause::GoneAway(code) => Cause::GoneAway(*code),
        Cause::Closed => Cause::Closed,
        other => Cause::Io(io::Error::other(other.to_string())),
    }
}
