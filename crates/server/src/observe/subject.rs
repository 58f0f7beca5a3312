//! Severity and subject of a line in the error log. Scripts match on these words: they must not change.

use std::fmt;

/// The severity of a line; the names are those of syslog and nginx.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The server exits, or has a bug.
    Crit,
    /// A request failed, or something configured does not work.
    Error,
    /// The server continues without loss, but the operator should take a look.
    Warn,
    /// The state of the server or of something it depends on has changed.
    Notice,
    /// The client is at fault.
    Info,
}

impl Severity {
    /// All severities, the most important first.
    pub const ALL: [Self; 5] = [Self::Crit, Self::Error, Self::Warn, Self::Notice, Self::Info];

    /// The word in the line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Crit => "crit",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Notice => "notice",
            Self::Info => "info",
        }
    }
}

/// The subjects, each with its first word and description. `docs/behaviour.md` has the same table.
macro_rules! subjects {
    ($($name:ident $word:literal $about:literal,)*) => {
        /// What a line is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Subject {
            $(#[doc = $about] $name,)*
        }

        /// First words and descriptions, in the order of [`Subject`].
        const SUBJECTS: &[(&str, &str)] = &[$(($word, $about),)*];
    };
}

subjects! {
    Access "access" "files of addresses and of users, when they change",
    AccessLog "access-log" "lost lines; a log command that exited",
    Application "application" "what a FastCGI application writes to its standard error",
    Compression "compression" "responses sent uncompressed, since encoders may take no more memory",
    Connection "connection" "a connection that failed before it brought a request",
    Panic "panic" "a bug in hayami; please report the line",
    Request "request" "a request that was refused or failed",
    Server "server" "startup, signals, shutdown; omitted lines",
    Spawn "spawn" "applications that `fastcgi.spawn` starts",
    Tls "tls" "certificates, OCSP responses, session tickets, session stores",
    Upstream "upstream" "an upstream's connections, name, health checks; incomplete content",
}

impl Subject {
    /// The first word of the line.
    pub fn word(self) -> &'static str {
        SUBJECTS[self as usize].0
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_explains_every_severity_and_every_first_word() {
        let manual = include_str!("../../../../docs/behaviour.md");
        for (word, about) in SUBJECTS {
            let row = format!("| `{word}` | {about} |");
            assert!(manual.contains(&row), "docs/behaviour.md lacks: {row}");
        }
        for severity in Severity::ALL {
            assert!(manual.contains(&format!("| `{severity}` | ")), "docs/behaviour.md lacks `{severity}`");
        }
    }
}
