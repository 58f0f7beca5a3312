//! Targets of what is typed: command lines of other load generators, and URLs.

use hayami_load::like::{quoted, split, translate};
use hayami_load::plan::Url;
use hayami_server::config::yaml::Node;
use hayami_server::modules::proxy;

/// Words that are quoted are split into the same words again, those of a line and those of its translation.
pub fn like(bytes: &[u8]) {
    let Ok(line) = std::str::from_utf8(bytes) else { return };
    if let Ok(words) = split(line) {
        assert_eq!(split(&quoted(&words)), Ok(words));
    }
    if let Ok(words) = translate(line) {
        assert!(!words.is_empty());
        assert_eq!(split(&quoted(&words)), Ok(words));
    }
}

/// A URL is what it is when it was put together from its parts. A target fits into a request line; no path holds NUL.
pub fn url(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(url) = Url::parse(text) {
        check(&url);
    }
    if let Ok(url) = proxy::Url::read(&Node::scalar(text)) {
        assert!(!url.shown.contains('\0') && !url.path.chars().any(char::is_control), "{url:?}");
        assert!(url.path.is_empty() || url.path.starts_with('/'), "{url:?}");
        let again = proxy::Url::read(&Node::scalar(&format!("{}{}", url.shown, url.path)));
        assert_eq!(again.ok(), Some(url));
    }
}

fn check(url: &Url) {
    assert!(url.target.starts_with('/'), "{url:?}");
    assert!(url.target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'), "{url:?}");
    assert!(url.same_server(url) && url.port > 0 && !url.host.is_empty());
    if url.unix.is_none() {
        let scheme = if url.secure { "https" } else { "http" };
        let again = Url::parse(&format!("{scheme}://{}{}", url.authority(), url.target));
        assert_eq!(again.as_ref(), Ok(url));
    }
}
