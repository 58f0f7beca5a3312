//! Conditions, ranges and codings of a file.

use super::*;
use std::fs::{File, FileTimes};
use std::time::SystemTime;

fn site(change: impl FnOnce(&mut Settings)) -> Site {
    let fill = |dir: &Scratch| {
        dir.write("a.txt", "0123456789");
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let file = File::options().write(true).open(dir.path("a.txt")).unwrap();
        file.set_times(FileTimes::new().set_modified(then)).unwrap();
    };
    Site::new(fill, change)
}

const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

#[test]
fn conditions_are_evaluated_in_the_order_of_the_rfc() {
    let site = site(|_| {});
    let etag = field(&site.get("/a.txt").unwrap(), "etag").unwrap();
    assert_eq!(etag, format!("\"{:x}-a\"", 784_111_777_u64 * 1_000_000_000));
    let earlier = "Sun, 06 Nov 1994 08:49:36 GMT";
    let weak = format!("W/{etag}");
    let cases: [(&[(&str, &str)], u16); 10] = [
        (&[("if-none-match", &etag)], 304),
        (&[("if-none-match", &weak)], 304),
        (&[("if-none-match", "*")], 304),
        (&[("if-none-match", "\"x\""), ("if-modified-since", DATE)], 200),
        (&[("if-modified-since", DATE)], 304),
        (&[("if-modified-since", earlier)], 200),
        (&[("if-match", "\"x\"")], 412),
        (&[("if-match", &etag), ("if-none-match", &etag)], 304),
        (&[("if-unmodified-since", earlier)], 412),
        (&[("if-match", "*"), ("if-unmodified-since", earlier)], 200),
    ];
    for (fields, status) in cases {
        for method in ["GET", "HEAD"] {
            let response = site.ask(method, "/a.txt", fields).unwrap();
            assert_eq!(response.head.status().code(), status, "{method} {fields:?}");
        }
    }
    let response = site.ask("GET", "/a.txt", &[("if-none-match", &etag)]).unwrap();
    let lines: Vec<_> = response.head.iter().collect();
    assert_eq!(lines, [(&b"etag"[..], etag.as_bytes())]);
    assert!(response.content.is_empty());
}

#[test]
fn ranges_are_cut_from_memory_and_from_files() {
    for max_file_size in [0, 100] {
        let site = site(|s| s.max_file_size = max_file_size);
        let cases = [
            ("bytes=0-3", 206, Some("bytes 0-3/10"), "0123"),
            ("bytes=8-", 206, Some("bytes 8-9/10"), "89"),
            ("bytes=-3", 206, Some("bytes 7-9/10"), "789"),
            ("bytes=0-3,2-5", 206, Some("bytes 0-5/10"), "012345"),
            ("bytes=10-", 416, Some("bytes */10"), "Range Not Satisfiable\n"),
            ("lines=1-2", 200, None, "0123456789"),
            ("bytes=x", 200, None, "0123456789"),
        ];
        for (range, status, content_range, text) in cases {
            let response = site.ask("GET", "/a.txt", &[("range", range)]).unwrap();
            let got = shape(&response, &["content-range"]);
            assert_eq!(got, (status, vec![content_range.map(String::from)]), "{range}");
            assert_eq!(text_of(response.content), text, "{range}");
        }
        // RFC 9110 §14.2
        assert_eq!(site.ask("HEAD", "/a.txt", &[("range", "bytes=0-3")]).unwrap().head.status(), Status::OK);
    }
}

#[test]
fn several_ranges_come_as_multipart() {
    let site = site(|_| {});
    let response = site.ask("GET", "/a.txt", &[("range", "bytes=0-1,4-5")]).unwrap();
    assert_eq!(response.head.status(), Status::PARTIAL_CONTENT);
    assert_eq!(field(&response, "content-range"), None);
    let media_type = field(&response, "content-type").unwrap();
    let boundary = media_type.strip_prefix("multipart/byteranges; boundary=").unwrap().to_owned();
    let part = |range: &str, text: &str| {
        format!(
            "--{boundary}\r\ncontent-type: text/plain\r\ncontent-range: bytes {range}/10\r\n\r\n{text}\r\n"
        )
    };
    let want = format!("{}{}--{boundary}--\r\n", part("0-1", "01"), part("4-5", "45"));
    assert_eq!(response.content.len(), Some(want.len() as u64));
    assert_eq!(text_of(response.content), want);
    let again = site.ask("GET", "/a.txt", &[("range", "bytes=0-1,4-5")]).unwrap();
    assert_ne!(field(&again, "content-type").unwrap(), media_type);
}

#[test]
fn if_range_decides_between_the_part_and_the_whole() {
    let site = site(|_| {});
    let etag = field(&site.get("/a.txt").unwrap(), "etag").unwrap();
    let cases = [(&*etag, 206), ("\"x\"", 200), (DATE, 206), ("Sun, 06 Nov 1994 08:49:38 GMT", 200)];
    for (if_range, status) in cases {
        let response = site.ask("GET", "/a.txt", &[("range", "bytes=0-1"), ("if-range", if_range)]).unwrap();
        assert_eq!(response.head.status().code(), status, "{if_range}");
    }
}

/// `hello hello hello …` in gzip.
fn gzip(text: &str) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn the_client_chooses_among_precompressed_variants() {
    let fill = |dir: &Scratch| {
        dir.write("a.css", "plain");
        dir.write("a.css.gz", "gzip");
        dir.write("a.css.br", "brotli");
        dir.write("a.css.zst", "zstd");
        dir.write("only.css", "plain");
    };
    let on = Site::new(fill, |s| s.send_compressed = SendCompressed::On);
    let off = Site::new(fill, |_| {});
    let cases = [
        (None, None, "plain"),
        (Some("gzip"), Some("gzip"), "gzip"),
        (Some("gzip, br"), Some("br"), "brotli"),
        (Some("gzip;q=1, br;q=0.5"), Some("gzip"), "gzip"),
        (Some("zstd"), Some("zstd"), "zstd"),
        (Some("deflate"), None, "plain"),
    ];
    let mut tags = Vec::new();
    for (accept, coding, text) in cases {
        let fields: Vec<_> = accept.into_iter().map(|a| ("accept-encoding", a)).collect();
        let response = on.ask("GET", "/a.css", &fields).unwrap();
        let names = ["content-encoding", "content-type", "vary"];
        let want = vec![coding.map(String::from), Some("text/css".into()), Some("accept-encoding".into())];
        assert_eq!(shape(&response, &names), (200, want), "{accept:?}");
        tags.push(field(&response, "etag").unwrap());
        assert_eq!(text_of(response.content), text, "{accept:?}");
        let response = off.ask("GET", "/a.css", &fields).unwrap();
        assert_eq!(shape(&response, &["content-encoding", "vary"]), (200, vec![None, None]));
    }
    assert_eq!((&tags[0], tags[1] != tags[2], tags[1] != tags[0]), (&tags[5], true, true));
    let not_modified =
        on.ask("GET", "/a.css", &[("accept-encoding", "br"), ("if-none-match", &tags[2])]).unwrap();
    assert_eq!(shape(&not_modified, &["vary"]), (304, vec![Some("accept-encoding".into())]));
    assert_eq!(field(&on.get("/only.css").unwrap(), "vary").unwrap(), "accept-encoding");
}

#[test]
fn gunzip_unpacks_what_is_there_in_gzip_only() {
    let small = "hello ".repeat(100);
    let large = "hello ".repeat(200_000);
    let fill = |dir: &Scratch| {
        dir.write("small.txt.gz", gzip(&small));
        dir.write("large.txt.gz", gzip(&large));
        dir.write("broken.txt.gz", "not gzip");
    };
    for max_file_size in [0, 64 << 10] {
        let site = Site::new(fill, |s| {
            s.send_compressed = SendCompressed::Gunzip;
            s.max_file_size = max_file_size;
        });
        for (path, text) in [("/small.txt", &small), ("/large.txt", &large)] {
            let packed = site.ask("GET", path, &[("accept-encoding", "gzip")]).unwrap();
            let names = ["content-encoding", "content-type"];
            assert_eq!(shape(&packed, &names), (200, vec![Some("gzip".into()), Some("text/plain".into())]));
            let unpacked = site.get(path).unwrap();
            assert_eq!(shape(&unpacked, &names), (200, vec![None, Some("text/plain".into())]));
            assert_ne!(field(&packed, "etag"), field(&unpacked, "etag"));
            assert_eq!(text_of(unpacked.content), *text);
        }
    }
    let site = Site::new(fill, |s| s.send_compressed = SendCompressed::On);
    assert!(site.get("/small.txt").is_none());
}
