//! The response head and the response: the result of a handler, changed by filters.

use crate::content::Content;
use crate::field::FieldSection;
use crate::known::Known;
use crate::status::Status;
use std::sync::Arc;

/// A status and header fields.
///
/// The fields are two sections: a shared one that was prepared beforehand (a cached file's) and this
/// response's own. Changing a shared line costs a copy; adding a line does not.
///
/// The fields do not include those of the connection and the framing (`connection`, `content-length`,
/// `transfer-encoding`, `date`, `server`): the protocol engine writes them.
#[derive(Clone, Debug)]
pub struct ResponseHead {
    status: Status,
    /// The content is a text that the server wrote, not yet converted to another form.
    generated: bool,
    /// The engine adds no `date`.
    dateless: bool,
    shared: Option<Arc<FieldSection>>,
    /// Boxed, since a head is moved between layers and most have no lines of their own.
    own: Option<Box<FieldSection>>,
}

impl ResponseHead {
    /// A head without fields.
    pub fn new(status: Status) -> Self {
        Self { status, generated: false, dateless: false, shared: None, own: None }
    }

    /// A head whose fields were prepared beforehand.
    pub fn with_shared(status: Status, shared: Arc<FieldSection>) -> Self {
        Self { status, generated: false, dateless: false, shared: Some(shared), own: None }
    }

    /// The status.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Whether the content is a short text that the server itself has written, and which may still take another form.
    pub fn is_generated(&self) -> bool {
        self.generated
    }

    /// Sets whether it is.
    pub fn set_generated(&mut self, generated: bool) {
        self.generated = generated;
    }

    /// Changes the status.
    pub fn set_status(&mut self, status: Status) {
        self.status = status;
    }

    /// Leaves it without a `date`, unless it has one.
    pub fn omit_date(&mut self) {
        self.dateless = true;
    }

    /// Whether it stays without a `date`.
    pub fn omits_date(&self) -> bool {
        self.dateless
    }

    /// The sections in the order in which they are sent.
    pub fn sections(&self) -> impl Iterator<Item = &FieldSection> {
        self.shared.as_deref().into_iter().chain(self.own.as_deref())
    }

    /// The section prepared beforehand, and this response's own.
    pub fn parts(&self) -> (Option<&Arc<FieldSection>>, Option<&FieldSection>) {
        (self.shared.as_ref(), self.own.as_deref())
    }

    /// Removes all fields and keeps the memory: for clients that read one response after another.
    pub fn clear(&mut self) {
        self.dateless = false;
        self.shared = None;
        if let Some(own) = &mut self.own {
            own.clear();
        }
    }

    /// All field lines in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.sections().flat_map(FieldSection::iter)
    }

    /// Value of the first line of a known name.
    pub fn get(&self, known: Known) -> Option<&[u8]> {
        self.sections().find_map(|s| s.get(known))
    }

    /// Value of the first line of any name, whatever its case.
    pub fn get_named(&self, name: &[u8]) -> Option<&[u8]> {
        self.sections().find_map(|s| s.get_named(name))
    }

    /// Adds a line at the end.
    pub fn append(&mut self, name: &[u8], value: &[u8]) {
        self.own.get_or_insert_default().append(name, value);
    }

    /// Removes every line of that name. Returns whether there was one.
    pub fn remove(&mut self, name: &[u8]) -> bool {
        self.get_named(name).is_some() && self.own_all().remove(name)
    }

    /// Replaces every line of that name by this one.
    pub fn set(&mut self, name: &[u8], value: &[u8]) {
        self.remove(name);
        self.append(name, value);
    }

    /// This response's own fields, whose memory may be reused for another response.
    pub fn into_own(self) -> Option<Box<FieldSection>> {
        self.own
    }

    /// Its own fields are these from now on: memory of another response's, mostly.
    pub fn set_own(&mut self, own: Box<FieldSection>) {
        self.own = Some(own);
    }

    /// All fields as this response's own, the shared ones copied first, so that they can be changed.
    pub fn own_all(&mut self) -> &mut FieldSection {
        if let Some(shared) = self.shared.take() {
            let mut all = FieldSection::clone(&shared);
            self.own.iter().flat_map(|own| own.lines()).for_each(|line| all.append_line(line));
            self.own = Some(Box::new(all));
        }
        self.own.get_or_insert_default()
    }
}

/// The response to a request.
#[derive(Debug)]
pub struct Response {
    /// Status and fields.
    pub head: ResponseHead,
    /// What follows the head. For HEAD requests, the content of the corresponding GET: the engine sends its
    /// length but not the bytes (RFC 9110 §9.3.2).
    pub content: Content,
}

impl Response {
    /// A response without content.
    pub fn empty(status: Status) -> Self {
        Self { head: ResponseHead::new(status), content: Content::Empty }
    }

    /// A short `text/plain` response.
    pub fn text(status: Status, text: impl Into<Vec<u8>>) -> Self {
        let mut head = ResponseHead::new(status);
        head.append(b"content-type", b"text/plain; charset=utf-8");
        Self { head, content: Content::from(text.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_fields_are_copied_only_when_one_of_them_changes() {
        let mut shared = FieldSection::default();
        shared.append(b"etag", b"\"1\"");
        let shared = Arc::new(shared);
        let mut head = ResponseHead::with_shared(Status::OK, Arc::clone(&shared));
        head.append(b"x-a", b"1");
        head.remove(b"not-there");
        assert_eq!(Arc::strong_count(&shared), 2);
        head.set(b"ETag", b"\"2\"");
        assert_eq!(Arc::strong_count(&shared), 1);
        let lines: Vec<_> = head.iter().collect();
        assert_eq!(lines, [(&b"x-a"[..], &b"1"[..]), (b"ETag", b"\"2\"")]);
        assert_eq!(head.get(Known::ETag), Some(&b"\"2\""[..]));
    }
}
