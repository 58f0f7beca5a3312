//! The server's own pages for errors: one line of text, or HTML for browsers.
//!
//! Whoever cannot answer makes the text ([`plain`]); the form is chosen when the response leaves ([`negotiate`]). The
//! HTML needs no style: its look is the browser's, light or dark, so it agrees with every Content-Security-Policy.

use hayami_http::{Content, RequestHead, Response, Status};

/// The reason phrase of `status` on a line, with `hint` behind a colon if there is one.
pub fn plain(status: Status, hint: &str) -> Response {
    let separator = if hint.is_empty() { "" } else { ": " };
    let mut response = Response::text(status, format!("{}{separator}{hint}\n", status.reason()));
    response.head.set_generated(true);
    response
}

/// A redirect to `location`, with a short text unless the status forbids it (RFC 9110 §15.4).
pub fn moved(status: Status, location: &[u8]) -> Response {
    let mut response = Response::empty(status);
    response.head.append(b"location", location);
    if !status.forbids_content() {
        response.head.append(b"content-type", b"text/html; charset=utf-8");
        response.content = Content::from(note(location));
    }
    response
}

/// The short note with a link that goes with a redirect (RFC 9110 §15.4.2).
fn note(target: &[u8]) -> Vec<u8> {
    let mut page = b"<!DOCTYPE html>\n<title>Moved</title>\n<p>The page is <a href=\"".to_vec();
    for &byte in target {
        match byte {
            b'&' => page.extend_from_slice(b"&amp;"),
            b'"' => page.extend_from_slice(b"&quot;"),
            b'<' => page.extend_from_slice(b"&lt;"),
            byte => page.push(byte),
        }
    }
    page.extend_from_slice(b"\">here</a>.\n");
    page
}

/// Gives a text of the server's own the form that the client prefers.
#[inline]
pub(super) fn negotiate(request: &RequestHead, response: &mut Response) {
    if response.head.is_generated() && response.head.status().is_error() {
        choose_form(request, response);
    }
}

#[cold]
fn choose_form(request: &RequestHead, response: &mut Response) {
    // RFC 9110 §12.5.5
    response.head.append(b"vary", b"accept");
    let accept = request.fields().get_named(b"accept").unwrap_or_default();
    let Content::Shared(text) = &response.content else { return };
    if accepts_html(accept) {
        let page = html(response.head.status(), &String::from_utf8_lossy(text.as_slice()));
        response.head.set(b"content-type", b"text/html; charset=utf-8");
        response.content = Content::from(page.into_bytes());
    }
}

/// Whether an Accept field names HTML, as those of browsers do; `*/*` of other programs means no HTML in particular.
fn accepts_html(accept: &[u8]) -> bool {
    let mut ranges = accept.split(|byte| *byte == b',');
    ranges.any(|range| {
        let mut parts = range.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let html = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(b"text/html"));
        html && !parts.any(is_zero)
    })
}

/// `q=0`, `q=0.000` (RFC 9110 §12.4.2)
fn is_zero(parameter: &[u8]) -> bool {
    let weight = parameter.strip_prefix(b"q=").or_else(|| parameter.strip_prefix(b"Q="));
    weight.is_some_and(|weight| weight.iter().all(|byte| matches!(byte, b'0' | b'.')))
}

/// The page for a text of [`plain`].
fn html(status: Status, text: &str) -> String {
    let title = format!("{} {}", status.code(), status.reason());
    let hint = text.trim_end().strip_prefix(status.reason()).and_then(|rest| rest.strip_prefix(": "));
    let sentence = hint.map(sentence).unwrap_or_else(|| explanation(status).to_owned());
    let paragraph =
        if sentence.is_empty() { String::new() } else { format!("<p>{}</p>\n", escaped(&sentence)) };
    let title = escaped(title.trim_end());
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n</head>\n<body>\n\
         <h1>{title}</h1>\n{paragraph}</body>\n</html>\n"
    )
}

/// A hint as a sentence of its own.
fn sentence(hint: &str) -> String {
    let mut letters = hint.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(std::iter::once('.')).collect()
}

/// What a status means to somebody who looks at a page.
fn explanation(status: Status) -> &'static str {
    match status.code() {
        401 => "You need a user name and a password to view this page.",
        403 => "You do not have permission to view this page.",
        404 => "The page was not found on this server.",
        405 => "The request method is not supported for this page.",
        410 => "The page is no longer available.",
        429 => "Too many requests. Try again later.",
        500 => "The server encountered an error.",
        502 => "The upstream server returned an invalid response or is unreachable.",
        503 => "The server is busy. Try again later.",
        504 => "The upstream server did not respond in time.",
        507 => "The server has no space for this request. Try again later.",
        _ => "",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;

    /// What becomes of a response for a client that accepts this: its type, and whether it is HTML.
    fn form(accept: &str, mut response: Response) -> (String, String) {
        let mut head = testing::get("/");
        head.fields_mut().append(b"accept", accept.as_bytes());
        negotiate(&head, &mut response);
        let kind = response.head.get_named(b"content-type").unwrap_or_default();
        let Content::Shared(content) = &response.content else { panic!("{response:?}") };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(kind), text(content.as_slice()))
    }

    #[test]
    fn browsers_get_html_and_others_text() {
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";
        for (accept, want) in [
            (browser, true),
            ("application/json, TEXT/HTML;q=0.1", true),
            ("text/html;level=1", true),
            ("*/*", false),
            ("text/*", false),
            ("application/json", false),
            ("text/html;q=0", false),
            ("text/html; q=0.000, */*", false),
            ("text/htmlx", false),
            ("", false),
        ] {
            let (kind, content) = form(accept, plain(Status::NOT_FOUND, ""));
            assert_eq!(kind == "text/html; charset=utf-8", want, "{accept}");
            assert_eq!(content.starts_with("<!DOCTYPE html>"), want, "{accept}");
        }
        // What an application says stays as it is.
        let (kind, content) = form(browser, Response::text(Status::NOT_FOUND, "no"));
        assert_eq!((kind.as_str(), content.as_str()), ("text/plain; charset=utf-8", "no"));
    }

    #[test]
    fn nothing_in_a_location_breaks_out_of_the_link() {
        assert_eq!(note(b"/?a&b\"<"), *b"<!DOCTYPE html>\n<title>Moved</title>\n<p>The page is <a href=\"/?a&amp;b&quot;&lt;\">here</a>.\n");
    }

    #[test]
    fn both_forms_have_one_wording() {
        let hint = "the path holds a <NUL> & more";
        let (_, text) = form("*/*", plain(Status::BAD_REQUEST, hint));
        assert_eq!(text, format!("Bad Request: {hint}\n"));
        let (_, page) = form("text/html", plain(Status::BAD_REQUEST, hint));
        for part in [
            "<title>400 Bad Request</title>",
            "<h1>400 Bad Request</h1>\n<p>The path holds a &lt;NUL&gt; &amp; more.</p>",
            "width=device-width",
            "content=\"light dark\"",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("style"), "{page}");
        let (_, page) = form("text/html", plain(Status::NOT_FOUND, ""));
        assert!(page.contains("<p>The page was not found on this server.</p>"), "{page}");
        let (_, page) = form("text/html", plain(Status::new(599).unwrap(), ""));
        assert!(page.contains("<h1>599</h1>\n</body>"), "{page}");
    }
}
