//! The command line.

use crate::exit::Failure;
use crate::hints;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;
use std::path::PathBuf;

const USAGE: &str = "\
hayami [OPTIONS] [DIR]
       hayami [OPTIONS] --conf FILE
       hayami bench [OPTIONS] URL
       hayami reload [SOCKET]";

const AFTER_HELP: &str = "\
Examples:
  hayami                      serve this directory at http://127.0.0.1:8080
  hayami -l 9000              serve it at http://127.0.0.1:9000
  hayami public -l 0.0.0.0:80 serve the directory `public` on all interfaces
  hayami --dev-tls public     serve it at https://127.0.0.1:8443, with a certificate made for this machine
  hayami -c h2o.conf          run a configuration file (h2o's format)
  hayami -t -c h2o.conf       check it; with -v, print the effective settings of every host and path
  hayami reload               have the running server read its configuration again
  hayami bench URL            generate load on a server and measure it; see hayami bench --help
  hayami help, hayami version the same as --help and --version; a directory of that name is ./help

Signals:
  SIGTERM, SIGINT             stop accepting, finish open requests, exit 0; a second one, half a second
                              later or more, exits at once
  SIGHUP                      read the configuration, certificates and keys again, as hayami reload does

Exit codes:
  0  success                    71  the system refused something (a directory that the
  64 wrong command line             server's user cannot enter, threads, limits)
  66 no such directory or file  73  a file cannot be created (logs, pid-file, unix sockets)
  69 the address is in use      77  not permitted (port below 1024, user)
                                78  the configuration is invalid";

/// The fastest way to serve files over HTTP, with nothing to tune.
#[derive(Clone, Debug, Parser, PartialEq, Eq)]
#[command(name = "hayami", disable_version_flag = true, override_usage = USAGE, after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The directory to serve
    #[arg(value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,

    /// Use this configuration file
    #[arg(short, long, value_name = "FILE")]
    pub conf: Option<PathBuf>,

    /// With DIR: the address to listen on; a port alone means 127.0.0.1 [default: 127.0.0.1:8080, or
    /// 127.0.0.1:8443 with --dev-tls]
    #[arg(short, long, value_name = "[ADDRESS:]PORT", conflicts_with = "conf")]
    pub listen: Option<String>,

    /// With DIR: serve https, with a certificate from an authority that is created and kept for this machine
    #[arg(long, conflicts_with = "conf")]
    pub dev_tls: bool,

    /// How to run: `worker`, in the foreground (`master` and `daemon` are not supported yet)
    #[arg(short, long, value_name = "MODE", default_value = "worker")]
    pub mode: String,

    /// Check the configuration and exit
    #[arg(short, long)]
    pub test: bool,

    /// With -t: print what is set and where; with -vv the defaults too. Alone: the same as --version
    #[arg(short, action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// Print the version and the features, a line each
    #[arg(short = 'V', long)]
    pub version: bool,
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Print a text and exit.
    Print(String),
    /// Check the configuration.
    Check(Args),
    /// Serve.
    Serve(Args),
}

/// Reads the command line.
///
/// # Errors
/// [`Failure::Usage`] with clap's own explanation.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, Failure> {
    let mut words: Vec<_> = args.into_iter().collect();
    // A directory of such a name is `./help`.
    match words.get(1).and_then(|word| word.to_str()).filter(|_| words.len() == 2) {
        Some("help") => words[1] = "--help".into(),
        Some("version") => words[1] = "--version".into(),
        _ => {}
    }
    let matches = match Args::command().try_get_matches_from(&words) {
        Ok(matches) => matches,
        Err(error) if error.kind() == ErrorKind::DisplayHelp => return Ok(Command::Print(error.to_string())),
        Err(error) => return Err(Failure::Usage(explained(&error, &words))),
    };
    let args = Args::from_arg_matches(&matches).map_err(|error| Failure::Usage(explained(&error, &words)))?;
    // Not by clap, whose message would show the combination as the usage.
    if args.conf.is_some() && matches.value_source("dir") == Some(ValueSource::CommandLine) {
        return Err(Failure::Usage(format!(
            "a configuration names its directories itself: leave out `{}`",
            args.dir.display()
        )));
    }
    if args.version || (args.verbose > 0 && !args.test) {
        return Ok(Command::Print(version()));
    }
    check_mode(&args.mode)?;
    Ok(if args.test { Command::Check(args) } else { Command::Serve(args) })
}

/// clap's message, unless another command was probably meant.
fn explained(error: &clap::Error, words: &[OsString]) -> String {
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if error.kind() == ErrorKind::UnknownArgument => word.as_str(),
        _ => "",
    };
    let words: Vec<_> = words.iter().skip(1).filter_map(|word| word.to_str()).collect();
    if let Some(meant) = hints::unknown_argument(unknown, &words) {
        return meant;
    }
    let text = error.to_string();
    // hayami accepts no value that begins with a dash.
    let lines: Vec<_> = text.lines().filter(|line| !line.contains("tip: to pass '")).collect();
    lines.join("\n").replace("\n\n\n", "\n\n").trim_start_matches("error: ").trim_end().to_owned()
}

fn check_mode(mode: &str) -> Result<(), Failure> {
    match mode {
        "worker" => Ok(()),
        "test" => Err(Failure::Usage("`-m test` is `-t` in hayami: `hayami -t -c FILE`".into())),
        "master" | "daemon" => Err(Failure::Usage(format!(
            "`-m {mode}` is not supported yet; run in the foreground (`-m worker`, the default) under systemd or \
             another supervisor"
        ))),
        _ => Err(Failure::Usage(format!("unknown mode `{mode}`; use `-m worker`"))),
    }
}

/// Name and version, then a line for each feature.
pub(crate) fn version() -> String {
    let features = [
        ("HTTP/1.1", "YES"),
        ("HTTP/2", "YES"),
        ("HTTP/3", "not yet"),
        ("TLS", "1.2, 1.3"),
        ("proxy", "HTTP/1.1, HTTP/2"),
        ("fastcgi", "YES"),
        ("configuration", "h2o.conf (YAML 1.1)"),
        ("compression", "br, zstd, gzip"),
        ("mruby", "NO"),
    ];
    let lines = features.iter().map(|(name, value)| format!("{name}: {value}\n"));
    format!("hayami version {}\n{}", env!("CARGO_PKG_VERSION"), lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, Failure> {
        parse(line.split(' ').map(Into::into))
    }

    #[test]
    fn a_folder_or_a_file_is_served_and_not_both() {
        assert!(matches!(parsed("hayami"), Ok(Command::Serve(a)) if a.dir == std::path::Path::new(".")));
        assert!(matches!(parsed("hayami -m worker -c f"), Ok(Command::Serve(a)) if a.conf.is_some()));
        assert!(matches!(parsed("hayami -t -c f"), Ok(Command::Check(_))));
        assert!(matches!(parsed("hayami dir -c f"), Err(Failure::Usage(_))));
        assert!(matches!(parsed("hayami --dev-tls dir"), Ok(Command::Serve(a)) if a.dev_tls));
        assert!(matches!(parsed("hayami --dev-tls -c f"), Err(Failure::Usage(_))));
    }

    #[test]
    fn modes_that_are_not_there_say_what_to_do() {
        for (mode, word) in
            [("master", "systemd"), ("daemon", "foreground"), ("test", "-t"), ("x", "-m worker")]
        {
            let Err(Failure::Usage(text)) = parsed(&format!("hayami -m {mode}")) else {
                panic!("{mode} is refused")
            };
            assert!(text.contains(word), "{text}");
        }
    }

    #[test]
    fn the_version_is_a_name_and_then_features() {
        let Ok(Command::Print(text)) = parsed("hayami --version") else { panic!("a text") };
        assert!(text.starts_with("hayami version 0."));
        assert!(text.lines().skip(1).all(|line| line.contains(": ")));
        for line in ["hayami -v", "hayami -V", "hayami version"] {
            assert_eq!(parsed(line).ok().as_ref(), Some(&Command::Print(text.clone())), "{line}");
        }
        let help = parsed("hayami --help").ok();
        assert!(matches!(&help, Some(Command::Print(text)) if text.contains("Exit codes")));
        assert_eq!(parsed("hayami help").ok(), help);
        assert!(
            matches!(parsed("hayami ./help"), Ok(Command::Serve(a)) if a.dir == std::path::Path::new("./help"))
        );
    }
}
