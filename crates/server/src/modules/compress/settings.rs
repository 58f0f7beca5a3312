//! Settings: codings with their qualities, and the minimum size of responses.

use crate::config::feature_settings::FeatureSetting;
use hayami_http::negotiate::Coding;

/// The settings of this feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `compress`, `gzip`: codings for responses in the server's order of preference; empty: no compression.
    pub targets: Vec<Target>,
    /// `compress-minimum-size`, bytes. Content of unknown length counts as large enough.
    pub minimum_size: u64,
}

impl FeatureSetting for Settings {}

impl Default for Settings {
    fn default() -> Self {
        Self { targets: Vec::new(), minimum_size: 100 }
    }
}

/// A coding and its quality: the compression effort, on the coding's own scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The coding; never identity.
    pub coding: Coding,
    /// gzip: 1 to 9; br: 0 to 11; zstd: 1 to 22.
    pub quality: u8,
}

/// The most bytes that are encoded at once.
pub(super) const PIECE: usize = 64 * 1024;

impl Target {
    /// Bytes encoded before other connections of the worker get their turns: about a millisecond of work.
    pub(super) fn piece(self) -> usize {
        let is_fast = match self.coding {
            Coding::Brotli => self.quality <= 1,
            Coding::Zstd => self.quality <= 4,
            Coding::Gzip | Coding::Identity => self.quality <= 1,
        };
        if is_fast || self.is_slow() { PIECE } else { PIECE / 2 }
    }

    /// Whether a piece would noticeably delay the worker's other connections: at less than about 30 MB/s.
    pub(super) fn is_slow(self) -> bool {
        match self.coding {
            Coding::Brotli => self.quality >= 7,
            Coding::Zstd => self.quality >= 10,
            Coding::Gzip | Coding::Identity => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_qualities_are_for_workers_and_the_best_for_other_threads() {
        for (coding, quality, slow, piece) in [
            (Coding::Gzip, 1, false, PIECE),
            (Coding::Gzip, 9, false, PIECE / 2),
            (Coding::Brotli, 1, false, PIECE),
            (Coding::Brotli, 5, false, PIECE / 2),
            (Coding::Brotli, 11, true, PIECE),
            (Coding::Zstd, 3, false, PIECE),
            (Coding::Zstd, 19, true, PIECE),
        ] {
            let target = Target { coding, quality };
            assert_eq!((target.is_slow(), target.piece()), (slow, piece), "{target:?}");
        }
    }
}
