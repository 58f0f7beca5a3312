//! SIGHUP: certificates, keys and authorities of clients are read again, for the connections that come.

use crate::error_log::Console;
use crate::workers;
use hayami_server::modules::listen::{Acceptors, Reloaded};
use hayami_server::observe::{Severity, Subject, report};

/// What reading again takes.
pub(crate) struct Reload {
    /// How many OCSP responses are fetched at once.
    pub updaters: usize,
    /// The user that the program became, if it was root.
    pub user: Option<String>,
}

/// What nobody should wait for.
const ELSE: &str = "other changes of the configuration need a restart";

impl Reload {
    /// Reads all files of TLS again, and says what came of it. What failed goes to the caller's standard error, too: it is
    /// the journal where systemd started the server, which shows it by `systemctl status`.
    pub(crate) fn certificates(&self, acceptors: &mut Acceptors, console: &Console) {
        if acceptors.is_empty() {
            let text = format_args!("SIGHUP: there are no certificates to reload; {ELSE}");
            return report(Severity::Warn, Subject::Server, text);
        }
        for (severity, line) in self.lines(&acceptors.reload(self.updaters, &workers::report())) {
            if severity == Severity::Error && console.is_apart() {
                console.say(&format!("hayami: {line}"));
            }
            report(severity, Subject::Tls, line);
        }
    }

    /// A line for every certificate that stays as it was, and one for the others.
    fn lines(&self, reloaded: &Reloaded) -> Vec<(Severity, String)> {
        let Reloaded { certificates, changed, failed } = reloaded;
        let stays = |why: &String| {
            (Severity::Error, format!("SIGHUP: the old certificate stays: {why}{}", self.advice(why)))
        };
        let mut lines: Vec<_> = failed.iter().map(stays).collect();
        let plural = if *certificates == 1 { "" } else { "s" };
        let done = format!("SIGHUP: {certificates} certificate{plural} reloaded, {changed} changed; {ELSE}");
        lines.push((Severity::Notice, done));
        lines
    }

    /// What root could read at the start may be out of reach now.
    fn advice(&self, why: &str) -> String {
        match &self.user {
            Some(user) if why.contains("ermission denied") => {
                format!(" (the server runs as `{user}`: let this user read the file, or restart the server)")
            }
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_read_is_said_before_what_could() {
        let reload = Reload { updaters: 1, user: Some("nobody".to_owned()) };
        let failed = vec!["a.crt: it expired".to_owned(), "b.key: Permission denied".to_owned()];
        let lines = reload.lines(&Reloaded { certificates: 1, changed: 0, failed });
        let (severities, lines): (Vec<_>, Vec<_>) = lines.into_iter().unzip();
        assert_eq!(severities, [Severity::Error, Severity::Error, Severity::Notice]);
        assert_eq!(lines[0], "SIGHUP: the old certificate stays: a.crt: it expired");
        assert!(lines[1].contains("denied (the server runs as `nobody`: let"), "{}", lines[1]);
        assert!(lines[2].starts_with("SIGHUP: 1 certificate reloaded, 0 changed; "), "{}", lines[2]);
    }
}
