//! Unreadable files, and exhausted descriptors.

use super::*;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Runs the ignored test `name` of this file in a separate process.
fn in_a_process(name: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", &format!("modules::file::tests::refused::{name}")]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn unreadable_files_are_forbidden() {
    // Root can read everything, so the thread switches to the user nobody. In the kernel, threads have their own user.
    let thread = std::thread::spawn(|| {
        if rustix::process::getuid().is_root() {
            rustix::thread::set_thread_gid(rustix::process::Gid::from_raw(65534)).unwrap();
            rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65534)).unwrap();
        }
        permissions_are_kept();
    });
    thread.join().unwrap();
}

fn permissions_are_kept() {
    let mode = |dir: &Scratch, name: &str, mode: u32| {
        std::fs::set_permissions(dir.path(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    let fill = |dir: &Scratch| {
        dir.write("a", "a");
        dir.folder("closed");
        dir.write("closed/b", "b");
        dir.folder("unlisted");
        dir.write("unlisted/c", "c");
    };
    let site = Site::new(fill, |s| s.dirlisting = true);
    for path in ["/a", "/closed/b", "/unlisted/c", "/unlisted/"] {
        assert_eq!(site.text(path).0, 200, "{path}");
    }
    mode(&site.dir, "a", 0);
    mode(&site.dir, "closed", 0);
    mode(&site.dir, "unlisted", 0o111);
    site.wait();
    let cases =
        [("/a", 403), ("/closed/b", 403), ("/closed", 301), ("/unlisted/c", 200), ("/unlisted/", 403)];
    for round in ["from disk", "from the cache"] {
        for (path, status) in cases {
            assert_eq!(site.text(path).0, status, "{path} {round}");
        }
    }
    mode(&site.dir, "a", 0o600);
    mode(&site.dir, "closed", 0o700);
    mode(&site.dir, "unlisted", 0o700);
    site.wait();
    for (path, _) in [cases[0], cases[1], cases[4]] {
        assert_eq!(site.text(path).0, 200, "{path} again");
    }
}

#[test]
fn descriptors_that_run_out_are_never_a_404() {
    in_a_process("without_descriptors");
}

/// Takes all descriptors except `free` of them, until the result is dropped.
fn hog(free: usize) -> Vec<File> {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = Some(64);
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    let mut taken: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    taken.truncate(taken.len() - free);
    taken
}

#[test]
#[ignore = "run by descriptors_that_run_out_are_never_a_404"]
fn without_descriptors() {
    let fill = |dir: &Scratch| (0..20).for_each(|n| dir.write(&n.to_string(), n.to_string()));
    let site = Site::new(fill, |s| s.max_file_size = 0);
    // The cache has no descriptors to release, so nothing can be opened.
    let hogged = hog(0);
    for _ in 0..2 {
        let response = site.get("/0").unwrap();
        assert_eq!(shape(&response, &["retry-after"]), (503, vec![Some("1".into())]));
    }
    drop(hogged);
    // The cache's own descriptors are evicted to open others.
    let hogged = hog(3);
    for number in (0..20).chain(0..20) {
        let response = site.get(&format!("/{number}")).unwrap();
        assert_eq!(response.head.status(), Status::OK, "{number}");
    }
    drop(hogged);
    // Those of transfers stay open until they end.
    let _hogged = hog(2);
    let transfers = [site.get("/1"), site.get("/2"), site.get("/3"), site.get("/4"), site.get("/5")];
    let statuses = transfers.each_ref().map(|r| r.as_ref().unwrap().head.status().code());
    assert!(statuses.contains(&503) && !statuses.contains(&404), "{statuses:?}");
    drop(transfers);
    assert_eq!(site.text("/6"), (200, "6".into()));
}
