//! SIGHUP: certificates, keys and authorities of clients are read again, for the connections that come.

use crate::workers;
use hayami_server::modules::listen::{Acceptors, Reloaded};

/// What reading again takes.
pub(crate) struct Reload {
    /// How many OCSP responses are fetched at once.
    pub updaters: usize,
    /// The user that the program became, if it was root.
    pub user: Option<String>,
}

/// What nobody should wait for.
const ELSE: &str = "all else in the configuration takes effect at a restart";

impl Reload {
    /// Reads all files of TLS again, and says what came of it.
    pub(crate) fn certificates(&self, acceptors: &mut Acceptors) {
        if acceptors.is_empty() {
            return eprintln!("hayami: SIGHUP: there are no certificates to read again; {ELSE}");
        }
        eprint!("{}", self.said(&acceptors.reload(self.updaters, &workers::report())));
    }

    /// A line for everything that stays as it was, and one for what does not.
    fn said(&self, reloaded: &Reloaded) -> String {
        let mut lines = String::new();
        for why in &reloaded.failed {
            lines
                .push_str(&format!("hayami: SIGHUP: the old certificate stays: {why}{}\n", self.advice(why)));
        }
        let Reloaded { certificates, changed, .. } = reloaded;
        let plural = if *certificates == 1 { "" } else { "s" };
        lines
            + &format!(
                "hayami: SIGHUP: {certificates} certificate{plural} read again, {changed} of them new; {ELSE}\n"
            )
    }

    /// What root could read at the start may be out of reach now.
    fn advice(&self, why: &str) -> String {
        match &self.user {
            Some(user) if why.contains("ermission denied") => {
                format!(
                    " (the server is `{user}` by now: let this user read the file, or restart the server)"
                )
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
        let text = reload.said(&Reloaded { certificates: 1, changed: 0, failed });
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "hayami: SIGHUP: the old certificate stays: a.crt: it expired");
        assert!(lines[1].contains("denied (the server is `nobody` by now: let"), "{}", lines[1]);
        assert!(
            lines[2].starts_with("hayami: SIGHUP: 1 certificate read again, 0 of them new"),
            "{}",
            lines[2]
        );
    }
}
