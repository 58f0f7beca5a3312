//! What is wrong with the files and settings of TLS, said to whoever wrote them.

use std::fmt;

/// One line: what is wrong, with the file, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub(crate) String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
