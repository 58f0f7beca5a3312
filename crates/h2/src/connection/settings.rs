//! Settings: announces this side's, applies the peer's (RFC 9113 §6.5).

use super::{Core, Phase, Role, Step};
use crate::abuse::Kind;
use crate::config::Config;
use crate::fault::Fault;
use crate::frame::{self, Header, Setting, flag};
use crate::window::DEFAULT_WINDOW;

/// The peer's settings that this side uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerSettings {
    pub(crate) initial_window: u32,
    pub(crate) max_frame: u32,
    pub(crate) max_concurrent_streams: u32,
    pub(crate) enable_connect_protocol: bool,
}

impl Default for PeerSettings {
    /// RFC 9113 §6.5.2.
    fn default() -> Self {
        Self {
            initial_window: DEFAULT_WINDOW,
            max_frame: 16_384,
            max_concurrent_streams: u32::MAX,
            enable_connect_protocol: false,
        }
    }
}

impl<T: Default> Core<T> {
    /// Writes this side's SETTINGS, and opens the connection's window.
    pub(crate) fn announce(&mut self, config: &Config, out: &mut Vec<u8>) {
        use Setting::*;
        debug_assert!((16_384..=16_777_215).contains(&config.max_frame));
        let common = [
            HeaderTableSize(config.table_size),
            InitialWindowSize(config.initial_window),
            MaxFrameSize(config.max_frame),
            MaxHeaderListSize(config.max_header_list),
        ];
        let server = [
            MaxConcurrentStreams(config.max_concurrent_streams),
            EnableConnectProtocol(true),
            NoRfc7540Priorities(true), // RFC 9218 §2.1
        ];
        let mut all = [Unknown; 8];
        let mut count = 0;
        let own = if self.role == Role::Server { &server[..] } else { &[EnablePush(false)] };
        for setting in own.iter().chain(&common) {
            let default = matches!(setting, HeaderTableSize(4096) | MaxFrameSize(16_384));
            let off = *setting == EnableConnectProtocol(true) && !config.enable_connect_protocol;
            if !default && !off {
                all[count] = *setting;
                count += 1;
            }
        }
        frame::write_settings(&all[..count], 0, out);
        let increment = self.receive_window.open();
        if increment > 0 {
            frame::window_update(0, increment, out);
        }
    }

    pub(super) fn receive_settings(
        &mut self,
        config: &Config,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step<T>, Fault> {
        if header.stream != 0 {
            return Err(Fault::NotOnStreamZero);
        }
        self.abuse.spend(Kind::Settings, &config.budgets, self.now)?;
        if header.has(flag::ACK) {
            return self.receive_settings_ack(config, payload);
        }
        self.apply(payload)?;
        self.phase = Phase::Open;
        frame::write_settings(&[], flag::ACK, out); // RFC 9113 §6.5.3
        Ok(Step::Settings)
    }

    fn receive_settings_ack(&mut self, config: &Config, payload: &[u8]) -> Result<Step<T>, Fault> {
        if !payload.is_empty() {
            return Err(Fault::SettingsAckLength);
        }
        if !self.acknowledged {
            self.acknowledged = true;
            self.decoder.set_limit(config.table_size);
            let began = self.began.unwrap_or(self.now);
            self.round_trip = self.now.wrapping_sub(began).max(1);
        }
        Ok(Step::Handled)
    }

    /// Applies settings in their order (RFC 9113 §6.5.3).
    pub(crate) fn apply(&mut self, payload: &[u8]) -> Result<(), Fault> {
        for setting in frame::settings(payload)? {
            match setting? {
                Setting::HeaderTableSize(size) => self.encoder.set_peer_limit(size),
                // RFC 9113 §6.5.2: a server must not offer what only clients can do.
                Setting::EnablePush(true) if self.role == Role::Client => {
                    return Err(Fault::SettingsEnablePush);
                }
                Setting::MaxConcurrentStreams(count) => self.peer.max_concurrent_streams = count,
                Setting::InitialWindowSize(size) => self.change_initial_window(size)?,
                Setting::MaxFrameSize(size) => self.peer.max_frame = size,
                // RFC 8441 §3: it can't be taken back.
                Setting::EnableConnectProtocol(false) if self.peer.enable_connect_protocol => {
                    return Err(Fault::SettingsConnectProtocol);
                }
                Setting::EnableConnectProtocol(on) => self.peer.enable_connect_protocol = on,
                Setting::EnablePush(_)
                | Setting::MaxHeaderListSize(_)
                | Setting::NoRfc7540Priorities(_)
                | Setting::Unknown => {}
            }
        }
        Ok(())
    }

    /// RFC 9113 §6.9.2: the windows of open streams move by the difference, below zero if need be.
    fn change_initial_window(&mut self, size: u32) -> Result<(), Fault> {
        let difference = size as i32 - self.peer.initial_window as i32;
        self.peer.initial_window = size;
        for slot in self.streams.slots() {
            if self.streams[slot].id != 0 {
                self.streams[slot].send_window.grow(difference).ok_or(Fault::WindowOverflow)?;
                self.requeue(slot);
            }
        }
        Ok(())
    }
}
