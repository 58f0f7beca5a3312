//! Receives frames on a session and dispatches them to their streams.

use super::super::cause::Cause;
use super::super::retry::Reach;
use super::session::{Session, Stage, State};
use super::stream::{Slot, Stream};
use hayami_h2::{Client, ClientEvent, ErrorCode, Key};
use hayami_http::{ResponseHead, Status};
use std::rc::Rc;
use std::task::Poll;

/// Reads per turn; if there is more, other sessions and connections get their turn first.
const READS: usize = 32;

impl Session {
    /// Reads and processes what is available.
    pub(super) fn receive(self: &Rc<Self>, state: &mut State) -> Result<(), Cause> {
        for _ in 0..READS {
            let Some(channel) = state.channel.as_mut().filter(|channel| channel.is_readable()) else {
                return Ok(());
            };
            match channel.read(&mut state.input) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(0)) => return Err(Cause::Closed),
                Poll::Ready(Err(error)) => return Err(Cause::Io(error)),
                Poll::Ready(Ok(_)) => {}
            }
            (state.heard, state.probed) = (self.outbound.clock().millis(), None);
            self.take_frames(state)?;
        }
        self.outbound.queue(self);
        Ok(())
    }

    fn take_frames(&self, state: &mut State) -> Result<(), Cause> {
        loop {
            let State { engine, config, input, head, out, heard, .. } = state;
            let received =
                engine.receive(config, heard.low(), input.unread(), head, out).map_err(Cause::from)?;
            match received.event {
                ClientEvent::More => {
                    input.consume(received.consumed);
                    return Ok(());
                }
                ClientEvent::Handled => {}
                ClientEvent::Settings => self.note_settings(engine),
                ClientEvent::Interim { key } => {
                    stream(engine, key).inspect(|stream| stream.interim(head));
                }
                ClientEvent::Response { key, content } => {
                    let head = std::mem::replace(head, ResponseHead::new(Status::OK));
                    stream(engine, key).inspect(|stream| stream.answer(head, content));
                }
                ClientEvent::Content { key, start, len, end } => {
                    let bytes = &input.unread()[start..start + len];
                    stream(engine, key).inspect(|stream| stream.put(bytes, end));
                    engine.release_connection_window(config, key, len, out);
                }
                ClientEvent::End { key, trailers } => {
                    let trailers = trailers.map(|trailers| *trailers);
                    stream(engine, key).inspect(|stream| stream.complete(trailers));
                }
                ClientEvent::Reset { data, code, fault, .. } => {
                    let cause = fault.map_or(Cause::Reset(code), Cause::from);
                    let refused = code == ErrorCode::REFUSED_STREAM && fault.is_none();
                    let reach = if refused { Reach::Unseen } else { Reach::Seen };
                    state.full = refused && state.engine.streams() > 0;
                    data.inspect(|stream| stream.fail(cause, reach));
                    state.input.consume(received.consumed);
                    continue;
                }
                ClientEvent::GoAway { code, .. } => {
                    state.input.consume(received.consumed);
                    self.go_away(state, code);
                    continue;
                }
            }
            input.consume(received.consumed);
        }
    }

    fn note_settings(&self, engine: &Client<Slot>) {
        if let (Some(allowed), Some(sessions)) = (engine.allowed_streams(), self.sessions.upgrade()) {
            sessions.allowed.set(allowed);
        }
    }

    /// Takes no more calls. Requests the upstream has not processed may be retried (RFC 9113 §6.8).
    fn go_away(&self, state: &mut State, code: ErrorCode) {
        if code != ErrorCode::NO_ERROR {
            state.goodbye = Some(code);
        }
        state.stage = Stage::Leaving;
        self.take_no_more();
        while let Some((_, data)) = state.engine.next_unanswered() {
            data.inspect(|stream| stream.fail(Cause::GoneAway(code), Reach::Unseen));
        }
    }
}

/// The stream of a key, if a call still waits for it.
fn stream(engine: &mut Client<Slot>, key: Key) -> Option<&Rc<Stream>> {
    engine.get(key)?.as_ref()
}
