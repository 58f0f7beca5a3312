//! Frequently requested open files: their content is kept in memory for connections that copy it anyway.
//!
//! Over cleartext TCP with HTTP/1.1, `sendfile` copies nothing, and nothing is gained. TLS and the frames of HTTP/2
//! pass content through this process: there a copy in memory saves a read for each piece of each response.

use super::cache::FileCache;
use super::entry::{Body, Entry, OpenFile};
use super::load;
use crate::handler::Exchange;
use hayami_http::{Content, Response, Version};
use std::rc::Rc;
use std::sync::Arc;

/// The request that makes the copy. A file that is requested once or twice is not worth it.
const OFTEN: u8 = 3;
/// If the copy cannot be made then, the next attempt is after this many more requests.
const RETRY: u8 = 16;

/// Whether file content for this client is copied on its way.
#[inline]
fn is_copied(exchange: &Exchange<'_>) -> bool {
    exchange.connection.tls.is_some() || exchange.head.version() >= Version::Http2
}

/// Replaces the content by the copy in memory, if there is one or one can be made now. Does nothing unless `response`
/// is a piece of one of the entry's files.
#[inline]
pub(super) fn answer_from_memory(
    exchange: &Exchange<'_>,
    entry: &Rc<Entry>,
    (files, handler, key): (&FileCache, u32, &[u8]),
    most: u64,
    response: &mut Response,
) {
    let Content::File(slice) = &response.content else { return };
    if slice.len > most || !is_copied(exchange) {
        return;
    }
    let of_slice = |body: &Body| matches!(body, Body::File(open) if Arc::ptr_eq(&open.file, &slice.file));
    let bodies = entry.representations().iter().map(|representation| &representation.body);
    let Some(Body::File(open)) = bodies.into_iter().find(|body| of_slice(body)) else { return };
    let is_copied = open.copy.get().is_some()
        || open.len <= most && is_time(open) && make_copy(open, entry, (files, handler, key));
    if is_copied && let Some(copy) = open.copy.get() {
        response.content = Content::Shared(copy.slice(slice.offset as usize, slice.len as usize));
    }
}

/// Counts a request for a file; returns whether it is time to copy it.
fn is_time(open: &OpenFile) -> bool {
    open.asked.set((open.asked.get() + 1) % RETRY);
    open.asked.get() == OFTEN
}

/// Copies a file to memory, if that blocks nothing and there is room.
#[cold]
fn make_copy(open: &OpenFile, entry: &Rc<Entry>, (files, handler, key): (&FileCache, u32, &[u8])) -> bool {
    if !files.has_room_for_copy(open.len) {
        return false;
    }
    let Some(copy) = load::at_hand(&open.file, open.len) else { return false };
    files.count_copy(&copy);
    files.grow(handler, key, entry, || open.copy.set(copy).is_ok())
}
