//! Positions in a configuration.

/// A span in a configuration file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Position {
    /// Index of the file, in the order in which they were opened.
    pub file: u32,
    /// First byte.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
}

impl Position {
    /// Not in any file.
    pub const NOWHERE: Self = Self { file: u32::MAX, start: 0, end: 0 };
}
