//! Changes on disk are noticed when the interval has passed, and not checked for before.

use super::*;
use std::fs::{File, FileTimes};
use std::time::SystemTime;

/// Makes a file look old, so that it is not reloaded because of a recent change.
fn age(dir: &Scratch, name: &str, seconds: u64) {
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let file = File::options().write(true).open(dir.path(name)).unwrap();
    file.set_times(FileTimes::new().set_modified(then)).unwrap();
}

#[test]
fn nothing_is_looked_at_within_the_interval() {
    let site = Site::new(|dir| dir.write("a", "one"), |_| {});
    assert_eq!(site.text("/a"), (200, "one".into()));
    site.dir.write("a", "two");
    site.clock.advance(Duration::from_millis(999));
    assert_eq!(site.text("/a"), (200, "one".into()));
    site.clock.advance(Duration::from_millis(1));
    assert_eq!(site.text("/a"), (200, "two".into()));
}

#[test]
fn with_interval_zero_everything_is_seen_at_once() {
    let site = Site::new(|dir| dir.write("a", "one"), |s| s.revalidate = Duration::ZERO);
    assert_eq!(site.text("/a"), (200, "one".into()));
    site.dir.write("a", "two");
    assert_eq!(site.text("/a"), (200, "two".into()));
}

#[test]
fn every_kind_of_change_is_seen_after_the_interval() {
    type Change = fn(&Scratch);
    let cases: [(&str, Change, (u16, &str)); 8] = [
        (
            "replaced by rename",
            |d| {
                d.write("new", "two");
                d.rename("new", "a")
            },
            (200, "two"),
        ),
        (
            "changed in place, same size, same time",
            |d| {
                d.write("a", "two");
                age(d, "a", 1000)
            },
            (200, "two"),
        ),
        ("truncated", |d| d.write("a", "o"), (200, "o")),
        ("emptied", |d| d.write("a", ""), (200, "")),
        ("grown", |d| d.write("a", "one and more"), (200, "one and more")),
        ("removed", |d| d.remove("a"), (404, "")),
        (
            "made a directory",
            |d| {
                d.remove("a");
                d.folder("a")
            },
            (301, "Moved Permanently\n"),
        ),
        (
            "made a FIFO",
            |d| {
                d.remove("a");
                d.fifo("a")
            },
            (403, "Forbidden\n"),
        ),
    ];
    for (what, change, want) in cases {
        for large in [false, true] {
            let fill = |dir: &Scratch| {
                dir.write("a", "one");
                age(dir, "a", 1000)
            };
            let site = Site::new(fill, |s| {
                if large {
                    s.max_file_size = 0
                }
            });
            assert_eq!(site.text("/a"), (200, "one".into()), "{what}");
            change(&site.dir);
            site.wait();
            assert_eq!(site.text("/a"), (want.0, want.1.into()), "{what}, large: {large}");
        }
    }
}

#[test]
fn a_file_that_changes_twice_within_one_tick_of_the_file_system_is_read_anew() {
    let site = Site::new(|dir| dir.write("a", "one"), |_| {});
    for round in 0..20 {
        let content = format!("{round:03}");
        site.dir.write("a", &content);
        site.wait();
        assert_eq!(site.text("/a"), (200, content));
    }
}

#[test]
fn what_appears_is_seen_after_the_interval() {
    let site = Site::new(|_| {}, |_| {});
    assert_eq!(site.text("/a").0, 404);
    site.dir.write("a", "one");
    assert_eq!(site.text("/a").0, 404);
    site.wait();
    assert_eq!(site.text("/a"), (200, "one".into()));
}

#[test]
fn an_index_that_goes_before_the_one_found_is_seen() {
    let site = Site::new(|dir| dir.write("index.txt", "text"), |_| {});
    assert_eq!(site.text("/"), (200, "text".into()));
    site.dir.write("index.html", "html");
    site.wait();
    assert_eq!(site.text("/"), (200, "html".into()));
    site.dir.remove("index.html");
    site.wait();
    assert_eq!(site.text("/"), (200, "text".into()));
}

#[test]
fn a_variant_that_appears_or_goes_is_seen() {
    let site = Site::new(|dir| dir.write("a.txt", "plain"), |s| s.send_compressed = SendCompressed::On);
    let get = || text_of(site.ask("GET", "/a.txt", &[("accept-encoding", "br")]).unwrap().content);
    assert_eq!(get(), "plain");
    site.dir.write("a.txt.br", "brotli");
    site.wait();
    assert_eq!(get(), "brotli");
    site.dir.remove("a.txt.br");
    site.wait();
    assert_eq!(get(), "plain");
}

#[test]
fn a_site_deployed_by_turning_a_symbolic_link_is_seen_as_a_whole() {
    let dir = Scratch::new();
    for (folder, content) in [("one", "1"), ("two", "2")] {
        dir.folder(folder);
        dir.write(&format!("{folder}/a"), content);
    }
    dir.link("one", "current");
    let site =
        Site::build(dir, |_| {}, |dir, route| build_dir(&DirSettings { path: dir.path("current") }, route));
    assert_eq!(site.text("/a"), (200, "1".into()));
    site.dir.link("two", "next");
    site.dir.rename("next", "current");
    site.wait();
    assert_eq!(site.text("/a"), (200, "2".into()));
    site.dir.remove("current");
    site.wait();
    assert_eq!(site.text("/a").0, 404);
    site.dir.link("one", "current");
    assert_eq!(site.text("/a"), (200, "1".into()), "a root that came back is not waited for");
}

#[test]
fn answers_within_the_interval_share_their_bytes() {
    let site = Site::new(|dir| dir.write("a", "one"), |_| {});
    let address = |r: Option<Response>| match r.unwrap().content {
        Content::Shared(bytes) => bytes.as_slice().as_ptr(),
        other => panic!("{other:?}"),
    };
    let first = site.get("/a");
    let again = address(site.get("/a"));
    assert_eq!(address(first), again);
}
