//! Listing
use super::root::Root;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
pub(super) fn page(
    _opened: OwnedFd,
    _root: &Root,
    _directory: &[u8],
    _shown: &[u8],
) -> Result<Vec<u8>, Errno> {
    Ok(Vec::new())
}
