//! The rules of RFC 7541 that a field block can break. None can be repaired: after any of them the two ends
//! hold different tables, so the connection ends with COMPRESSION_ERROR (RFC 9113 §4.3).

use std::fmt;

/// A fault of a field block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The block ends within a representation (RFC 7541 §6).
    Truncated,
    /// An integer has more than four bytes after its prefix: no index or length needs that many
    /// (RFC 7541 §5.1 lets an implementation set such a limit, and asks for one).
    IntegerTooLong,
    /// A reference to entry 0 (RFC 7541 §6.1).
    IndexZero,
    /// A reference beyond the end of the dynamic table (RFC 7541 §2.3.3).
    IndexOutOfRange,
    /// More than seven bits after the last Huffman code (RFC 7541 §5.2).
    PaddingTooLong,
    /// The bits after the last Huffman code aren't all ones (RFC 7541 §5.2).
    PaddingNotOnes,
    /// The code of EOS within a Huffman string (RFC 7541 §5.2).
    EndOfString,
    /// A table size beyond what the settings allow (RFC 7541 §6.3).
    SizeAboveLimit,
    /// A table size after the first field of a block (RFC 7541 §4.2).
    SizeNotFirst,
    /// No smaller table size after the settings demanded one (RFC 7541 §4.2).
    SizeMissing,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the field block ends within a field",
            Self::IntegerTooLong => "a number in the field block is too long",
            Self::IndexZero => "a field refers to table entry 0, which does not exist",
            Self::IndexOutOfRange => "a field refers to a table entry that does not exist",
            Self::PaddingTooLong => "a Huffman string is padded with more than seven bits",
            Self::PaddingNotOnes => "a Huffman string is padded with bits other than ones",
            Self::EndOfString => "a Huffman string holds the end-of-string code",
            Self::SizeAboveLimit => "the table size is set above the limit in our settings",
            Self::SizeNotFirst => "the table size is set after a field instead of before all of them",
            Self::SizeMissing => "the table size wasn't lowered although our settings demand it",
        })
    }
}

impl std::error::Error for Fault {}
