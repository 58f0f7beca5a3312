//! The text that is printed when the server is ready.

use crate::descriptors::OpenFiles;
use crate::dev_tls::DevTls;
use crate::sockets::Bound;
use std::path::Path;

/// The contents of the banner.
pub(crate) struct Facts<'a> {
    /// The directory or the configuration file.
    pub what: String,
    /// The sockets.
    pub bound: &'a [Bound],
    /// Number of workers.
    pub workers: usize,
    /// The open-files limit.
    pub files: OpenFiles,
    /// Connections that are served at once.
    pub connections: usize,
    /// The control socket.
    pub control: Option<&'a Path>,
    /// The certificate that was made for this machine.
    pub dev_tls: Option<&'a DevTls>,
}

/// Several lines for people, the last of them `ready` with the process id for scripts.
pub(crate) fn text(facts: &Facts<'_>) -> String {
    let mut lines = vec![format!("hayami {} serves {}", env!("CARGO_PKG_VERSION"), facts.what)];
    let mut row = |name: &str, value: String| lines.push(format!("  {name:<12}{value}"));
    for bound in facts.bound {
        row("address", bound.to_string());
    }
    row("workers", facts.workers.to_string());
    row("open files", files(facts.files));
    row("connections", format!("{} at once", facts.connections));
    row("process", std::process::id().to_string());
    if let Some(control) = facts.control {
        row("control", control.display().to_string());
    }
    if let Some((dev_tls, bound)) = facts.dev_tls.zip(facts.bound.first()) {
        row(
            "authority",
            format!("{} signs the certificate; to trust it, one of:", dev_tls.authority.display()),
        );
        dev_tls.advice(&bound.to_string()).into_iter().for_each(|(program, command)| row(program, command));
    }
    lines.push("ready".to_owned());
    lines.join("\n")
}

/// The same as one line for the error log.
pub(crate) fn line(facts: &Facts<'_>) -> String {
    let addresses: Vec<_> = facts.bound.iter().map(ToString::to_string).collect();
    let (version, process) = (env!("CARGO_PKG_VERSION"), std::process::id());
    format!(
        "hayami {version} serves {} at {} with {} workers, process {process}",
        facts.what,
        addresses.join(", "),
        facts.workers
    )
}

fn files(files: OpenFiles) -> String {
    match files.before == files.now {
        true => format!("{} (the hard limit)", files.now),
        false => format!("{} (raised from {})", files.now, files.before),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_names_what_is_served_and_that_it_is_ready() {
        let files = OpenFiles { before: 1024, now: 20_000 };
        let facts = Facts {
            what: "public".into(),
            bound: &[],
            workers: 2,
            files,
            connections: 900,
            control: Some(Path::new("/run/hayami/1.sock")),
            dev_tls: None,
        };
        let text = text(&facts);
        assert!(text.starts_with("hayami "), "{text}");
        assert!(text.contains("open files  20000 (raised from 1024)"), "{text}");
        assert!(text.contains(&format!("process     {}\n", std::process::id())), "{text}");
        assert!(text.contains("control     /run/hayami/1.sock\n"), "{text}");
        assert!(text.ends_with("\nready"), "{text}");
    }
}
