//! A machine as examples and the manual take it for granted: their folders, certificates and users are there.

use super::certificates::Authority;
use super::peers::free_port;
use super::{Scratch, is_root};
use std::collections::HashMap;
use std::path::Path;

/// Where the folders of examples lie.
const ROOTS: [&str; 6] = ["/etc/", "/home/", "/opt/", "/run/", "/srv/", "/var/"];

/// The configuration with its absolute paths moved into the folder, and with free ports: `-t` binds them. The
/// targets of the paths are created: certificates with their keys, folders, the folders of sockets and logs.
pub(crate) fn staged(dir: &Scratch, text: &str) -> String {
    let mut moved = renumbered(text);
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

/// The output of `-t` for a staged configuration, without the warnings on other ports: its host names would
/// be those of the default ports in h2o, too.
pub(crate) fn said_of_staged(stderr: &str) -> String {
    let of_ports = |warning: &&str| !warning.contains("answers on every port; a host of h2o answers on port");
    stderr.split_inclusive("\n\n").filter(of_ports).collect()
}

/// Replaces the ports of listeners and in the keys of hosts by free ones, and addresses of other machines by
/// local ones.
fn renumbered(text: &str) -> String {
    let mut free = HashMap::new();
    let mut number = |port: &str| free.entry(port.to_owned()).or_insert_with(free_port).to_string();
    let mut lines = String::new();
    for line in text.lines() {
        if let Some((before, ports)) = line.split_once("listen: [") {
            let is_port = |port: &str| port.bytes().all(|mark| mark.is_ascii_digit());
            let ports = ports.trim_end_matches(']').split(", ");
            let moved = ports.map(|port| if is_port(port) { number(port) } else { port.to_owned() });
            lines += &format!("{before}listen: [{}]\n", moved.collect::<Vec<_>>().join(", "));
            continue;
        }
        let of_host = line.trim_start().starts_with('"').then(|| line.find("\":")).flatten();
        let of_listener = line.find("listen: ").map(|at| at + "listen: ".len());
        let end = match (of_host, of_listener) {
            (Some(end), _) => Some(end),
            (None, Some(_)) if !line.contains('{') => Some(line.len()),
            _ => None,
        };
        let port = end.map(|end| {
            let begin = line[..end].rfind([':', ' ']).map_or(0, |at| at + 1);
            (begin, end)
        });
        let named = line.find("port: ").map(|at| {
            let begin = at + "port: ".len();
            let digits =
                line[begin..].find(|mark: char| !mark.is_ascii_digit()).unwrap_or(line.len() - begin);
            (begin, begin + digits)
        });
        let place = port.or(named).filter(|(begin, end)| {
            begin < end && line[*begin..*end].bytes().all(|mark| mark.is_ascii_digit())
        });
        let line = match place {
            Some((begin, end)) => format!("{}{}{}", &line[..begin], number(&line[begin..end]), &line[end..]),
            None => line.to_owned(),
        };
        lines += &as_this_user(&line.replace("host: 10.0.0.5", "host: 127.0.0.1"));
        lines.push('\n');
    }
    lines
}

/// The line, with the user that runs the tests in place of one that only root can become.
fn as_this_user(line: &str) -> String {
    if is_root() {
        return line.to_owned();
    }
    let own = nix::unistd::User::from_uid(nix::unistd::geteuid()).expect("a list of users");
    line.replace("www-data", &own.expect("the user is in it").name)
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
        Some("txt") => _ = dir.write(path, "192.0.2.0/24 # a network\n"),
        _ if path.ends_with("/htpasswd") => {
            _ = dir.write(path, "amy:$apr1$tzFGqvBh$sct63ESNHPh2ADluBMaqk0\n")
        }
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
