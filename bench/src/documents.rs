//! The documents all servers serve, made anew for every race.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::workload::{Document, GREETING, HELLO, PAGE};

/// Makes the folder of documents inside `folder` with the small ones.
///
/// # Errors
/// A file cannot be written.
pub(crate) fn prepare(folder: &Path) -> io::Result<PathBuf> {
    let documents = folder.join("documents");
    for readable in [folder, &documents] {
        fs::create_dir_all(readable)?;
        // Servers started by root serve as another user.
        fs::set_permissions(readable, fs::Permissions::from_mode(0o755))?;
    }
    fs::write(documents.join(PAGE.file), page(PAGE.octets as usize))?;
    fs::write(documents.join(GREETING.file), "Hello, world.\n")?;
    fs::write(documents.join(HELLO.file), "hello world\n")?;
    Ok(documents)
}

/// Makes a document that is not there yet; the large ones only when a workload asks for them.
///
/// # Errors
/// It cannot be written.
pub(crate) fn ensure(documents: &Path, document: Document) -> io::Result<()> {
    let path = documents.join(document.file);
    if path.exists() {
        return Ok(());
    }
    let block: Vec<u8> =
        (0..1_u32 << 18).flat_map(|word| word.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let mut file = BufWriter::new(File::create(path)?);
    let mut left = document.octets as usize;
    while left > 0 {
        let part = left.min(block.len());
        file.write_all(&block[..part])?;
        left -= part;
    }
    file.flush()
}

/// A page of exactly `octets` octets.
fn page(octets: usize) -> String {
    const START: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>A small page\
        </title>\n</head>\n<body>\n<h1>A small page</h1>\n<p>";
    const END: &str = "</p>\n</body>\n</html>\n";
    const WORDS: &str = "The page of the races: as large as the one in the published measurement. ";
    let fill = octets - START.len() - END.len();
    let text: String = WORDS.chars().cycle().take(fill).collect();
    format!("{START}{text}{END}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_size_of_the_published_one() {
        assert_eq!(page(612).len(), 612);
        assert!(page(612).is_ascii());
    }
}
