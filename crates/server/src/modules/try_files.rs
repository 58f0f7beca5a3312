//! `try-files`: redirects to the first of several files that exists, or to a fallback (a front controller). The syntax
//! is nginx's.

use crate::config::directive::{Directive, Levels, Scope, group};
use crate::config::error::ConfigError;
use crate::config::settings::{HandlerSetting, HandlerSettings};
use crate::config::yaml::{Node, Value};
use crate::feature::{Feature, RouteContext};
use crate::handler::{Exchange, Handler, Outcome};
use crate::modules::file;
use crate::service::plain;
use hayami_http::{Status, encode_path};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// This feature.
pub const FEATURE: Feature = Feature {
    handler: Some(|settings, route| Some(of_route(settings.get()?, route))),
    ..Feature::new(&[group("Front controllers", DIRECTIVES)])
};

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "try-files",
    levels: Levels::PATH,
    argument: "the arguments of nginx's try_files, in one line or as a sequence",
    default: "",
    help: "Checks for files below the path's `file.dir`, in the given order, and serves the first that \
           exists; an argument that ends in a slash is a directory with an index. If none exists, the \
           request is redirected internally to the last argument, with its method, or gets the status that \
           it names, such as `=404`. `$uri` is the path, `$args` the query, which is appended if the last \
           argument has no `?`. A single argument means `$uri $uri/` followed by that argument.",
    set,
}];

/// The arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Paths, in the order in which they are tried.
    files: Vec<String>,
    otherwise: Otherwise,
}

impl HandlerSetting for Settings {}

/// The fallback if no file exists.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Otherwise {
    /// The request is redirected internally to this path and query.
    Target(String),
    /// The response has this status.
    Status(Status),
}

fn set(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let settings = read(node)?;
    scope.add_handler(HandlerSettings::new(settings));
    Ok(())
}

fn read(node: &Node) -> Result<Settings, ConfigError> {
    let mut words = Vec::new();
    match &node.value {
        Value::Sequence(nodes) => {
            for node in nodes {
                words.push((node, node.text()?));
            }
        }
        _ => words.extend(node.text()?.split_ascii_whitespace().map(|word| (node, word))),
    }
    let Some((at, last)) = words.pop() else {
        return Err(node.expected("files to try, such as `$uri $uri/ /index.php`"));
    };
    let mut files = Vec::new();
    for (at, word) in &words {
        files.push(path(at, word)?);
    }
    if files.is_empty() {
        files = vec!["$uri".to_owned(), "$uri/".to_owned()];
    }
    let otherwise = match last.strip_prefix('=') {
        None => Otherwise::Target(path(at, last)?),
        Some(code) => {
            let status = code.parse().ok().and_then(Status::new).filter(|status| !status.is_informational());
            Otherwise::Status(
                status.ok_or_else(|| at.error(format!("`={code}` is not a status; write `=404`")))?,
            )
        }
    };
    Ok(Settings { files, otherwise })
}

const VARIABLES: [&str; 3] = ["uri", "args", "query_string"];

/// Checks an argument that is a path.
fn path(at: &Node, word: &str) -> Result<String, ConfigError> {
    if !word.starts_with('/') && !word.starts_with("$uri") {
        return Err(at.error(format!("`{word}` must start with `/` or `$uri`")));
    }
    // Without a query nothing is appended, so `$is_args` can always be `?`.
    let word = word.replace("$is_args", "?");
    for piece in word.split('$').skip(1) {
        if !VARIABLES.iter().any(|name| piece.starts_with(name)) {
            let error = at.error(format!("`try-files` has no variable `${piece}`"));
            return Err(error.help("supported variables: $uri, $args, $query_string and $is_args"));
        }
    }
    Ok(word)
}

/// Tries files.
struct TryFiles {
    settings: Settings,
    root: PathBuf,
    /// Index files; a directory counts as existing if it contains one.
    index: Vec<String>,
}

/// The handler of a path, with the directory of its first `file.dir`.
///
/// # Errors
/// The path has no `file.dir`; a message for the user.
fn of_route(settings: &Settings, route: &RouteContext<'_>) -> Result<Box<dyn Handler>, String> {
    let mut directories = route.path.iter().flat_map(|path| &path.handlers).filter_map(|own| own.directory());
    build(settings, directories.next(), &route.inherited.get::<file::Settings>().index)
}

fn build(settings: &Settings, root: Option<&Path>, index: &[String]) -> Result<Box<dyn Handler>, String> {
    let Some(root) = root else {
        return Err("try-files requires a `file.dir` in the same path".to_owned());
    };
    Ok(Box::new(TryFiles { settings: settings.clone(), root: root.to_owned(), index: index.to_vec() }))
}

impl Handler for TryFiles {
    fn handle(&self, exchange: &mut Exchange<'_>) -> Outcome {
        let (path, query) = (exchange.path, exchange.head.query());
        for file in &self.settings.files {
            let tried = expanded(file, path, query);
            // Below a file there is only the path info of a script, which `file.dir` handles.
            if self.is_there(&tried, &path[..exchange.below]).unwrap_or(tried == path) {
                return self.go_to(&tried, path, query);
            }
        }
        match &self.settings.otherwise {
            Otherwise::Status(status) => Outcome::Ready(plain(*status, "")),
            Otherwise::Target(target) => {
                let (target_path, target_query) = match target.split_once('?') {
                    Some((path, query)) => (path, Some(query)),
                    None => (&target[..], None),
                };
                let target_path = expanded(target_path, path, query);
                let target_query = target_query.map(|own| expanded(own, &encoded(path), query));
                self.go_to(&target_path, path, target_query.as_deref().or(query))
            }
        }
    }
}

impl TryFiles {
    /// Redirects to the target, or leaves the request to the next handlers.
    fn go_to(&self, target: &[u8], path: &[u8], query: Option<&[u8]>) -> Outcome {
        // `file.dir` serves files of the path itself; a redirect to itself would be a loop.
        if target == path || target.strip_suffix(b"/") == Some(path) {
            return Outcome::Declined;
        }
        let mut target = encoded(target);
        if let Some(query) = query.filter(|query| !query.is_empty()) {
            target.push(b'?');
            target.extend_from_slice(query);
        }
        Outcome::Internal { target, keep_method: true }
    }

    /// Whether a file exists; `None`: the path is below another file.
    fn is_there(&self, path: &[u8], prefix: &[u8]) -> Option<bool> {
        let Some(below) = path.strip_prefix(prefix) else { return Some(false) };
        let below = Path::new(OsStr::from_bytes(below.strip_prefix(b"/").unwrap_or(below)));
        let is_file = |below: &Path| match std::fs::metadata(self.root.join(below)) {
            Ok(found) => Some(found.is_file()),
            Err(error) if error.kind() == ErrorKind::NotADirectory => None,
            Err(_) => Some(false),
        };
        match path.len() == prefix.len() || path.ends_with(b"/") {
            false => is_file(below),
            true => Some(self.index.iter().any(|index| is_file(&below.join(index)) == Some(true))),
        }
    }
}

fn encoded(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len() + 16);
    encode_path(path, &mut out);
    out
}

/// An argument with its variables expanded.
fn expanded(word: &str, path: &[u8], query: Option<&[u8]>) -> Vec<u8> {
    let query = query.unwrap_or_default();
    let mut pieces = word.split('$');
    let mut out = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let name = VARIABLES.iter().find(|name| piece.starts_with(**name)).copied().unwrap_or_default();
        match name {
            "uri" => out.extend_from_slice(path),
            _ => out.extend_from_slice(query),
        }
        out.extend_from_slice(&piece.as_bytes()[name.len()..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;
    use crate::modules::file::scratch::Scratch;
    use crate::modules::test_support::{error, set};

    fn settings(argument: &str) -> Settings {
        set(&[&format!("try-files: {argument}")]).handler::<Settings>().clone()
    }

    /// Where a request is redirected to: `-` if it is declined.
    fn tried(folder: &Scratch, argument: &str, below: usize, target: &str) -> String {
        let index = ["index.html".to_owned()];
        let handler = build(&settings(argument), Some(&folder.path("")), &index).expect("a root");
        match testing::handle(&*handler, &testing::get(target), below) {
            Outcome::Declined => "-".to_owned(),
            Outcome::Internal { target, keep_method } => {
                assert!(keep_method);
                String::from_utf8(target).expect("ASCII")
            }
            Outcome::Ready(response) => response.head.status().code().to_string(),
            _ => panic!("neither here nor there"),
        }
    }

    #[test]
    fn the_first_that_is_there_answers_or_else_the_last_word() {
        let folder = Scratch::new();
        for name in ["with", "without"] {
            folder.folder(name);
        }
        for name in ["a.txt", "b.html", "index.php", "with/index.html", "a b"] {
            folder.write(name, "");
        }
        let all = "$uri $uri.html $uri/ /index.php";
        let cases = [
            (all, 1, "/a.txt", "-"),
            (all, 1, "/a%20b", "-"),
            (all, 1, "/b?x", "/b.html?x"),
            (all, 1, "/with", "-"),
            (all, 1, "/with/", "-"),
            (all, 1, "/without/", "/index.php"),
            (all, 1, "/", "/index.php"),
            (all, 1, "/nothing/at/all?x=1", "/index.php?x=1"),
            (all, 1, "/index.php", "-"),
            (all, 1, "/a.txt/b", "-"),
            ("$uri.html /index.php", 1, "/a.txt/b", "/index.php"),
            (all, 5, "/sub/a.txt", "-"),
            ("/index.php", 1, "/nothing?x", "/index.php?x"),
            ("/index.php", 1, "/a.txt", "-"),
            ("$uri /index.php$uri", 1, "/no%20ne", "/index.php/no%20ne"),
            ("$uri /index.php?q=$uri&$args", 1, "/no%20ne?x", "/index.php?q=/no%20ne&x"),
            ("$uri /index.php$is_args$args", 1, "/none?x", "/index.php?x"),
            ("$uri /index.php?$args", 1, "/none", "/index.php"),
            ("[$uri, =404]", 1, "/none", "404"),
            ("[$uri, =404]", 1, "/a.txt", "-"),
            ("$uri /nothing.php", 1, "/nothing.php", "-"),
        ];
        for (argument, below, target, want) in cases {
            assert_eq!(tried(&folder, argument, below, target), want, "{argument} {target}");
        }
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let cases = [
            ("''", "expected files to try, such as `$uri $uri/ /index.php`, found nothing"),
            ("index.php", "`index.php` must start with `/` or `$uri`"),
            ("$uri $other", "`$other` must start with `/` or `$uri`"),
            (
                "$uri /a$host",
                "`try-files` has no variable `$host`; supported variables: $uri, $args, $query_string and \
                 $is_args",
            ),
            ("$uri =4", "`=4` is not a status; write `=404`"),
        ];
        for (argument, want) in cases {
            assert_eq!(error(&format!("try-files: {argument}")), want);
        }
        assert!(build(&settings("/index.php"), None, &[]).is_err());
    }
}
