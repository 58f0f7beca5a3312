//! The site to serve: a configuration file, or a directory, which is turned into a configuration.

use crate::args::Args;
use crate::dev_tls::{self, DevTls};
use crate::exit::Failure;
use crate::explain::CONFIG;
use crate::hints::check_directory;
use hayami_server::config::Loaded;
use hayami_server::features::{load_file, load_text};
use hayami_server::modules::upstreams;
use std::path::Path;
use std::sync::Arc;

/// Reads the configuration that the command line names; `warn` gets its warnings, with colours for a terminal if `styled`.
///
/// # Errors
/// The directory is missing, or the configuration is invalid.
pub(crate) fn load(args: &Args, styled: bool, warn: &(dyn Fn(&str) + Sync)) -> Result<Site, Failure> {
    let dev_tls = args.dev_tls.then(dev_tls::prepare).transpose()?;
    let loaded = match &args.conf {
        Some(file) if !file.exists() => Err(Failure::NoInput(format!(
            "there is no file `{}`; `-c` takes a configuration file",
            file.display()
        )))?,
        Some(file) => load_file(file),
        None => load_text("the command line", &folder(&args.dir, &listen(args), dev_tls.as_ref())?),
    };
    let mut loaded =
        loaded.map_err(|errors| Failure::Rendered { code: CONFIG, text: errors.text(styled) })?;
    let settings = Arc::make_mut(&mut loaded.settings);
    loaded.warnings.extend(upstreams::look_up_names(settings.global.get_mut::<upstreams::Settings>()));
    warn(&loaded.warnings_text(styled));
    Ok(Site { loaded, dev_tls })
}

/// The site to serve.
pub(crate) struct Site {
    /// The configuration.
    pub loaded: Loaded,
    /// The certificate that was made for it.
    pub dev_tls: Option<DevTls>,
}

/// The address to listen on.
fn listen(args: &Args) -> String {
    let default = if args.dev_tls { "127.0.0.1:8443" } else { "127.0.0.1:8080" };
    args.listen.clone().unwrap_or_else(|| default.to_owned())
}

/// What a start without a configuration file would serve, and where.
///
/// # Errors
/// The address to listen on is invalid.
pub(crate) fn outlook(args: &Args) -> Result<String, Failure> {
    let listen = listen(args);
    let (host, port) = address(&listen)?;
    let scheme = if args.dev_tls { "https" } else { "http" };
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    Ok(format!("would serve {} at {scheme}://{host}:{port}/", args.dir.display()))
}

/// A configuration that serves a directory: index files, listings, precompressed files next to the originals.
fn folder(dir: &Path, listen: &str, dev_tls: Option<&DevTls>) -> Result<String, Failure> {
    check_directory(dir)?;
    let (host, port) = address(listen)?;
    let ssl = match dev_tls {
        Some(DevTls { identity, .. }) => {
            let identity = quoted(text(identity)?);
            format!(
                "  ssl:\n    certificate-file: {identity}\n    key-file: {identity}\n    ocsp-update-interval: 0\n"
            )
        }
        None => String::new(),
    };
    Ok(format!(
        "listen:\n  host: {}\n  port: {port}\n{ssl}file.dirlisting: ON\nfile.send-compressed: ON\n\
         hosts:\n  default:\n    paths:\n      /:\n        file.dir: {}\n",
        quoted(host),
        quoted(text(dir)?)
    ))
}

fn text(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| {
        Failure::NoInput(format!(
            "the path `{}` is not UTF-8, which a configuration has to be; rename it",
            path.display()
        ))
    })
}

/// A scalar that YAML reads literally.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// `PORT`, `HOST:PORT` or `[ADDRESS]:PORT`.
fn address(listen: &str) -> Result<(&str, u16), Failure> {
    let (host, port) = listen.rsplit_once(':').unwrap_or(("127.0.0.1", listen));
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().map_err(|_| {
        Failure::Usage(match is_number {
            true => format!("`{port}` is not a port: ports are 0 to 65535"),
            false => format!("`{listen}` is not an address to listen on; write a port, or ADDRESS:PORT"),
        })
    })?;
    Ok((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_a_port_or_a_host_and_a_port() {
        assert_eq!(address("8080").ok(), Some(("127.0.0.1", 8080)));
        assert_eq!(address("0.0.0.0:80").ok(), Some(("0.0.0.0", 80)));
        assert_eq!(address("[::1]:80").ok(), Some(("::1", 80)));
        for wrong in ["", "x", "1:2:x", "localhost", "1:99999"] {
            assert_eq!(address(wrong).expect_err(wrong).code(), 64);
        }
        for large in ["99999", "[::1]:99999"] {
            let text = address(large).expect_err(large).to_string();
            assert_eq!(text, "hayami: `99999` is not a port: ports are 0 to 65535");
        }
    }

    #[test]
    fn a_folder_becomes_a_configuration_whatever_its_name() {
        let dir = std::env::temp_dir().join(format!("hayami 'odd' name: {}", std::process::id()));
        std::fs::create_dir(&dir).expect("made");
        let text = folder(&dir, "8080", None).expect("a configuration");
        let loaded = load_text("test", &text).map_err(|e| e.text(false)).expect("it loads");
        assert_eq!(loaded.settings.hosts.len(), 1);
        std::fs::remove_dir(&dir).expect("removed");
        assert_eq!(folder(&dir, "8080", None).expect_err("gone").code(), 66);
    }
}
