//! Faults that prevent a start are found by `-t` too, with the same message and the same exit code.

use crate::support::certificates::Authority;
use crate::support::{Finished, Launch, Scratch, Server, needs_root};
use std::os::unix::fs::{chown, symlink};
use std::os::unix::net::UnixListener;

/// The user `nobody`.
const NOBODY: u32 = 65534;

/// The result of `-t` and of a start, which is the same.
#[track_caller]
fn refused(launch: impl Fn() -> Launch) -> Finished {
    let (test, start) = (launch().finish_test(&[]), launch().finish());
    assert_eq!((start.code, &start.stderr), (test.code, &test.stderr), "the start and -t agree");
    assert_eq!(test.stdout, "", "nothing is OK");
    test
}

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front").write("closed/site/index.html", "hidden");
    dir.permit("closed", 0o700);
    dir
}

/// By root, switching to `nobody`, or by the ordinary user running the tests.
fn config(dir: &Scratch, text: &str) -> Launch {
    let text = if text.contains("hosts:") { text.to_owned() } else { format!("{text}{HOSTS}") };
    Launch::config(dir, &text)
}

const HOSTS: &str = "hosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n";

#[test]
fn a_directory_that_the_servers_user_cannot_enter_is_named_with_what_to_do() {
    if !needs_root() {
        return;
    }
    let dir = site();
    symlink(dir.path("closed/site"), dir.path("link")).expect("a link");
    for served in [
        "file.dir: DIR/closed/site",
        "file.dir: DIR/closed/not-there",
        "file.dir: DIR/link",
        "file.file: DIR/closed/site/index.html",
        "reproxy.sendfile: DIR/closed/site, file.dir: DIR/site",
    ] {
        let text = format!("hosts: {{default: {{paths: {{/: {{{served}}}}}}}}}\n");
        let ended = refused(|| config(&dir, &text));
        assert_eq!(ended.code, 71, "{served}: {}", ended.stderr);
        let closed = dir.text("closed");
        for words in [
            "the user `nobody`, which the server runs as,",
            &format!("cannot enter the directory {closed} (root:root, mode 0700)"),
            "hayami.conf:2:",
            &format!("chmod o+x {closed}"),
            "set `user:`",
            "move the files",
        ] {
            assert!(ended.stderr.contains(words), "{served} lacks {words:?}: {}", ended.stderr);
        }
    }
    let served = dir.text("closed/site");
    let ended = refused(|| Launch::new(["-l", "127.0.0.1:0", &served]));
    assert_eq!((ended.code, ended.stderr.lines().count()), (71, 1), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("hayami: the user `nobody`, which"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("command line"), "{}", ended.stderr);
}

#[test]
fn a_file_that_the_servers_user_cannot_read_is_named() {
    if !needs_root() {
        return;
    }
    let dir = site();
    dir.permit("site/index.html", 0o600);
    let text = "hosts: {default: {paths: {/: {file.file: DIR/site/index.html}}}}\n";
    let ended = refused(|| config(&dir, text));
    assert_eq!(ended.code, 71, "{}", ended.stderr);
    assert!(ended.stderr.contains("cannot read ") && ended.stderr.contains("chmod o+r"), "{}", ended.stderr);
}

#[test]
fn a_user_whose_group_lets_it_in_serves() {
    if !needs_root() {
        return;
    }
    let dir = site();
    // The group of Debian's `daemon`.
    chown(dir.path("closed"), None, Some(1)).expect("given");
    dir.permit("closed", 0o710);
    let text = "hosts: {default: {paths: {/: {file.dir: DIR/closed/site}}}}\n";
    assert_eq!(refused(|| config(&dir, text)).code, 71);
    let server = Server::config(&dir, &format!("user: daemon\n{text}"));
    assert_eq!(server.get("/").text(), "hidden");
    let server = Server::config(&dir, &format!("user: root\n{text}"));
    assert_eq!(server.get("/").text(), "hidden");
}

#[test]
fn the_error_names_the_directory_that_the_user_cannot_enter() {
    if !needs_root() {
        return;
    }
    let dir = site();
    let text = "hosts: {default: {paths: {/: {file.dir: DIR/closed/site}}}}\n";
    let ended = refused(|| config(&dir, text).by(NOBODY));
    assert_eq!(ended.code, 71, "{}", ended.stderr);
    assert!(ended.stderr.contains("error: the user `nobody` cannot enter the directory"), "{}", ended.stderr);
}

/// Lines of a configuration, the exit code, and texts required in the output.
type Case<'a> = (&'a str, i32, &'a [&'a str]);

#[track_caller]
fn all_refused(dir: &Scratch, cases: &[Case<'_>], by: impl Fn(Launch) -> Launch) {
    for (text, code, words) in cases {
        let ended = refused(|| by(config(dir, text)));
        assert_eq!(ended.code, *code, "{text}: {}", ended.stderr);
        for word in *words {
            assert!(ended.stderr.contains(word), "{text} lacks {word:?}: {}", ended.stderr);
        }
    }
}

#[test]
fn files_and_sockets_that_cannot_be_created_are_named_with_their_line() {
    let dir = site();
    dir.write("file", "");
    symlink(dir.path("file"), dir.path("link")).expect("linked");
    let missing: &[&str] = &["none does not exist", "create it (`install -d ", "hayami.conf:"];
    let directory: &[&str] = &["it is a directory", "path of a file", "hayami.conf:2:"];
    let cases: &[Case<'_>] = &[
        ("access-log: DIR/none/log\n", 73, missing),
        ("access-log: {path: DIR/none/log, format: '%h'}\n", 73, missing),
        ("access-log: DIR/site\n", 73, directory),
        ("access-log: DIR/file/log\n", 73, &["file is not a directory", "correct the path", ":2:13"]),
        ("error-log: DIR/none/log\n", 73, missing),
        ("error-log: DIR/none/log\n", 73, &["cannot write the error-log", ":2:12"]),
        ("pid-file: DIR/none/pid\n", 73, missing),
        ("pid-file: DIR/site\n", 73, directory),
        ("pid-file: DIR/link\n", 73, &["it is a symbolic link", "remove the link", "hayami.conf:2:"]),
        ("listen: {type: unix, port: DIR/none/socket}\n", 73, missing),
        (
            "listen: {type: unix, port: DIR/file}\n",
            73,
            &["a file that is not a socket", "remove the file", ":1:"],
        ),
    ];
    all_refused(&dir, cases, |launch| launch);
}

#[test]
fn users_groups_and_cpus_that_are_not_there_are_named_with_their_line() {
    let dir = site();
    let no_user: &[&str] = &["unknown user `no-such-user`", "getent passwd", "hayami.conf:"];
    let spawn = "hosts: {default: {paths: {/: {fastcgi.spawn: {command: 'exit 1', user: no-such-user}}}}}\n";
    let cases: &[Case<'_>] = &[
        ("user: no-such-user\n", 78, no_user),
        ("listen: {type: unix, port: DIR/s, owner: no-such-user}\n", 78, no_user),
        (
            "listen: {type: unix, port: DIR/s, group: no-such}\n",
            78,
            &["unknown group `no-such`", "getent group"],
        ),
        (spawn, 78, no_user),
        ("num-threads: [0, 1000]\n", 71, &["cannot run on CPU 1000", "nproc", "hayami.conf:2:"]),
    ];
    all_refused(&dir, cases, |launch| launch);
}

#[test]
fn what_an_ordinary_user_may_not_do_is_found() {
    if !needs_root() {
        return;
    }
    let dir = site();
    dir.write("log", "").write("run/x", "");
    chown(dir.path("run"), Some(NOBODY), None).expect("given");
    let closed = "closed (root:root, mode 0700) cannot be entered by the user `nobody`";
    let cases: &[Case<'_>] = &[
        ("access-log: DIR/log\n", 73, &["it is not writable for the user `nobody`"]),
        ("access-log: DIR/site/log\n", 73, &["site is not writable for the user `nobody`"]),
        ("pid-file: DIR/closed/site/pid\n", 73, &[closed]),
        ("listen: {type: unix, port: DIR/site/socket}\n", 73, &["is not writable for the user `nobody`"]),
        (
            "listen: {type: unix, port: DIR/run/s, owner: daemon}\n",
            77,
            &["only root can give the unix socket"],
        ),
        ("user: daemon\n", 77, &["only root can become the user `daemon`"]),
        ("listen: 127.0.0.1:81\n", 77, &["cannot listen on 127.0.0.1:81"]),
        ("listen: 192.0.2.1:8080\n", 69, &["this machine does not have this address"]),
    ];
    all_refused(&dir, cases, |launch| launch.by(NOBODY));
}

#[test]
fn a_directory_for_temporary_files_that_applications_need_is_checked() {
    let dir = site();
    let text = "hosts: {default: {paths: {/: {fastcgi.spawn: 'exit 1'}}}}\n";
    let ended = refused(|| config(&dir, text).env("TMPDIR", dir.path("none")));
    assert_eq!(ended.code, 71, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("none does not exist") && ended.stderr.contains("TMPDIR"),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_upstreams_socket_that_the_user_may_not_connect_to_is_a_warning() {
    if !needs_root() {
        return;
    }
    let dir = site();
    let _open = UnixListener::bind(dir.path("open.sock")).expect("bound");
    let _closed = UnixListener::bind(dir.path("closed.sock")).expect("bound");
    dir.permit("open.sock", 0o666);
    dir.permit("closed.sock", 0o660);
    let text = "hosts: {default: {paths: {/a: {fastcgi.connect: {port: DIR/open.sock, type: unix}}, /b: {fastcgi.connect: \
                {port: DIR/closed.sock, type: unix}}, /c: {proxy.reverse.url: 'http://[unix:DIR/closed/a.sock]/'}}}}\n";
    let ended = config(&dir, text).finish_test(&[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "configuration OK\n"), "{}", ended.stderr);
    let lines: Vec<_> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ended.stderr);
    assert!(lines[0].contains("closed.sock: the user `nobody` may not connect"), "{}", ended.stderr);
    assert!(lines[1].contains("the user `nobody` cannot enter the directory"), "{}", ended.stderr);
    let server = Server::config(&dir, text);
    assert!(server.stderr().starts_with(&ended.stderr), "{}", server.stderr());
}

#[test]
fn an_upstreams_socket_whose_directory_does_not_exist_is_a_warning_and_said_to_requests() {
    let dir = site();
    dir.write("there/.keep", "");
    let text = "hosts: {default: {paths: {/a: {fastcgi.connect: {port: DIR/nowhere/a.sock, type: unix}}, /b: \
                {proxy.reverse.url: 'http://[unix:DIR/nowhere/b.sock]/'}, /c: {proxy.reverse.url: \
                'http://[unix:DIR/there/c.sock]/'}}}}\n";
    let ended = config(&dir, text).finish_test(&[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "configuration OK\n"), "{}", ended.stderr);
    // A missing socket is not a fault: its application may start later.
    let lines: Vec<_> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ended.stderr);
    let missing = format!("the directory {} does not exist; requests for it get 502", dir.text("nowhere"));
    assert!(lines.iter().all(|line| line.contains(&missing)), "{missing}: {}", ended.stderr);
    let server = Server::config(&dir, text);
    assert!(server.stderr().starts_with(&ended.stderr), "{}", server.stderr());
    let directory = format!("the directory {} of the socket does not exist", dir.text("nowhere"));
    let socket =
        format!("the socket {} does not exist (is the application running?)", dir.text("there/c.sock"));
    for (target, want) in [("/a/", &directory), ("/b/", &directory), ("/c/", &socket)] {
        assert_eq!(server.get(target).status, 502, "{target}");
        server.until_stderr(&format!("for \"{target}\": upstream"));
        let log = server.stderr();
        let line = log.lines().find(|line| line.contains(&format!("for \"{target}\""))).expect("a line");
        assert!(line.contains(want.as_str()), "{want}: {line}");
    }
}

#[test]
fn only_the_start_finds_that_an_address_is_in_use() {
    let dir = site();
    let server = Server::folder(&dir);
    let text = format!("listen: {}\n", server.address);
    let test = config(&dir, &text).finish_test(&[]);
    assert_eq!((test.code, test.stdout.as_str()), (0, "configuration OK\n"), "{}", test.stderr);
    let start = config(&dir, &text).finish();
    assert_eq!(start.code, 69, "{}", start.stderr);
    assert_eq!(server.get("/site/").text(), "front", "the first goes on");
}

#[test]
fn a_check_leaves_nothing_behind() {
    let dir = site();
    let text = "listen: {type: unix, port: DIR/socket}\naccess-log: DIR/log\nerror-log: DIR/errors\npid-file: DIR/pid\n";
    let test = config(&dir, text).finish_test(&[]);
    assert_eq!(test.code, 0, "{}", test.stderr);
    for name in ["socket", "log", "errors", "pid"] {
        assert!(!dir.path(name).exists(), "{name}");
    }
}

#[test]
fn keys_that_only_root_can_read_are_a_warning() {
    if !needs_root() {
        return;
    }
    let dir = site();
    Authority::new(&dir).issue_leaf();
    dir.permit("tls/leaf.key", 0o600);
    let text = "listen: {port: 0, host: 127.0.0.1, ssl: {certificate-file: DIR/tls/leaf.pem, key-file: \
                DIR/tls/leaf.key}}\n";
    let ended = config(&dir, text).finish_test(&[]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let words =
        format!("warning: the user `nobody` cannot read {}: SIGHUP will not renew", dir.text("tls/leaf.key"));
    assert!(ended.stderr.contains(&words), "{}", ended.stderr);
}
