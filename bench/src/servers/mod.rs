//! The servers of a race: configuring and starting each, and querying its version.
//!
//! Every configuration is written into the race's folder. "As shipped" means that only the listening address
//! and the content are configured; everything else is the server's own default.

mod apache;
mod bare;
mod caddy;
mod h2o;
mod haproxy;
mod hayami;
mod lighttpd;
mod nghttpd;
mod nginx;

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tls::Identity;
use crate::workload::Wire;

/// One of the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Server {
    /// This tree's hayami, as shipped.
    Hayami,
    /// nginx with the configuration it ships with.
    Nginx,
    /// nginx with 10,240 connections and no access log.
    NginxWide,
    /// The same, and `open_file_cache`.
    NginxFiles,
    /// The same, and `accept_mutex_delay 100ms`.
    NginxFilesDelay,
    /// `NginxWide` with `accept_mutex_delay 100ms` only.
    NginxDelay,
    /// nginx with all the tuning of the published small-file row.
    NginxTuned,
    /// `NginxTuned`, tuned for HTTP/2 over TLS as well.
    NginxHttp2,
    /// h2o, as shipped.
    H2o,
    /// nghttpd of nghttp2, as shipped; HTTP/2 only.
    Nghttpd,
    /// HAProxy with its own defaults; a proxy only.
    Haproxy,
    /// Apache with the event MPM, as shipped.
    Apache,
    /// lighttpd, as shipped.
    Lighttpd,
    /// Caddy, as shipped.
    Caddy,
    /// The bare epoll loop with a constant answer; over HTTP/2 the bare frame loop.
    Bare,
}

/// All servers.
pub(crate) const ALL: [Server; 15] = [
    Server::Hayami,
    Server::NginxTuned,
    Server::NginxHttp2,
    Server::H2o,
    Server::Nghttpd,
    Server::Haproxy,
    Server::Bare,
    Server::Nginx,
    Server::NginxWide,
    Server::NginxFiles,
    Server::NginxFilesDelay,
    Server::NginxDelay,
    Server::Lighttpd,
    Server::Apache,
    Server::Caddy,
];

/// What a workload requires of a server beyond its defaults.
pub(crate) struct Site<'a> {
    /// Where to listen.
    pub(crate) address: SocketAddrV4,
    /// The protocol to serve.
    pub(crate) wire: Wire,
    /// Key and certificate for TLS.
    pub(crate) identity: &'a Identity,
    /// The documents.
    pub(crate) documents: &'a Path,
    /// A separate folder for configuration, logs and the like.
    pub(crate) folder: PathBuf,
    /// The connection limit where the default is too low for the workload; `None` for the default.
    pub(crate) connections: Option<usize>,
    /// For the bare loop: the answer.
    pub(crate) answer: BareAnswer,
    /// The upstream; `None` if the server serves the documents itself.
    pub(crate) upstream: Option<Upstream>,
    /// Threads or processes.
    pub(crate) workers: usize,
}

/// An upstream and its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upstream {
    /// An HTTP/1.1 server.
    Http(SocketAddrV4),
    /// PHP-FPM, for the scripts among the documents.
    Php(SocketAddrV4),
}

/// The constant answer of the bare loop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BareAnswer {
    /// Bytes of the whole response.
    pub(crate) bytes: usize,
    /// Bytes of its content.
    pub(crate) content: usize,
    /// One request per connection.
    pub(crate) per_request: bool,
}

impl Server {
    /// The name in options and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hayami => "hayami",
            Self::Nginx => "nginx",
            Self::NginxWide => "nginx-10240",
            Self::NginxFiles => "nginx-files",
            Self::NginxFilesDelay => "nginx-files-delay",
            Self::NginxDelay => "nginx-delay",
            Self::NginxTuned => "nginx-tuned",
            Self::NginxHttp2 => "nginx-http2",
            Self::H2o => "h2o",
            Self::Nghttpd => "nghttpd",
            Self::Haproxy => "haproxy",
            Self::Apache => "apache",
            Self::Lighttpd => "lighttpd",
            Self::Caddy => "caddy",
            Self::Bare => "bare",
        }
    }

    /// The version string, or why there is none: the server is not installed.
    ///
    /// # Errors
    /// One line that names the Debian package to install.
    pub(crate) fn version(self) -> Result<String, String> {
        match self {
            Self::Hayami => hayami::version(),
            Self::Nginx
            | Self::NginxWide
            | Self::NginxFiles
            | Self::NginxFilesDelay
            | Self::NginxDelay
            | Self::NginxTuned
            | Self::NginxHttp2 => nginx::version(),
            Self::H2o => h2o::version(),
            Self::Nghttpd => nghttpd::version(),
            Self::Haproxy => haproxy::version(),
            Self::Apache => apache::version(),
            Self::Lighttpd => lighttpd::version(),
            Self::Caddy => caddy::version(),
            Self::Bare => bare::version(),
        }
    }

    /// Writes the configuration and returns the command that runs the server with it in the foreground.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn command(self, site: &Site<'_>) -> Result<Command, String> {
        match self {
            Self::Hayami => hayami::command(site),
            Self::Nginx => nginx::command(site, nginx::SHIPPED),
            Self::NginxWide => nginx::command(site, nginx::WIDE),
            Self::NginxFiles => nginx::command(site, nginx::FILES),
            Self::NginxFilesDelay => nginx::command(site, nginx::FILES_DELAY),
            Self::NginxDelay => nginx::command(site, nginx::DELAY),
            Self::NginxTuned => nginx::command(site, nginx::TUNED),
            Self::NginxHttp2 => nginx::command(site, nginx::HTTP2),
            Self::H2o => h2o::command(site),
            Self::Nghttpd => Ok(nghttpd::command(site)),
            Self::Haproxy => haproxy::command(site),
            Self::Apache => apache::command(site),
            Self::Lighttpd => lighttpd::command(site),
            Self::Caddy => caddy::command(site),
            Self::Bare => bare::command(site),
        }
    }
}

/// The binary of hayami, which also generates the load.
pub(crate) fn hayami_binary() -> PathBuf {
    hayami::binary()
}

/// The folder of release binaries of this build.
pub(crate) fn release_folder() -> PathBuf {
    hayami::release_folder()
}

/// The same command with a limit of open files, soft and hard, that it cannot raise.
pub(crate) fn with_open_files(command: &Command, limit: u64) -> Command {
    let mut limited = Command::new("sh");
    limited.arg("-c").arg(format!("ulimit -n {limit} && exec \"$0\" \"$@\""));
    limited.arg(command.get_program()).args(command.get_args());
    limited
}

/// The path of a program: from the environment variable of its name (`NGINX=/opt/nginx/sbin/nginx` for
/// `nginx`), else from PATH or the administrators' folders that may be missing in PATH.
pub(crate) fn program(name: &str) -> PathBuf {
    program_in(name, |variable| std::env::var_os(variable))
}

fn program_in(name: &str, variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    if let Some(other) = variable(&name.to_ascii_uppercase()).filter(|path| !path.is_empty()) {
        return other.into();
    }
    let path = variable("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| name.into())
}

/// The first line that `program argument` prints, to either stream.
fn first_line(program: &Path, argument: &str, package: &str) -> Result<String, String> {
    let output = Command::new(program).arg(argument).output();
    let output =
        output.map_err(|error| format!("{}: {error} (Debian package {package})", program.display()))?;
    let printed = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&printed);
    match text.lines().next() {
        Some(line) => Ok(line.trim().to_owned()),
        None => Err(format!("{} {argument}: prints nothing", program.display())),
    }
}

/// Writes a configuration file into the server's folder.
fn write(site: &Site<'_>, name: &str, text: &str) -> Result<PathBuf, String> {
    let path = site.folder.join(name);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_may_name_other_builds_of_peers() {
        let environment = |name: &str| match name {
            "NGINX" => Some("/opt/nginx/sbin/nginx".into()),
            "CADDY" => Some(OsString::new()),
            "PATH" => Some("/usr/bin:/bin".into()),
            _ => None,
        };
        assert_eq!(program_in("nginx", environment), PathBuf::from("/opt/nginx/sbin/nginx"));
        assert_eq!(program_in("caddy-that-is-nowhere", environment), PathBuf::from("caddy-that-is-nowhere"));
        assert!(program_in("sh", environment).is_absolute());
    }

    #[test]
    fn servers_have_names_of_their_own() {
        let mut names = ALL.map(Server::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
