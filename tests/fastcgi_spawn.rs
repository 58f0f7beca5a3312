//! `fastcgi.spawn` with php-cgi: started, started again, ended. Without php-cgi skipped, unless HAYAMI_ALL_CLIENTS=1.

use crate::support::{Launch, Scratch, Server, missing, until, until_some};
use rustix::process::{Pid, Signal, kill_process};

fn text(command: &str) -> String {
    format!(
        "num-threads: 1\nhosts: {{default: {{paths: {{/: {{file.dir: DIR/site, file.custom-handler: {{extension: .php, \
         fastcgi.spawn: '{command}'}}}}}}}}}}\n"
    )
}

fn number(server: &Server, path: &str) -> Option<i32> {
    let answer = server.get(path);
    (answer.status == 200).then(|| answer.text().trim().parse().expect("a number"))
}

fn is_there(process: i32) -> bool {
    // A zombie is not.
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

#[test]
fn an_application_is_started_started_again_and_ended_with_its_children() {
    if missing("php-cgi") {
        return;
    }
    let dir = Scratch::new();
    dir.write("site/child.php", "<?php echo getmypid();");
    dir.write(
        "site/parent.php",
        "<?php echo trim(shell_exec('cut -d\" \" -f4 /proc/' . getmypid() . '/stat'));",
    );
    let mut server = Server::config(&dir, &text("PHP_FCGI_CHILDREN=2 exec php-cgi -n"));
    let child = until_some("it answers", || number(&server, "/child.php"));
    let parent = until_some("it answers", || number(&server, "/parent.php"));
    assert_ne!(child, parent);
    kill_process(Pid::from_raw(parent).expect("a process"), Signal::KILL).expect("it was there");
    server.until_stderr(
        "`PHP_FCGI_CHILDREN=2 exec php-cgi -n` ended (signal: 9 (SIGKILL)); it is restarted in ",
    );
    until("its children have ended", || !is_there(child));
    let again =
        until_some("it answers again", || number(&server, "/parent.php").filter(|again| *again != parent));
    let child = until_some("it answers again", || number(&server, "/child.php"));
    assert_eq!(server.stop(), Some(0));
    assert!(!is_there(again));
    until("its children have ended", || !is_there(child));
    let left = format!("hayami-fastcgi-{}-", server.id());
    let mut folders = std::fs::read_dir(std::env::temp_dir()).expect("a folder").map_while(Result::ok);
    assert!(!folders.any(|entry| entry.file_name().to_string_lossy().starts_with(&left)));
}

#[test]
fn an_application_ends_even_if_the_server_was_killed() {
    if missing("php-cgi") {
        return;
    }
    let dir = Scratch::new();
    dir.write("site/own.php", "<?php echo getmypid();");
    let mut server = Server::config(&dir, &text("exec php-cgi -n"));
    let own = until_some("it answers", || number(&server, "/own.php"));
    server.signal(Signal::KILL);
    server.wait();
    until("it has ended", || !is_there(own));
}

#[test]
fn a_command_that_fails_is_tried_again_less_and_less_often() {
    let dir = Scratch::new();
    dir.write("site/a.php", "");
    let server = Server::config(&dir, &text("echo no such luck >&2; exit 3"));
    for wait in ["0.1", "0.2", "0.4"] {
        server.until_stderr(&format!("ended (exit status: 3); it is restarted in {wait} s"));
    }
    assert!(server.stderr().contains("no such luck\n"));
}

#[test]
fn an_unknown_user_starts_nothing() {
    let dir = Scratch::new();
    dir.write("site/a.php", "");
    let text = text("php-cgi").replace("'php-cgi'", "{command: php-cgi, user: no-such-user}");
    let finished = Launch::config(&dir, &text).finish();
    assert_eq!(finished.code, 78, "{finished:?}");
    assert!(finished.stderr.contains("unknown user `no-such-user`"), "{}", finished.stderr);
}
