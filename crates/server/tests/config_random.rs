//! Random configurations are either loaded or rejected, and never cause a panic.

use hayami_server::effective;
use hayami_server::features::load_text;
use proptest::prelude::*;

/// Loads `text` and generates all texts about it.
fn try_out(text: &str) {
    match load_text("random.conf", text) {
        Ok(loaded) => {
            loaded.warnings_text(true);
            effective::text(&loaded, true);
        }
        Err(errors) => assert!(!errors.text(true).is_empty()),
    }
}

/// Random sequences of pieces of configurations.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "listen",
        "hosts",
        "paths",
        "file.dir",
        "stash",
        "num-threads",
        "header.add",
        "strict-match",
        "default",
        "/",
        ": ",
        ":",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "\n",
        "\n  ",
        "\n    ",
        "\n      ",
        "&a ",
        "*a",
        "<<: ",
        "!env PATH",
        "!file x",
        "!file *",
        "!!str ",
        "! ",
        "'",
        "\"",
        "\\",
        "|",
        ">",
        "#",
        "%",
        "?",
        "~",
        "\t",
        "\r",
        "---\n",
        "80",
        "ON",
        "é",
        "\u{feff}",
        "\0",
        "*.example.org",
        "[::1]:80",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn random_text_is_read_or_refused(text in ".{0,200}") {
        try_out(&text);
    }

    #[test]
    fn random_lines_are_read_or_refused(text in pieces()) {
        try_out(&text);
    }

    #[test]
    fn a_configuration_with_a_piece_changed_is_read_or_refused(at in 0usize..900, piece in pieces()) {
        let whole = include_str!("../../../fixtures/config/effective.conf");
        let (mut start, mut end) = (at.min(whole.len()), (at + 7).min(whole.len()));
        while !whole.is_char_boundary(start) { start -= 1; }
        while !whole.is_char_boundary(end) { end -= 1; }
        try_out(&format!("{}{piece}{}", &whole[..start], &whole[end..]));
    }
}
