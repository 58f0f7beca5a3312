//! SETTINGS (RFC 9113 §6.5): pairs of identifier and value.

use super::{Kind, header};
use crate::fault::Fault;

/// One setting, its value checked (RFC 9113 §6.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    HeaderTableSize(u32),
    EnablePush(bool),
    MaxConcurrentStreams(u32),
    InitialWindowSize(u32),
    MaxFrameSize(u32),
    MaxHeaderListSize(u32),
    /// RFC 8441 §3.
    EnableConnectProtocol(bool),
    /// RFC 9218 §2.1.
    NoRfc7540Priorities(bool),
    /// Ignored (RFC 9113 §6.5.2).
    Unknown,
}

impl Setting {
    fn of(id: u16, value: u32) -> Result<Self, Fault> {
        Ok(match id {
            0x1 => Self::HeaderTableSize(value),
            0x2 => Self::EnablePush(switch(value, Fault::SettingsEnablePush)?),
            0x3 => Self::MaxConcurrentStreams(value),
            // RFC 9113 §6.5.2: above 2^31-1 is a flow-control error.
            0x4 if value > 0x7fff_ffff => return Err(Fault::SettingsInitialWindow),
            0x4 => Self::InitialWindowSize(value),
            0x5 if !(16_384..=16_777_215).contains(&value) => return Err(Fault::SettingsMaxFrame),
            0x5 => Self::MaxFrameSize(value),
            0x6 => Self::MaxHeaderListSize(value),
            0x8 => Self::EnableConnectProtocol(switch(value, Fault::SettingsConnectProtocol)?),
            0x9 => Self::NoRfc7540Priorities(switch(value, Fault::SettingsNoPriorities)?),
            _ => Self::Unknown,
        })
    }

    fn pair(self) -> (u16, u32) {
        match self {
            Self::HeaderTableSize(value) => (0x1, value),
            Self::EnablePush(value) => (0x2, value.into()),
            Self::MaxConcurrentStreams(value) => (0x3, value),
            Self::InitialWindowSize(value) => (0x4, value),
            Self::MaxFrameSize(value) => (0x5, value),
            Self::MaxHeaderListSize(value) => (0x6, value),
            Self::EnableConnectProtocol(value) => (0x8, value.into()),
            Self::NoRfc7540Priorities(value) => (0x9, value.into()),
            // A reserved identifier.
            Self::Unknown => (0x0a0a, 0),
        }
    }
}

fn switch(value: u32, fault: Fault) -> Result<bool, Fault> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(fault),
    }
}

/// The settings of a payload, in order.
pub(crate) fn settings(payload: &[u8]) -> Result<impl Iterator<Item = Result<Setting, Fault>>, Fault> {
    // RFC 9113 §6.5: a length that is not a multiple of six is a connection error.
    let (pairs, []) = payload.as_chunks::<6>() else { return Err(Fault::FrameLength) };
    Ok(pairs.iter().map(|[i0, i1, v0, v1, v2, v3]| {
        Setting::of(u16::from_be_bytes([*i0, *i1]), u32::from_be_bytes([*v0, *v1, *v2, *v3]))
    }))
}

/// Writes a SETTINGS frame.
pub(crate) fn write_settings(settings: &[Setting], flags: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&header(settings.len() * 6, Kind::Settings, flags, 0));
    for (id, value) in settings.iter().map(|setting| setting.pair()) {
        out.extend_from_slice(&id.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_are_written() {
        let all = [
            Setting::HeaderTableSize(1),
            Setting::EnablePush(false),
            Setting::MaxConcurrentStreams(0),
            Setting::InitialWindowSize(0x7fff_ffff),
            Setting::MaxFrameSize(16_777_215),
            Setting::MaxHeaderListSize(u32::MAX),
            Setting::EnableConnectProtocol(true),
            Setting::NoRfc7540Priorities(true),
            Setting::Unknown,
        ];
        let mut out = Vec::new();
        write_settings(&all, 0, &mut out);
        let read: Result<Vec<_>, _> = settings(&out[9..]).expect("pairs").collect();
        assert_eq!(read.as_deref(), Ok(&all[..]));
    }

    #[test]
    fn values_out_of_range_are_faults() {
        let cases = [
            (2, 2, Fault::SettingsEnablePush),
            (4, 0x8000_0000, Fault::SettingsInitialWindow),
            (5, 16_383, Fault::SettingsMaxFrame),
            (5, 16_777_216, Fault::SettingsMaxFrame),
            (8, 2, Fault::SettingsConnectProtocol),
            (9, 2, Fault::SettingsNoPriorities),
        ];
        for (id, value, fault) in cases {
            assert_eq!(Setting::of(id, value), Err(fault));
        }
        assert!(settings(&[0; 5]).is_err());
    }
}
