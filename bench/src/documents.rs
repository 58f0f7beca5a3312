//! The documents that all servers serve, created anew for every race.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::workload::{Document, GREETING, HELLO, PAGE};

/// The images of scenario S2 B's page.
pub(crate) const IMAGES: usize = 9_144;
/// The first of them.
pub(crate) const FIRST_IMAGE: Document =
    Document { target: "/images/0000.png", file: "images/0000.png", bytes: LEAST_IMAGE as u64 };
/// Bytes of the smallest; the largest is ten times that size.
const LEAST_IMAGE: usize = 300;
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Creates the folder of documents inside `folder` with the small ones.
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
    fs::write(documents.join(PAGE.file), page(PAGE.bytes as usize))?;
    fs::write(documents.join(GREETING.file), "Hello, world.\n")?;
    fs::write(documents.join(HELLO.file), "hello world\n")?;
    Ok(documents)
}

/// Creates a document unless it exists; the large ones only when a workload needs them.
///
/// # Errors
/// It cannot be written.
pub(crate) fn ensure(documents: &Path, document: Document) -> io::Result<()> {
    let path = documents.join(document.file);
    if path.exists() {
        return Ok(());
    }
    let block = noise(1 << 20);
    let mut file = BufWriter::new(File::create(path)?);
    let mut left = document.bytes as usize;
    while left > 0 {
        let part = left.min(block.len());
        file.write_all(&block[..part])?;
        left -= part;
    }
    file.flush()
}

/// Creates all missing images: the PNG signature and noise, 300 to 3,000 bytes.
///
/// # Errors
/// An image cannot be written.
pub(crate) fn ensure_images(documents: &Path) -> io::Result<()> {
    if documents.join(FIRST_IMAGE.file).exists() {
        return Ok(());
    }
    let folder = documents.join("images");
    fs::create_dir_all(&folder)?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
    let noise = noise(10 * LEAST_IMAGE);
    (0..IMAGES).try_for_each(|index| {
        let content = [PNG_SIGNATURE, &noise[..image_bytes(index) - PNG_SIGNATURE.len()]].concat();
        fs::write(documents.join(image(index)), content)
    })
}

/// The name of an image in the folder of documents.
pub(crate) fn image(index: usize) -> String {
    format!("images/{index:04}.png")
}

/// Sizes that differ from one image to the next, evenly over the range.
fn image_bytes(index: usize) -> usize {
    LEAST_IMAGE + index * 7919 % (9 * LEAST_IMAGE + 1)
}

/// Pseudo-random bytes, the same every time.
fn noise(bytes: usize) -> Vec<u8> {
    (0..bytes.div_ceil(4) as u32).flat_map(|word| word.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

/// A page of exactly `bytes` bytes.
fn page(bytes: usize) -> String {
    const START: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>A small page\
        </title>\n</head>\n<body>\n<h1>A small page</h1>\n<p>";
    const END: &str = "</p>\n</body>\n</html>\n";
    const WORDS: &str = "The page of the races: as large as the one in the published measurement. ";
    let fill = bytes - START.len() - END.len();
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

    #[test]
    fn images_are_of_300_to_3000_bytes_and_the_first_is_as_large_as_it_says() {
        assert_eq!((image(0), image_bytes(0) as u64), (FIRST_IMAGE.file.to_owned(), FIRST_IMAGE.bytes));
        assert_eq!((0..IMAGES).map(image_bytes).min(), Some(300));
        assert_eq!((0..IMAGES).map(image_bytes).max(), Some(3000));
    }
}
