//! Frequently requested open files are served from memory where content is copied anyway.

use super::*;

/// A site that keeps files of up to 10 bytes in memory, and of up to 100 once they are requested often.
fn site(version: Version) -> Site {
    let fill = |dir: &Scratch| {
        dir.write("half", "0123456789".repeat(5));
        dir.write("large", "0123456789".repeat(11));
    };
    let site = Site::new(fill, |settings| {
        settings.max_file_size = 10;
        settings.max_frequent_file_size = 100;
    });
    site.version.set(version);
    site
}

/// Whether each of `count` responses came from memory.
fn from_memory(site: &Site, path: &str, count: usize) -> Vec<bool> {
    let one = |_| {
        let content = site.get(path).expect("it is there").content;
        let memory = matches!(content, Content::Shared(_));
        assert_eq!(text_of(content).len() % 10, 0);
        memory
    };
    (0..count).map(one).collect()
}

#[test]
fn a_file_is_copied_to_memory_when_it_is_asked_for_often() {
    let site = site(Version::Http2);
    assert_eq!(from_memory(&site, "/half", 6), [false, false, false, true, true, true]);
    let response = site.ask("GET", "/half", &[("range", "bytes=8-11")]).expect("it is there");
    assert!(matches!(response.content, Content::Shared(_)));
    assert_eq!(text_of(response.content), "8901");
}

#[test]
fn what_leaves_by_sendfile_or_is_too_large_is_not_copied() {
    assert_eq!(from_memory(&site(Version::Http11), "/half", 6), [false; 6]);
    assert_eq!(from_memory(&site(Version::Http2), "/large", 6), [false; 6]);
}

#[test]
fn a_copy_does_not_outlive_a_change_of_its_file() {
    let site = site(Version::Http2);
    from_memory(&site, "/half", 6);
    site.dir.write("half", "abcdefghij".repeat(3));
    site.wait();
    assert_eq!(site.text("/half"), (200, "abcdefghij".repeat(3)));
    // A file that became shorter since it was opened is not copied.
    std::fs::File::options().write(true).open(site.dir.path("half")).unwrap().set_len(20).unwrap();
    for _ in 0..3 {
        let content = site.get("/half").expect("it is there").content;
        assert!(matches!(content, Content::File(slice) if slice.len == 30));
    }
}

#[test]
fn clients_that_take_their_time_do_not_make_copies_grow_without_bound() {
    let cache = FileCache::new(&CacheSettings { size: 4 << 20, descriptors: 64 }, 1);
    let copies: Vec<Shared> = (0..4).map(|_| Shared::from(vec![0; 1 << 20])).collect();
    for copy in &copies {
        assert!(cache.has_room_for_copy(1 << 20));
        cache.count_copy(copy);
    }
    assert!(!cache.has_room_for_copy(1));
    drop(copies);
    assert!(cache.has_room_for_copy(4 << 20), "what is no longer sent does not count");
}
