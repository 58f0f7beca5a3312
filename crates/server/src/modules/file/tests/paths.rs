//! Which file a path maps to, and the responses if there is none.

use super::*;
use crate::modules::file;

#[test]
fn paths_lead_to_files_indexes_redirects_and_nothing() {
    let fill = |dir: &Scratch| {
        dir.write("a.html", "a");
        dir.folder("sub/index.html");
        dir.folder("with");
        dir.write("with/index.htm", "htm");
        dir.write("with/index.txt", "txt");
        dir.folder("without");
        dir.folder("na me%");
        dir.fifo("pipe");
    };
    let site = Site::new(fill, |_| {});
    let long = format!("/{}", "x".repeat(300));
    let very_long = format!("/{}", "x/".repeat(3000));
    let cases = [
        ("/a.html", (200, None)),
        ("/a.html/", (404, None)),
        ("/a.html/b", (404, None)),
        ("/A.html", (404, None)),
        ("/missing", (404, None)),
        ("/with", (301, Some("/with/"))),
        ("/with?a=b&c", (301, Some("/with/?a=b&c"))),
        ("/with/", (200, None)),
        ("/without/", (404, None)),
        ("/sub/", (301, Some("/sub/index.html/"))),
        ("/na me%", (301, Some("/na%20me%25/"))),
        ("/pipe", (403, None)),
        (&long, (404, None)),
        (&very_long, (404, None)),
    ];
    for round in ["from disk", "from the cache"] {
        for (path, (status, location)) in &cases {
            let response = site.get(path);
            let got =
                response.as_ref().map_or((404, None), |r| (r.head.status().code(), field(r, "location")));
            assert_eq!(got, (*status, location.map(String::from)), "{path} {round}");
        }
    }
    assert_eq!(site.text("/with/"), (200, "htm".into()));
}

#[test]
fn a_redirect_never_names_another_host() {
    let site = Site::new(|dir| dir.folder("evil.example"), |_| {});
    for path in ["//evil.example", "/\\evil.example", "///evil.example"] {
        let location = site.ask_below("GET", path, 1, &[]).and_then(|r| field(&r, "location"));
        if let Some(location) = location {
            assert!(
                location.starts_with('/') && !location[1..].starts_with(['/', '\\']),
                "{path}: {location}"
            );
        }
    }
    assert_eq!(
        field(&site.ask_below("GET", "//evil.example", 1, &[]).unwrap(), "location").unwrap(),
        "/evil.example/"
    );
}

#[test]
fn the_prefix_is_not_part_of_the_file() {
    let site = Site::new(
        |dir| {
            dir.write("a", "a");
            dir.write("index.html", "i")
        },
        |_| {},
    );
    let cases = [
        ("/pre", 4, 301, "Moved Permanently\n"),
        ("/pre/", 4, 200, "i"),
        ("/pre/", 5, 200, "i"),
        ("/pre/a", 4, 200, "a"),
        ("/pre/a", 5, 200, "a"),
        ("/", 1, 200, "i"),
    ];
    for (path, below, status, text) in cases {
        let response = site.ask_below("GET", path, below, &[]).unwrap();
        assert_eq!(
            (response.head.status().code(), &*text_of(response.content)),
            (status, text),
            "{path} {below}"
        );
    }
}

#[test]
fn files_know_three_methods() {
    let site = Site::new(
        |dir| {
            dir.write("a", "abc");
            dir.folder("d")
        },
        |_| {},
    );
    for path in ["/a", "/d"] {
        for (method, status) in
            [("OPTIONS", 200), ("POST", 405), ("DELETE", 405), ("TRACE", 405), ("BREW", 405)]
        {
            let response = site.ask(method, path, &[]).unwrap();
            assert_eq!(
                shape(&response, &["allow"]),
                (status, vec![Some("GET, HEAD, OPTIONS".into())]),
                "{method}"
            );
        }
    }
    let head = site.ask("HEAD", "/a", &[]).unwrap();
    assert_eq!((head.head.status(), head.content.len()), (Status::OK, Some(3)));
    assert!(site.ask("POST", "/missing", &[]).is_none());
}

#[test]
fn the_fields_of_a_file_tell_its_type_time_and_tag() {
    let site = Site::new(
        |dir| {
            dir.write("a.html", "abc");
            dir.write("b", "")
        },
        |_| {},
    );
    let response = site.get("/a.html").unwrap();
    let names: Vec<_> = response.head.iter().map(|(name, _)| String::from_utf8_lossy(name)).collect();
    assert_eq!(names, ["content-type", "last-modified", "etag", "accept-ranges"]);
    assert_eq!(response.head.get(Known::ContentType), Some(&b"text/html"[..]));
    assert_eq!(field(&site.get("/b").unwrap(), "content-type").unwrap(), "application/octet-stream");
    let site = Site::new(|dir| dir.write("a.html", "abc"), |s| s.etag = false);
    assert_eq!(field(&site.get("/a.html").unwrap(), "etag"), None);
}

#[test]
fn large_files_stay_open_and_small_ones_do_not() {
    let fill = |dir: &Scratch| {
        dir.write("small", [b's'; 100]);
        dir.write("large", [b'l'; 101])
    };
    let site = Site::new(fill, |s| s.max_file_size = 100);
    assert!(matches!(site.get("/small").unwrap().content, Content::Shared(_)));
    assert!(matches!(site.get("/large").unwrap().content, Content::File(_)));
    assert_eq!(site.text("/large").1, "l".repeat(101));
}

#[test]
fn a_single_file_answers_every_path_below_its_prefix() {
    let dir = Scratch::new();
    dir.write("app.html", "app");
    let site = Site::build(
        dir,
        |_| {},
        |dir, route| build_file(&FileSettings { path: dir.path("app.html") }, route),
    );
    for path in ["/", "/deep/link", "/app.html"] {
        let response = site.get(path).unwrap();
        assert_eq!(field(&response, "content-type").unwrap(), "text/html", "{path}");
        assert_eq!(text_of(response.content), "app", "{path}");
    }
    site.dir.remove("app.html");
    site.wait();
    assert!(site.get("/").is_none());
    site.dir.folder("app.html");
    site.wait();
    assert_eq!(site.text("/").0, 403);
}

#[test]
fn a_root_that_cannot_be_served_is_explained() {
    let dir = Scratch::new();
    dir.write("file", "");
    let paths = [("missing", "create it or correct the path"), ("file", "use file.file"), ("", "")];
    let path = |name: &str| format!("/{name}: {{file.dir: '{}'}}", dir.path(name).display());
    let text = paths.map(|(name, _)| path(name)).join(", ");
    let text = format!("listen: 80\nhosts: {{default: {{paths: {{{text}}}}}}}");
    let loaded = crate::features::load_text("test", &text).unwrap_or_else(|errors| panic!("{errors}"));
    let lines: Vec<_> = unreachable(&loaded.settings).iter().map(Unreachable::fault).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for ((fault, remedy), (name, advice)) in lines.iter().zip(paths) {
        assert!(fault.starts_with(&format!("default, path /{name}: ")), "{fault}");
        assert!(remedy.contains(advice), "{remedy}");
    }
}

#[test]
fn a_directory_without_index_is_listed_if_wanted() {
    let fill = |dir: &Scratch| {
        dir.folder("sub");
        dir.write("sub/one.txt", "1");
        dir.folder("indexed");
        dir.write("indexed/index.html", "i");
    };
    let site = Site::new(fill, |s| s.dirlisting = true);
    let response = site.get("/sub/").unwrap();
    assert_eq!(shape(&response, &["content-type"]), (200, vec![Some("text/html; charset=utf-8".into())]));
    assert!(text_of(response.content).contains("./one.txt"));
    assert_eq!(site.ask("GET", "/sub/", &[("range", "bytes=0-1")]).unwrap().head.status(), Status::OK);
    assert_eq!(site.ask("HEAD", "/sub/", &[]).unwrap().head.status(), Status::OK);
    assert_eq!(site.text("/indexed/"), (200, "i".into()));
    assert_eq!(site.get("/sub").unwrap().head.status(), Status::MOVED_PERMANENTLY);
    assert!(site.get("/missing/").is_none());
    site.dir.write("sub/two.txt", "2");
    site.wait();
    assert!(site.text("/sub/").1.contains("./two.txt"));
}

#[test]
fn directives_for_extensions_hold_for_these_files_only() {
    let text = "listen: 80\n\
                hosts:\n  default:\n    paths:\n      /:\n        file.dir: /\n        \
                file.custom-handler: {extension: [.js, .css], header.set: 'x-kind: code'}\n";
    let loaded = crate::features::load_text("test", text).unwrap();
    let inherited = loaded.settings.hosts[0].paths[0].inherited.clone();
    let fill = |dir: &Scratch| {
        dir.write("a.js", "");
        dir.write("a.html", "");
    };
    let site = Site::new(fill, |settings| *settings = inherited.get::<file::Settings>().clone());
    assert_eq!(field(&site.get("/a.js").unwrap(), "x-kind"), Some("code".into()));
    assert_eq!(field(&site.get("/a.html").unwrap(), "x-kind"), None);
}
