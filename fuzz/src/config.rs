//! Targets of the configuration. Its author is no enemy, but may be tired.

use hayami_server::effective;
use hayami_server::features::load_text;
use hayami_server::modules::access_log::{Escape, Format};

/// A text is a configuration that can be shown, or has errors that can be shown; twice the same.
pub fn config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if may_include(&text) {
        return;
    }
    match (load_text("fuzz.yaml", &text), load_text("fuzz.yaml", &text)) {
        (Ok(loaded), Ok(again)) => {
            assert_eq!(loaded.warnings_text(true).is_empty(), loaded.warnings.is_empty());
            assert!(!loaded.settings.hosts.is_empty());
            assert_eq!(effective::text(&loaded, true), effective::text(&again, true));
        }
        (Err(errors), Err(again)) => {
            assert!(!errors.errors.is_empty() && errors.text(true).ends_with('\n'));
            assert_eq!(errors.text(false), again.text(false));
        }
        _ => panic!("a text is a configuration only once"),
    }
}

/// Whether reading `text` could open files. With escapes, a tag could be one that it does not look like.
fn may_include(text: &str) -> bool {
    text.contains("!file") || (text.contains('!') && text.contains('%'))
}

/// A format is one for both ways of escaping, or an error of one line for both.
pub fn log_format(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match (Format::new(&text, Escape::Apache), Format::new(&text, Escape::Json)) {
        (Ok(apache), Ok(_)) => assert_eq!(Format::new(&text, Escape::Apache), Ok(apache)),
        (Err(apache), Err(json)) => {
            assert_eq!(apache, json);
            assert!(!apache.is_empty() && (text.contains('\n') || !apache.contains('\n')));
        }
        (one, other) => panic!("escapes differ: {one:?} {other:?}"),
    }
}
