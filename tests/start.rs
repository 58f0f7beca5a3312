//! From the command line to the banner, and from the signal to the end.

use crate::support::{Launch, Scratch, Server, is_root, needs_root, skip, until};
use rustix::process::Signal;

fn site() -> Scratch {
    let dir = Scratch::new();
    dir.write("site/index.html", "front");
    dir
}

const HOSTS: &str = "hosts: {default: {paths: {/: {file.dir: DIR/site}}}}\n";

#[test]
fn a_folder_is_served_and_the_banner_says_how() {
    let dir = site();
    let server = Launch::new(["-l", "127.0.0.1:0", &dir.text("site")]).serve();
    assert_eq!(server.get("/").text(), "front");
    let banner = server.stderr();
    assert!(banner.starts_with("hayami ") && banner.contains(&dir.text("site")), "{banner}");
    let workers: usize = server.banner("workers").parse().expect("a number");
    assert!(workers >= 1);
    assert_eq!(server.banner("process"), server.id().to_string());
    assert!(server.banner("open files").starts_with(|c: char| c.is_ascii_digit()));
}

#[test]
fn without_a_folder_the_working_directory_is_served() {
    let dir = site();
    let server = Launch::new(["-l", "127.0.0.1:0"]).within(&dir.path("site")).serve();
    assert_eq!(server.get("/").text(), "front");
    let server = Launch::new(["-l", "0", "site"]).within(&dir.path("")).serve();
    assert_eq!(server.get("/").text(), "front", "a relative folder, a port alone");
    assert!(server.address.starts_with("127.0.0.1:"), "a port alone is for this machine only");
}

#[test]
fn a_folder_shows_listings_and_precompressed_files() {
    let dir = Scratch::new();
    dir.write("a.txt", "plain").write("a.txt.gz", "zipped");
    let server = Server::folder(&dir);
    assert!(server.get("/").text().contains("a.txt"));
    assert_eq!(server.get_with("/a.txt", "Accept-Encoding: gzip\r\n").text(), "zipped");
}

#[test]
fn mistakes_of_the_command_line_say_what_to_do() {
    let dir = site();
    let (missing, file) = (dir.text("none"), dir.text("site/index.html"));
    let cases: [(&[&str], i32, &str); 21] = [
        (&[&missing], 66, "`hayami DIR` serves an existing directory"),
        (&[&file], 66, "is a file; `hayami DIR` serves the directory that contains it"),
        (
            &["8080"],
            66,
            "there is no directory `8080`; to serve this directory at that address: `hayami -l 8080`",
        ),
        (&["serve"], 66, "`hayami DIR` serves a directory"),
        (&["stop"], 66, "SIGTERM"),
        (&["-c", &missing], 66, "there is no file"),
        (&["--no-such-option"], 64, "--no-such-option"),
        (&["--hel"], 64, "--help"),
        (&["-l", "nonsense", "."], 64, "write a port, or ADDRESS:PORT"),
        (&["-l", "99999", "."], 64, "ports are 0 to 65535"),
        (&["-c", "x", "folder"], 64, "names its directories itself: leave out `folder`"),
        (&["-p", "8080"], 64, "`hayami -l 8080`"),
        (&["--port=8080", "."], 64, "`hayami -l 8080`"),
        (&["-s", "reload"], 64, "`hayami reload`"),
        (&["bnech", "http://127.0.0.1/"], 64, "did you mean `hayami bench`?"),
        (&["bnech"], 66, "did you mean `hayami bench`?"),
        (&["-m", "master"], 64, "systemd"),
        (&["-m", "daemon"], 64, "foreground"),
        (&["-m", "test"], 64, "-t"),
        (&["-m", "other"], 64, "use `-m worker`"),
        (&["-l", "192.0.2.1:0", "."], 69, "192.0.2.1"),
    ];
    for (args, code, text) in cases {
        let ended = Launch::new(args).finish();
        assert_eq!(ended.code, code, "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(text), "{args:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{args:?}");
    }
}

#[test]
fn a_taken_port_is_said_in_one_line() {
    let dir = site();
    let server = Server::folder(&dir);
    let second = Launch::new(["-l", &server.address, &dir.text("")]).finish();
    assert_eq!(second.code, 69, "{}", second.stderr);
    assert_eq!(second.stderr.trim_end().lines().count(), 1, "{}", second.stderr);
    assert!(second.stderr.contains(&server.port().to_string()), "{}", second.stderr);
    assert_eq!(server.get("/site/").text(), "front", "the first goes on");
}

#[test]
fn a_privileged_port_is_said_in_one_line() {
    let dir = site();
    let launch = Launch::new(["-l", "127.0.0.1:81", &dir.text("")]);
    let free_ports = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    if free_ports.is_ok_and(|first| first.trim().parse().is_ok_and(|first: u16| first <= 81)) {
        return skip("net.ipv4.ip_unprivileged_port_start lets every user have port 81");
    }
    let ended = if is_root() { launch.by(65534) } else { launch }.finish();
    assert_eq!(ended.code, 77, "{}", ended.stderr);
    assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("81"), "{}", ended.stderr);
}

#[test]
fn help_and_version_go_to_standard_output() {
    let help = Launch::new(["--help"]).finish();
    assert_eq!(help.code, 0);
    for word in ["DIR", "--conf", "--test", "Exit codes", "78", "SIGTERM"] {
        assert!(help.stdout.contains(word), "{word}: {}", help.stdout);
    }
    let version = Launch::new(["--version"]).finish();
    assert_eq!(version.code, 0);
    let mut lines = version.stdout.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with("hayami version 0.")));
    assert!(lines.all(|line| line.split_once(": ").is_some_and(|(_, value)| !value.is_empty())));
    for word in ["-v", "-V", "version"] {
        assert_eq!(Launch::new([word]).finish().stdout, version.stdout, "{word}");
    }
    assert_eq!(Launch::new(["help"]).finish().stdout, help.stdout);
    assert_eq!(help.stderr + &version.stderr, "");
}

#[test]
fn a_right_configuration_is_said_to_be_right() {
    let dir = site();
    let ended = Launch::config(&dir, HOSTS).finish_test(&[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "configuration OK\n"), "{}", ended.stderr);
    let folder = dir.text("site");
    let cases: [(&[&str], &str); 3] = [
        (&["-t", &folder], "http://127.0.0.1:8080/"),
        (&["-t", &folder, "-l", "[::1]:8081"], "http://[::1]:8081/"),
        (&["-t", &folder, "-l", "0.0.0.0:8082"], "http://0.0.0.0:8082/"),
    ];
    for (args, url) in cases {
        let ended = Launch::new(args).finish();
        let want = (0, format!("would serve {folder} at {url}\n"));
        assert_eq!((ended.code, ended.stdout), want, "{}", ended.stderr);
    }
}

#[test]
fn a_wrong_configuration_ends_with_78_also_when_it_is_to_be_served() {
    let dir = site();
    for test in [true, false] {
        let launch = Launch::config(&dir, &format!("num-thread: 2\n{HOSTS}"));
        let ended = if test { launch.finish_test(&[]) } else { launch.finish() };
        assert_eq!((ended.code, ended.stdout.as_str()), (78, ""));
        assert!(ended.stderr.contains("hayami.conf:2:1"), "{}", ended.stderr);
        assert!(ended.stderr.contains("did you mean `num-threads`?"), "{}", ended.stderr);
    }
}

#[test]
fn a_user_that_is_not_there_is_found_by_the_check() {
    let dir = site();
    let ended = Launch::config(&dir, &format!("user: no-such-user-here\n{HOSTS}")).finish_test(&[]);
    assert_eq!(ended.code, 78, "{}", ended.stderr);
    assert!(ended.stderr.contains("getent passwd"), "{}", ended.stderr);
}

#[test]
fn a_folder_that_is_not_there_is_a_warning_and_served_as_soon_as_it_is() {
    let dir = site();
    let text = HOSTS.replace("/site", "/later");
    let ended = Launch::config(&dir, &text).finish_test(&[]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(
        ended.stderr.contains(&format!("the directory {} does not exist", dir.text("later"))),
        "{}",
        ended.stderr
    );
    let place = format!(" --> {}:", dir.text("hayami.conf"));
    assert!(ended.stderr.contains(&place) && ended.stderr.contains("help: create it"), "{}", ended.stderr);
    let server = Server::config(&dir, &text);
    assert!(server.stderr().contains("warning"), "{}", server.stderr());
    assert_eq!(server.get("/late.html").status, 404);
    dir.write("later/late.html", "here");
    assert_eq!(server.get("/late.html").text(), "here");
}

#[test]
fn the_effective_configuration_shows_what_is_set_and_the_defaults_if_wanted() {
    let dir = site();
    let text = "file.index: [a.html]\nhosts:\n  one.example:\n    paths:\n      /:\n        file.dir: DIR/site\n      \
                /x:\n        expires: 1 day\n        file.dir: DIR/site\n  two.example:\n    paths:\n      /:\n        \
                redirect: http://one.example/\n";
    for (args, defaults) in [(["-v"].as_slice(), false), (&["-vv"], true), (&["-v", "-v"], true)] {
        let ended = Launch::config(&dir, text).finish_test(args);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let once = [
            "one.example:\n",
            "two.example:\n",
            "/x:",
            "expires: 1 day",
            "a.html",
            "redirect: ",
            "127.0.0.1:0",
        ];
        for part in once {
            assert_eq!(ended.stdout.matches(part).count(), 1, "{part}: {}", ended.stdout);
        }
        for part in ["num-threads: ", "file.etag: ON", "# default"] {
            assert_eq!(ended.stdout.contains(part), defaults, "{args:?} {part}: {}", ended.stdout);
        }
        assert!(ended.stdout.ends_with("configuration OK\n"), "{}", ended.stdout);
    }
}

#[test]
fn scripts_that_start_h2o_start_this_too() {
    let dir = site();
    let conf = dir.text("hayami.conf");
    let text = format!("listen: 127.0.0.1:0\n{HOSTS}").replace("DIR/site", "site");
    dir.write("hayami.conf", text);
    // H2O_ROOT names h2o's own files; `-m worker` is the only mode there is; file.dir starts from the
    // working directory, which stays what it was.
    let launch =
        Launch::new(["-m", "worker", "-c", &conf]).env("H2O_ROOT", "/nonexistent").within(&dir.path(""));
    let server = launch.serve();
    assert_eq!(server.get("/").text(), "front");
}

/// A line of /proc/PID/status: `Uid`.
fn status(server: &Server, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{}/status", server.id())).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("such a line");
    line.trim_start_matches(':').split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn root_gives_its_rights_up_unless_told_to_keep_them() {
    if !needs_root() {
        return;
    }
    let dir = site();
    let server = Server::config(&dir, HOSTS);
    assert_ne!(status(&server, "Uid"), "0 0 0 0", "nobody by itself");
    assert_eq!(status(&server, "CapEff"), "0000000000000000");
    assert!(!status(&server, "Groups").split(' ').any(|group| group == "0"), "no group of root's");
    drop(server);
    let server = Server::config(&dir, &format!("user: root\n{HOSTS}"));
    assert_eq!(status(&server, "Uid"), "0 0 0 0");
    drop(server);
    let server = Server::config(&dir, &format!("user: daemon\n{HOSTS}"));
    assert_ne!(status(&server, "Uid"), "0 0 0 0");
    assert_eq!(server.get("/").text(), "front");
}

#[test]
fn an_ordinary_user_cannot_become_another() {
    let dir = site();
    dir.permit("", 0o755);
    let launch = Launch::config(&dir, &format!("user: daemon\n{HOSTS}"));
    let ended = if is_root() { launch.by(65534) } else { launch }.finish();
    assert_eq!(ended.code, 77, "{}", ended.stderr);
    assert!(ended.stderr.contains("only root can become"), "{}", ended.stderr);
}

#[test]
fn the_pid_file_is_there_while_it_runs() {
    let dir = site();
    let mut server = Server::config(&dir, &format!("pid-file: DIR/pid\n{HOSTS}"));
    assert_eq!(dir.read("pid").trim(), server.id().to_string());
    assert_eq!(server.stop(), Some(0));
    // Started by root, the program is another user by then, which may write the file but not remove it.
    assert_eq!(dir.path("pid").exists(), is_root());
    assert_eq!(dir.read("pid"), "");
    dir.permit("", 0o777);
    let mut server = Server::config(&dir, &format!("pid-file: DIR/pid\n{HOSTS}"));
    assert_eq!(server.stop(), Some(0));
    assert!(!dir.path("pid").exists(), "a user who may remove it does");
    let ended = Launch::config(&dir, &format!("pid-file: DIR/none/pid\n{HOSTS}")).finish();
    assert_eq!(ended.code, 73, "{}", ended.stderr);
    assert!(ended.stderr.contains("none/pid"), "{}", ended.stderr);
}

#[test]
fn a_signal_lets_running_requests_finish() {
    let dir = site();
    dir.write("site/large", vec![b'x'; 40_000_000]);
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Server::site(&dir, "");
        let (mut idle, mut busy) = (server.connect(), server.connect());
        idle.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(idle.answer().status, 200);
        busy.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
        busy.receive_at_least(1);
        server.signal(signal);
        server.until_stderr("finishing open requests");
        // timeout(1) and others signal the process and its group.
        server.signal(signal);
        assert!(idle.is_closed(), "what waits is closed");
        until("nobody accepts", || std::net::TcpStream::connect(&server.address).is_err());
        assert_eq!(busy.answer().content.len(), 40_000_000, "what runs is finished");
        assert!(busy.is_closed());
        assert_eq!(server.wait().code(), Some(0));
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    let dir = site();
    dir.write("site/large", vec![b'x'; 40_000_000]);
    let mut server = Server::site(&dir, "");
    let mut busy = server.connect();
    busy.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n").receive_at_least(1);
    server.signal(Signal::TERM);
    server.until_stderr("finishing open requests");
    until("the second signal counts", || {
        server.signal(Signal::TERM);
        server.stderr().contains("cut off")
    });
    assert_eq!(server.wait().code(), Some(0));
    assert!(busy.rest().len() < 40_000_000);
}

#[test]
fn the_limit_of_open_files_is_raised_and_said() {
    let dir = site();
    let server = Launch::config(&dir, HOSTS).after("ulimit -Sn 256").serve();
    let row = server.banner("open files");
    assert!(row.ends_with("(raised from 256)"), "{row}");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.id())).expect("it runs");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("a line");
    assert_eq!(line.split_whitespace().nth(3), row.split(' ').next(), "{line}: {row}");
}

#[test]
fn too_many_connections_for_the_limit_are_said() {
    let dir = site();
    let launch = Launch::config(&dir, &format!("max-connections: 100000\n{HOSTS}"));
    let server = launch.after("ulimit -n 256").serve();
    assert!(server.stderr().contains("max-connections 100000 is reduced to"), "{}", server.stderr());
    assert_eq!(server.get("/").status, 200);
}
