//! Parts of files, and conditions: RFC 9110 §13 and §14.

use crate::support::{Answer, Scratch, Server};

const DIGITS: &str = "0123456789";

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/ten", DIGITS).write("site/empty", "").write("site/large", DIGITS.repeat(300_000));
    dir
}

fn ranged(server: &Server, range: &str) -> Answer {
    server.get_with("/ten", &format!("Range: {range}\r\n"))
}

#[test]
fn one_range_is_a_part_with_its_place() {
    let dir = site();
    let server = Server::site(&dir, "");
    let cases = [
        ("bytes=0-0", "0", "0-0"),
        ("bytes=2-4", "234", "2-4"),
        ("bytes=7-", "789", "7-9"),
        ("bytes=-2", "89", "8-9"),
        ("bytes=-99", DIGITS, "0-9"),
        ("bytes=5-99999999999999999999999", "56789", "5-9"),
        ("Bytes=1-1", "1", "1-1"),
        ("bytes=0-4,5-9", DIGITS, "0-9"),
    ];
    for (range, text, place) in cases {
        let answer = ranged(&server, range);
        assert_eq!((answer.status, answer.text().as_str()), (206, text), "{range}");
        assert_eq!(answer.field("content-range"), Some(format!("bytes {place}/10").as_str()), "{range}");
    }
    assert_eq!(server.get("/ten").field("accept-ranges"), Some("bytes"));
}

#[test]
fn several_ranges_are_parts_of_a_multipart() {
    let dir = site();
    let server = Server::site(&dir, "");
    for (target, times) in [("/ten", 1), ("/large", 300_000)] {
        let answer = server.get_with(target, "Range: bytes=0-1,4-5,-1\r\n");
        assert_eq!(answer.status, 206);
        assert_eq!(answer.field("content-range"), None);
        let media_type = answer.field("content-type").expect("a type");
        let boundary = media_type.strip_prefix("multipart/byteranges; boundary=").expect("byteranges");
        let text = answer.text();
        let parts: Vec<_> = text.split(&format!("--{}", boundary.trim_matches('"'))).collect();
        assert_eq!(parts.len(), 5, "{text}");
        assert!(parts[4].starts_with("--"), "{text}");
        let whole = DIGITS.len() * times;
        let wanted = [("0-1", "01"), ("4-5", "45"), (&format!("{0}-{0}", whole - 1), "9")];
        for (part, (place, content)) in parts[1..4].iter().zip(wanted) {
            let (head, found) = part.split_once("\r\n\r\n").expect("a head");
            assert!(
                head.to_ascii_lowercase().contains(&format!("content-range: bytes {place}/{whole}")),
                "{head}"
            );
            assert_eq!(found.trim_end_matches("\r\n"), content);
        }
    }
}

#[test]
fn ranges_that_are_not_there_are_416() {
    let dir = site();
    let server = Server::site(&dir, "");
    for range in ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999-"] {
        let answer = ranged(&server, range);
        assert_eq!((answer.status, answer.field("content-range")), (416, Some("bytes */10")), "{range}");
    }
    assert_eq!(server.get_with("/empty", "Range: bytes=0-\r\n").status, 416);
}

#[test]
fn ranges_that_do_not_count_or_cost_too_much_bring_the_whole() {
    let dir = site();
    let server = Server::site(&dir, "");
    let many = format!("bytes={}", (0..200).map(|n| format!("{n}-{n},")).collect::<String>());
    let overlapping = format!("bytes={}", "0-,".repeat(500));
    for range in ["bytes=4-2", "bytes=a-b", "items=0-1", "bytes=", "bytes=0-1;3", &many, &overlapping] {
        let answer = ranged(&server, range);
        assert_eq!((answer.status, answer.text().as_str()), (200, DIGITS), "{range}");
    }
    let mut client = server.connect();
    client.send("HEAD /ten HTTP/1.1\r\nHost: a\r\nRange: bytes=0-1\r\n\r\n");
    assert_eq!(client.answer_to_head().status, 200, "Range is for GET (RFC 9110 §14.2)");
}

#[test]
fn validators_are_sent_and_compared() {
    let dir = site();
    let server = Server::site(&dir, "");
    let plain = server.get("/ten");
    let tag = plain.field("etag").expect("a tag").to_owned();
    let date = plain.field("last-modified").expect("a date").to_owned();
    assert!(tag.starts_with('"') && tag.ends_with('"'), "a strong tag: {tag}");
    let (old, new) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Thu, 31 Dec 2099 23:59:59 GMT");
    let cases = [
        (format!("If-None-Match: {tag}"), 304),
        (format!("If-None-Match: W/{tag}"), 304),
        (format!("If-None-Match: \"other\", {tag}"), 304),
        ("If-None-Match: *".to_owned(), 304),
        ("If-None-Match: \"other\"".to_owned(), 200),
        (format!("If-Modified-Since: {date}"), 304),
        (format!("If-Modified-Since: {old}"), 200),
        (format!("If-Modified-Since: {new}"), 304),
        ("If-Modified-Since: nonsense".to_owned(), 200),
        // RFC 9110 §13.2.2: the tag goes before the date.
        (format!("If-None-Match: \"other\"\r\nIf-Modified-Since: {date}"), 200),
        (format!("If-None-Match: {tag}\r\nIf-Modified-Since: {old}"), 304),
        (format!("If-Match: {tag}"), 200),
        ("If-Match: *".to_owned(), 200),
        ("If-Match: \"other\"".to_owned(), 412),
        (format!("If-Match: W/{tag}"), 412),
        (format!("If-Unmodified-Since: {old}"), 412),
        (format!("If-Unmodified-Since: {date}"), 200),
        (format!("If-Match: {tag}\r\nIf-Unmodified-Since: {old}"), 200),
        (format!("If-Match: {tag}\r\nIf-None-Match: {tag}"), 304),
    ];
    for (lines, status) in cases {
        let answer = server.get_with("/ten", &format!("{lines}\r\n"));
        assert_eq!(answer.status, status, "{lines}");
        if status == 304 {
            assert_eq!(answer.field("etag"), Some(tag.as_str()), "{lines}");
            assert_eq!(answer.field("content-length"), None, "{lines}");
        }
    }
}

#[test]
fn if_range_joins_parts_of_one_file_only() {
    let dir = site();
    let server = Server::site(&dir, "");
    let plain = server.get("/ten");
    let tag = plain.field("etag").expect("a tag").to_owned();
    let cases = [
        (tag.clone(), 206),
        (format!("W/{tag}"), 200),
        ("\"other\"".to_owned(), 200),
        ("Sun, 06 Nov 1994 08:49:37 GMT".to_owned(), 200),
        ("nonsense".to_owned(), 200),
    ];
    for (validator, status) in cases {
        let answer = server.get_with("/ten", &format!("Range: bytes=0-1\r\nIf-Range: {validator}\r\n"));
        assert_eq!(answer.status, status, "{validator}");
    }
}

#[test]
fn tags_can_be_switched_off() {
    let dir = site();
    let server = Server::site(&dir, "file.etag: OFF");
    let answer = server.get("/ten");
    assert_eq!(answer.field("etag"), None);
    let date = answer.field("last-modified").expect("a date").to_owned();
    assert_eq!(server.get_with("/ten", &format!("If-Modified-Since: {date}\r\n")).status, 304);
}

#[test]
fn a_changed_file_has_another_tag() {
    let dir = site();
    let server = Server::site(&dir, "file.cache.revalidate: 0");
    let before = server.get("/ten").field("etag").expect("a tag").to_owned();
    dir.replace("site/ten", "abcdefghij");
    let after = server.get_with("/ten", &format!("If-None-Match: {before}\r\n"));
    assert_eq!((after.status, after.text().as_str()), (200, "abcdefghij"));
    assert_ne!(after.field("etag"), Some(before.as_str()));
}

#[test]
fn expires_says_how_long_a_file_may_be_kept() {
    let dir = site();
    let cases = [("5 seconds", Some("max-age=5")), ("1 day", Some("max-age=86400")), ("OFF", None)];
    for (text, value) in cases {
        let server = Server::site(&dir, &format!("expires: {text}"));
        assert_eq!(server.get("/ten").field("cache-control"), value, "{text}");
        assert_eq!(server.get("/none").field("cache-control"), None, "not for errors");
    }
}
