//! How many connections were accepted, for another process to read.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Digits of the number in the file, so that each write replaces the previous one completely.
const DIGITS: usize = 12;

/// A number in a file.
pub(crate) struct Count {
    file: File,
    connections: u64,
}

impl Count {
    /// Starts at zero.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let mut count = Self { file: File::create(path)?, connections: 0 };
        count.write()?;
        Ok(count)
    }

    /// Adds one.
    pub(crate) fn add(&mut self) -> io::Result<()> {
        self.connections += 1;
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        self.file.write_all_at(format!("{:DIGITS$}", self.connections).as_bytes(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_number_of_connections() {
        let path = std::env::temp_dir().join(format!("bare-epoll-count-{}", std::process::id()));
        let read = || std::fs::read_to_string(&path).unwrap().trim().parse::<u64>().unwrap();
        let mut count = Count::new(&path).unwrap();
        assert_eq!(read(), 0);
        for expected in 1..=11 {
            count.add().unwrap();
            assert_eq!(read(), expected);
        }
        std::fs::remove_file(&path).unwrap();
    }
}
