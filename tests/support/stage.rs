//! A machine as examples and the manual take it for granted: their folders, certificates and users are there.

use super::Scratch;
use super::certificates::Authority;
use std::path::Path;

/// Where the folders of examples lie.
const ROOTS: [&str; 6] = ["/etc/", "/home/", "/opt/", "/run/", "/srv/", "/var/"];

/// The configuration with its absolute paths moved into the folder. What they lead to is made: certificates with their
/// keys, folders, the folders of sockets and logs.
pub(crate) fn staged(dir: &Scratch, text: &str) -> String {
    let mut moved = text.to_owned();
    let paths: Vec<&str> =
        text.split(|mark: char| mark.is_whitespace() || "'\"[]{},".contains(mark)).collect();
    for root in ROOTS {
        moved = moved.replace(&format!(" {root}"), &format!(" {}{root}", dir.text("")));
        for mark in ['"', '\'', '[', ':'] {
            moved = moved.replace(&format!("{mark}{root}"), &format!("{mark}{}{root}", dir.text("")));
        }
    }
    for path in paths {
        let path = path.trim_start_matches("http://").trim_start_matches("unix:");
        if ROOTS.iter().any(|root| path.starts_with(root)) {
            make(dir, path.trim_start_matches('/'));
        }
    }
    moved
}

fn make(dir: &Scratch, path: &str) {
    let end = Path::new(path).extension().and_then(|end| end.to_str());
    match end {
        Some("pem" | "crt") if !path.contains("privkey") => certificate(dir, path, "pem"),
        Some("pem" | "key") => certificate(dir, path, "key"),
        Some("conf") => {}
        Some("log" | "json" | "sock" | "pid") => {
            dir.write(&format!("{}/.keep", parent(path)), "");
        }
        Some("html") => _ = dir.write(path, "a page"),
        _ => _ = dir.write(&format!("{path}/index.html"), "a page"),
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn certificate(dir: &Scratch, path: &str, kind: &str) {
    if !dir.path("tls/leaf.pem").exists() {
        Authority::new(dir).issue_leaf();
    }
    dir.write(path, dir.read(&format!("tls/leaf.{kind}")));
}
