//! Recognises configuration files of other servers by their lines.

use std::ops::Range;

/// A file of another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::config) struct Foreign {
    /// What it is: `a configuration of nginx`.
    pub(in crate::config) what: &'static str,
    /// The relevant section of docs/moving.md.
    pub(in crate::config) section: &'static str,
    /// The line that identifies it.
    pub(in crate::config) line: Range<usize>,
}

/// Lines to inspect: a configuration of another server has a recognisable line before that.
const MOST_LINES: usize = 2000;

const APACHE: &[&str] = &[
    "LoadModule",
    "ServerRoot",
    "ServerName",
    "ServerAdmin",
    "DocumentRoot",
    "ErrorLog",
    "CustomLog",
    "LogFormat",
    "DirectoryIndex",
    "IncludeOptional",
    "AllowOverride",
    "RewriteEngine",
    "RewriteRule",
    "SSLEngine",
    "ProxyPass",
    "MaxRequestWorkers",
    "KeepAliveTimeout",
];

const NGINX_BLOCKS: &[&str] =
    &["server", "http", "events", "location", "upstream", "stream", "map", "types", "mail"];

const NGINX: &[&str] = &[
    "user",
    "worker_processes",
    "pid",
    "include",
    "listen",
    "server_name",
    "root",
    "index",
    "error_log",
    "access_log",
    "proxy_pass",
    "return",
    "try_files",
    "sendfile",
    "keepalive_timeout",
    "ssl_certificate",
    "load_module",
];

const CADDY: &[&str] = &[
    "file_server",
    "reverse_proxy",
    "php_fastcgi",
    "encode",
    "redir",
    "handle_path",
    "handle",
    "respond",
    "root",
    "tls",
    "log",
    "header",
    "import",
    "try_files",
    "basic_auth",
    "email",
    "admin",
];

/// The other server that a text is a configuration of, if it is recognised.
pub(in crate::config) fn recognise(text: &str) -> Option<Foreign> {
    let mut block = None;
    let mut start = 0;
    for line in text.split_inclusive('\n').take(MOST_LINES) {
        let range = start..start + line.trim_end().len();
        start += line.len();
        let line = line.trim();
        let line = line.split(" #").next().unwrap_or(line).trim();
        let word = line.split([' ', '\t']).next().unwrap_or_default();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if is_apache(line, word) {
            return Some(foreign("an Apache httpd configuration", "from-apache-httpd", range));
        }
        if is_nginx(line, word) {
            return Some(foreign("an nginx configuration", "from-nginx", range));
        }
        // A site in Caddy is a name, with a brace or alone in the file, which is ambiguous by itself.
        match block.clone() {
            None if line.ends_with('{') || is_address(line) => block = Some(range),
            Some(first) if CADDY.contains(&word) && !line.ends_with(';') && !word.ends_with(':') => {
                return Some(foreign("a Caddy configuration", "from-caddy", first));
            }
            _ => {}
        }
    }
    None
}

fn foreign(what: &'static str, section: &'static str, line: Range<usize>) -> Foreign {
    Foreign { what, section, line }
}

fn is_apache(line: &str, word: &str) -> bool {
    let section = line.starts_with('<') && line.ends_with('>');
    let kinds = ["VirtualHost", "Directory", "IfModule", "Location", "Files", "IfDefine", "Proxy"];
    (section && kinds.iter().any(|kind| line[1..].starts_with(kind)))
        || (APACHE.contains(&word) && line.len() > word.len())
}

/// Whether a line has only addresses, as the first one of a Caddyfile for one site: `:80`,
/// `example.org, www.example.org`.
fn is_address(line: &str) -> bool {
    let address = |word: &str| {
        let odd = |mark: char| !(mark.is_ascii_alphanumeric() || "-.:/*[]".contains(mark));
        (word.contains(['.', ':']) || word == "localhost") && !word.ends_with(':') && !word.contains(odd)
    };
    line.split(',').all(|word| address(word.trim()))
}

fn is_nginx(line: &str, word: &str) -> bool {
    let block = line.ends_with('{') && NGINX_BLOCKS.contains(&word);
    block || (line.ends_with(';') && NGINX.contains(&word) && line.len() > word.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_servers_are_recognised() {
        let cases = [
            ("user nobody;\nworker_processes 4;\n", Some("an nginx configuration"), "user nobody;"),
            ("# a comment\n\nserver {\n  listen 80;\n}\n", Some("an nginx configuration"), "server {"),
            ("upstream app {\n  server a;\n}\n", Some("an nginx configuration"), "upstream app {"),
            ("Listen 80\n<VirtualHost *:80>\n", Some("an Apache httpd configuration"), "<VirtualHost *:80>"),
            (
                "ServerRoot \"/etc/httpd\"\n",
                Some("an Apache httpd configuration"),
                "ServerRoot \"/etc/httpd\"",
            ),
            (
                "example.com {\n\troot * /srv\n\tfile_server\n}\n",
                Some("a Caddy configuration"),
                "example.com {",
            ),
            (":8080 {\n  reverse_proxy localhost:3000\n}\n", Some("a Caddy configuration"), ":8080 {"),
            (":80\n\nfile_server\n", Some("a Caddy configuration"), ":80"),
            (
                "localhost\nencode gzip\nreverse_proxy 127.0.0.1:9000\n",
                Some("a Caddy configuration"),
                "localhost",
            ),
            (
                "example.org, www.example.org\nroot * /srv\n",
                Some("a Caddy configuration"),
                "example.org, www.example.org",
            ),
            ("server.port = 80\nroot * /srv\n", None, ""),
            ("listen:\nroot * /srv\n", None, ""),
            ("{\n  email a@b\n}\n", Some("a Caddy configuration"), "{"),
            ("listen: 80\nhosts:\n  a:\n    paths: {\n      /: {file.dir: /}\n    }\n", None, ""),
            ("{\n  \"listen\": 80,\n  \"hosts\": {}\n}\n", None, ""),
            ("just words\n", None, ""),
            ("", None, ""),
        ];
        for (text, what, line) in cases {
            let found = recognise(text);
            assert_eq!(found.as_ref().map(|found| found.what), what, "{text}");
            assert_eq!(found.map_or("", |found| text[found.line].trim_start()), line, "{text}");
        }
    }
}
