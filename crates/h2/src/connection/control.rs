//! The small frames: RST_STREAM, WINDOW_UPDATE, PING, GOAWAY, priorities and unknown ones.

use super::{Core, Role, Step};
use crate::abuse::Kind;
use crate::code::ErrorCode;
use crate::config::Config;
use crate::fault::Fault;
use crate::frame::{self, Dependency, GoAway, Header, flag};
use crate::priority::Priority;
use crate::state::{Action, Frame};

/// WINDOW_UPDATE frames below this are counted: a well-behaved peer grants at least a network packet.
const TINY_INCREMENT: u32 = 1024;

/// Priorities of future streams that are kept. Browsers send them just before the request.
const EARLY_PRIORITIES: usize = 32;

impl<T: Default> Core<T> {
    pub(super) fn receive_rst_stream(
        &mut self,
        config: &Config,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step<T>, Fault> {
        if header.stream == 0 {
            return Err(Fault::OnStreamZero);
        }
        let code = ErrorCode(frame::u32_payload(payload)?);
        let (state, slot) = self.state_of(header.stream);
        match (state.on(Frame::RstStream), slot) {
            (Action::ConnectionError(fault), _) => Err(fault),
            (_, Some(slot)) => {
                if self.role == Role::Server {
                    self.abuse.spend(Kind::RapidReset, &config.budgets, self.now)?;
                }
                let key = self.streams.key(slot);
                let data = self.close(slot, out);
                Ok(Step::Reset { key, data, code, fault: None })
            }
            (_, None) => self.count(Kind::Stale, config),
        }
    }

    pub(super) fn receive_window_update(
        &mut self,
        config: &Config,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step<T>, Fault> {
        let increment = frame::u32_payload(payload)? & 0x7fff_ffff;
        if increment < TINY_INCREMENT {
            self.abuse.spend(Kind::TinyWindow, &config.budgets, self.now)?;
        }
        if header.stream == 0 {
            // RFC 9113 §6.9: on the connection's window, these are connection errors.
            if increment == 0 {
                return Err(Fault::ZeroIncrement);
            }
            self.send_window.grow(increment as i32).ok_or(Fault::WindowOverflow)?;
            return Ok(Step::Handled);
        }
        let (state, slot) = self.state_of(header.stream);
        match (state.on(Frame::WindowUpdate), slot) {
            (Action::ConnectionError(fault), _) => Err(fault),
            (_, Some(_)) if increment == 0 => {
                self.stream_error(config, header.stream, Fault::ZeroIncrement, out)
            }
            (_, Some(slot)) => match self.streams[slot].send_window.grow(increment as i32) {
                None => self.stream_error(config, header.stream, Fault::WindowOverflow, out),
                Some(()) => {
                    self.requeue(slot);
                    Ok(Step::Handled)
                }
            },
            (_, None) => self.count(Kind::Stale, config),
        }
    }

    pub(super) fn receive_ping(
        &mut self,
        config: &Config,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step<T>, Fault> {
        if header.stream != 0 {
            return Err(Fault::NotOnStreamZero);
        }
        let opaque = frame::ping(payload)?;
        self.abuse.spend(Kind::Ping, &config.budgets, self.now)?;
        if !header.has(flag::ACK) {
            frame::ping_ack(opaque, out); // RFC 9113 §6.7
        }
        Ok(Step::Handled)
    }

    /// Sends PING to probe the peer.
    pub(crate) fn ping(&self, out: &mut Vec<u8>) {
        frame::ping_request(*b"hayami \0", out);
    }

    pub(super) fn receive_goaway(&mut self, header: Header, payload: &[u8]) -> Result<Step<T>, Fault> {
        if header.stream != 0 {
            return Err(Fault::NotOnStreamZero);
        }
        let goaway = GoAway::parse(payload)?;
        // RFC 9113 §6.8: a later one may only lower the last stream.
        let last = self.peer_goes.map_or(goaway.last, |before| before.last.min(goaway.last));
        let goaway = GoAway { last, ..goaway };
        self.peer_goes = Some(goaway);
        Ok(Step::GoAway(goaway))
    }

    /// RFC 7540's priorities are checked as to form and ignored (RFC 9113 §5.3.2).
    pub(super) fn receive_priority(
        &mut self,
        config: &Config,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step<T>, Fault> {
        if header.stream == 0 {
            return Err(Fault::OnStreamZero);
        }
        let dependency = Dependency::parse(payload)?;
        self.abuse.spend(Kind::Priority, &config.budgets, self.now)?;
        if dependency.on != header.stream {
            return Ok(Step::Handled);
        }
        match self.state_of(header.stream).1 {
            Some(_) => self.stream_error(config, header.stream, Fault::SelfDependency, out),
            // RST_STREAM on a stream that isn't open would be this side's fault (RFC 9113 §6.4).
            None => Err(Fault::SelfDependency),
        }
    }

    pub(super) fn receive_priority_update(
        &mut self,
        config: &Config,
        header: Header,
        payload: &[u8],
    ) -> Result<Step<T>, Fault> {
        if header.stream != 0 {
            return Err(Fault::NotOnStreamZero);
        }
        let (id, value) = frame::priority_update(payload)?;
        // RFC 9218 §7.1: servers send none; stream 0 and streams of a push that was not promised are faults.
        if self.role == Role::Client || id.is_multiple_of(2) {
            return Err(Fault::PriorityUpdateStream);
        }
        self.abuse.spend(Kind::Priority, &config.budgets, self.now)?;
        let priority = Priority::parse(value);
        match self.streams.find(id) {
            Some(slot) => self.schedule.change(&mut self.streams, slot, priority),
            None if id > self.last => self.remember_priority(id, priority),
            None => {}
        }
        Ok(Step::Handled)
    }

    fn remember_priority(&mut self, id: u32, priority: Priority) {
        let last = self.last;
        self.early.retain(|(other, _)| *other != id && *other > last);
        if self.early.len() < EARLY_PRIORITIES {
            self.early.push((id, priority));
        }
    }

    /// What a PRIORITY_UPDATE frame said about a stream before it was opened; it outweighs the request's
    /// Priority field, which was sent with it or before (RFC 9218 §7).
    #[inline]
    pub(crate) fn early_priority(&mut self, id: u32) -> Option<Priority> {
        if self.early.is_empty() {
            return None;
        }
        let at = self.early.iter().position(|(other, _)| *other == id)?;
        Some(self.early.swap_remove(at).1)
    }

    pub(super) fn receive_unknown(&mut self, config: &Config) -> Result<Step<T>, Fault> {
        self.count(Kind::Unknown, config) // RFC 9113 §5.5: ignored
    }

    /// Counts a frame without effect.
    pub(crate) fn count(&mut self, kind: Kind, config: &Config) -> Result<Step<T>, Fault> {
        self.abuse.spend(kind, &config.budgets, self.now)?;
        Ok(Step::Handled)
    }
}
