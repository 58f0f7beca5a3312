//! Files: which files of a folder are served, and with which fields.
//!
//! Which file a path names is in `paths`; ranges and conditions are in `ranges`, files that change while they
//! are served in `faults`.

use crate::support::{Client, Scratch, Server, missing, run};

#[test]
fn extensions_tell_the_type() {
    let dir = Scratch::new();
    let cases = [
        ("a.html", "text/html"),
        ("a.css", "text/css"),
        ("a.js", "text/javascript"),
        ("a.json", "application/json"),
        ("a.txt", "text/plain"),
        ("a.svg", "image/svg+xml"),
        ("a.png", "image/png"),
        ("a.JPG", "image/jpeg"),
        ("a.woff2", "font/woff2"),
        ("a.wasm", "application/wasm"),
        ("a.pdf", "application/pdf"),
        ("a.mp4", "video/mp4"),
        ("a.webp", "image/webp"),
        ("a.tar.gz", "application/gzip"),
        ("a.unknown", "application/octet-stream"),
        ("no-extension", "application/octet-stream"),
    ];
    cases.iter().for_each(|(name, _)| _ = dir.write(&format!("site/{name}"), "x"));
    let server = Server::site(&dir, "");
    for (name, media_type) in cases {
        let answer = server.get(&format!("/{name}"));
        let found = answer.field("content-type").unwrap_or_default();
        assert_eq!(found.split(';').next(), Some(media_type), "{name}: {found}");
    }
}

#[test]
fn a_folder_shows_its_index_or_nothing() {
    let dir = Scratch::new();
    dir.write("site/a/index.html", "index").write("site/b/index.txt", "text").write("site/c/x", "x");
    let server = Server::site(&dir, "");
    let cases =
        [("/a/", 200, "index"), ("/b/", 200, "text"), ("/c/", 404, ""), ("/d/", 404, ""), ("/a/x/", 404, "")];
    for (target, status, text) in cases {
        let answer = server.get(target);
        assert_eq!(answer.status, status, "{target}");
        assert!(text.is_empty() || answer.text() == text, "{target}");
    }
    assert_eq!(server.get("/c/x/").status, 404, "a file is no folder");
    let server = Server::site(&dir, "file.index: [x, index.html]");
    assert_eq!((server.get("/c/").text(), server.get("/b/").status), ("x".to_owned(), 404));
}

#[test]
fn precompressed_files_are_sent_to_clients_that_accept_them() {
    let dir = Scratch::new();
    dir.write("site/a.js", "plain")
        .write("site/a.js.br", "brotli")
        .write("site/a.js.gz", "gzip")
        .write("site/a.js.zst", "zstd")
        .write("site/b.js", "b")
        .write("site/b.js.zst", "zstd of b")
        .write("site/b.js.gz", "gzip of b");
    let server = Server::site(&dir, "file.send-compressed: ON");
    let cases = [
        ("", "plain", None),
        ("gzip", "gzip", Some("gzip")),
        ("br, gzip", "brotli", Some("br")),
        ("gzip;q=1, br;q=0.5", "gzip", Some("gzip")),
        ("gzip, br;q=0", "gzip", Some("gzip")),
        ("zstd", "zstd", Some("zstd")),
        ("gzip, zstd", "zstd", Some("zstd")),
        ("gzip, zstd, br", "brotli", Some("br")),
        ("gzip, zstd;q=0.5", "gzip", Some("gzip")),
        ("zstd;q=0", "plain", None),
        ("identity", "plain", None),
        ("gzip;q=0", "plain", None),
        ("*", "brotli", Some("br")),
    ];
    for (accepted, text, coding) in cases {
        let answer = server.get_with("/a.js", &format!("Accept-Encoding: {accepted}\r\n"));
        assert_eq!((answer.text().as_str(), answer.field("content-encoding")), (text, coding), "{accepted}");
        assert_eq!(answer.field("content-type").and_then(|t| t.split(';').next()), Some("text/javascript"));
        assert!(
            answer.field("vary").is_some_and(|v| v.eq_ignore_ascii_case("accept-encoding")),
            "{accepted}"
        );
    }
    let tag = |accepted: &str| {
        let answer = server.get_with("/a.js", &format!("Accept-Encoding: {accepted}\r\n"));
        answer.field("etag").map(str::to_owned).expect("a tag")
    };
    assert_ne!(tag("br"), tag("gzip"), "other bytes, other tag");
    assert_ne!(tag("zstd"), tag("gzip"));
    let both = server.get_with("/b.js", "Accept-Encoding: gzip, br, zstd\r\n");
    assert_eq!((both.text().as_str(), both.field("content-encoding")), ("zstd of b", Some("zstd")));
    let part = server.get_with("/a.js", "Accept-Encoding: zstd\r\nRange: bytes=1-2\r\n");
    assert_eq!(
        (part.status, part.text().as_str(), part.field("content-range")),
        (206, "st", Some("bytes 1-2/4"))
    );
    let server = Server::site(&dir, "");
    assert_eq!(server.get_with("/a.js", "Accept-Encoding: gzip\r\n").text(), "plain", "off by default");
}

#[test]
fn gunzip_unpacks_for_clients_that_do_not_accept_gzip() {
    if missing("gzip") {
        return;
    }
    let dir = Scratch::new();
    dir.write("site/plain.txt", "hello ".repeat(1000));
    run("gzip", &[&dir.text("site/plain.txt")]);
    let server = Server::site(&dir, "file.send-compressed: gunzip");
    assert_eq!(server.get("/plain.txt").text(), "hello ".repeat(1000));
    let zipped = server.get_with("/plain.txt", "Accept-Encoding: gzip\r\n");
    assert_eq!(zipped.field("content-encoding"), Some("gzip"));
    assert!(zipped.content.len() < 200);
}

#[test]
fn listings_escape_every_name() {
    let dir = Scratch::new();
    let names =
        ["<script>.txt", "a&b\"c", "it's", "日本.txt", "line\nbreak", "100%", "a b", "javascript:x", "q?#"];
    names.iter().for_each(|name| _ = dir.write(&format!("site/{name}"), name));
    dir.write("site/.hidden", "x").write("site/folder/x", "x");
    let server = Server::site(&dir, "file.dirlisting: ON");
    let answer = server.get("/");
    let page = answer.text();
    assert_eq!(
        answer.field("content-type").map(str::to_ascii_lowercase).as_deref(),
        Some("text/html; charset=utf-8")
    );
    assert!(!page.contains("<script>"), "{page}");
    assert!(!page.contains(".hidden") && page.contains("folder/"));
    // Every link leads to its file.
    let links: Vec<_> = page.split("<a href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let mut found = 0;
    for link in links.iter().filter(|link| link.starts_with("./") && link.len() > 2) {
        let target =
            link.trim_start_matches("./").replace("&amp;", "&").replace("&#39;", "'").replace("&#x27;", "'");
        if let Some(name) = names.iter().find(|name| server.get(&format!("/{target}")).text() == **name) {
            found += 1;
            assert!(name.len() > 1);
        }
    }
    assert_eq!(found, names.len(), "{page}");
    assert_eq!(server.get("/folder").status, 301);
    assert_eq!(Server::site(&dir, "").get("/").status, 404, "off by default");
}

#[test]
fn media_types_are_changed_by_directives() {
    let dir = Scratch::new();
    dir.write("site/a.html", "x").write("site/a.foo", "x").write("site/a", "x").write("site/a.css", "x");
    let of =
        |server: &Server, name: &str| server.get(name).field("content-type").unwrap_or_default().to_owned();
    let lines = "file.mime.addtypes: {text/x-foo: .foo, \"text/html; charset=latin1\": [.html]}\n\
                 file.mime.removetypes: [.css]\nfile.mime.setdefaulttype: text/x-default";
    let server = Server::site(&dir, lines);
    assert_eq!(of(&server, "/a.foo").split(';').next(), Some("text/x-foo"));
    assert_eq!(of(&server, "/a.html"), "text/html; charset=latin1");
    assert_eq!(of(&server, "/a.css").split(';').next(), Some("text/x-default"));
    assert_eq!(of(&server, "/a").split(';').next(), Some("text/x-default"));
    let server = Server::site(&dir, "file.mime.settypes: {text/x-foo: .foo}");
    assert_eq!(of(&server, "/a.foo").split(';').next(), Some("text/x-foo"));
    assert_eq!(of(&server, "/a.html"), "application/octet-stream");
}

#[test]
fn one_file_answers_for_a_whole_path() {
    let dir = Scratch::new();
    dir.write("site/app.html", "app").write("site/real.txt", "real");
    let text = "hosts: {default: {paths: {/: [{file.dir: DIR/site}, {file.file: DIR/site/app.html}]}}}\n";
    let server = Server::config(&dir, text);
    assert_eq!(server.get("/real.txt").text(), "real");
    for target in ["/", "/users/7", "/none.js", "/a/b/?c"] {
        let answer = server.get(target);
        assert_eq!((answer.status, answer.text().as_str()), (200, "app"), "{target}");
        assert_eq!(answer.field("content-type").and_then(|t| t.split(';').next()), Some("text/html"));
    }
}

#[test]
fn a_large_file_arrives_byte_by_byte() {
    let dir = Scratch::new();
    let mut state = 1_u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(20_000_003)
    .collect();
    dir.write("site/large", &bytes);
    for lines in ["", "file.cache.max-file-size: 0", "file.cache.max-file-size: 16m"] {
        let server = Server::site(&dir, lines);
        assert!(server.get("/large").content == bytes, "{lines}");
        let part = server.get_with("/large", "Range: bytes=9999999-15000000\r\n");
        assert!(part.content == bytes[9_999_999..=15_000_000], "{lines}");
        // Several concurrently, one of them slow.
        let mut clients: Vec<Client> = (0..8).map(|_| server.connect()).collect();
        clients.iter_mut().for_each(|client| _ = client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n"));
        clients.iter_mut().for_each(|client| assert!(client.answer().content == bytes, "{lines}"));
    }
}

#[test]
fn empty_files_and_files_of_every_small_size_arrive() {
    let dir = Scratch::new();
    let sizes = [0, 1, 1459, 1460, 4095, 4096, 4097, 65535, 65536, 65537, 131_072, 1_048_576];
    sizes.iter().for_each(|size| _ = dir.write(&format!("site/{size}"), vec![b'x'; *size]));
    let server = Server::site(&dir, "");
    let mut client = server.connect();
    for size in sizes.iter().chain(&sizes) {
        client.send(format!("GET /{size} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let answer = client.answer();
        assert_eq!((answer.status, answer.content.len()), (200, *size));
    }
}
