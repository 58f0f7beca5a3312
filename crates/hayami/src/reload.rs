//! SIGHUP: certificates, keys and authorities of clients are read again, for the connections that come.

use hayami_server::modules::listen::{Acceptors, Reloaded};

/// Reads all files of TLS again, and says what came of it.
pub(crate) fn certificates(acceptors: &mut Acceptors) {
    if acceptors.is_empty() {
        return eprintln!("hayami: SIGHUP: there are no certificates to read again; {ELSE}");
    }
    eprint!("{}", said(&acceptors.reload()));
}

/// What nobody should wait for.
const ELSE: &str = "all else in the configuration takes effect at a restart";

/// A line for everything that stays as it was, and one for what does not.
fn said(reloaded: &Reloaded) -> String {
    let kept = reloaded.failed.iter();
    let mut lines: String =
        kept.map(|why| format!("hayami: SIGHUP: the old certificate stays: {why}\n")).collect();
    let Reloaded { certificates, changed, .. } = reloaded;
    let plural = if *certificates == 1 { "" } else { "s" };
    lines.push_str(&format!(
        "hayami: SIGHUP: {certificates} certificate{plural} read again, {changed} of them new; {ELSE}\n"
    ));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_read_is_said_before_what_could() {
        let failed = vec!["a.crt: it expired".to_owned()];
        let text = said(&Reloaded { certificates: 1, changed: 0, failed });
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("hayami: SIGHUP: the old certificate stays: a.crt: it expired"));
        let last = lines.next().expect("a second line");
        assert!(
            last.starts_with("hayami: SIGHUP: 1 certificate read again, 0 of them new; all else"),
            "{last}"
        );
    }
}
