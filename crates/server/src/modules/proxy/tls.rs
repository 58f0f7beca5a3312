//! `proxy.ssl.*`: TLS to upstreams: which certificates are trusted, and the client certificate.
//!
//! Files are read with the directive that names them, so that errors have its position. The connector is created once
//! for all levels of the configuration with equal settings, and for all workers: they share sessions for resumption.

use super::Url;
use crate::config::attribute::{self, Attribute};
use crate::config::directive::{Directive, Levels, Scope};
use crate::config::error::ConfigError;
use crate::config::yaml::Node;
use crate::modules::listen::ssl::{FileName, Files};
use hayami_client as upstream;
use hayami_tls::{Authorities, ClientSettings, Connector, Error, Identity, Sessions, Trust};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The most sessions that may be kept: at 2 KB each, 2 GB.
const MOST_SESSIONS: u64 = 1 << 20;
/// RFC 8446 §4.6.1: tickets are valid for a week at most.
const WEEK: u64 = 604_800;

/// Settings of TLS connections.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    written: Written,
    /// Created on first use; clones share it as long as they have equal settings.
    connector: Arc<OnceLock<Connector>>,
}

/// The settings as written.
#[derive(Clone, Debug)]
struct Written {
    verify: bool,
    authorities: Option<Authorities>,
    identity: Option<(Files, Identity)>,
    name: Option<String>,
    sessions: Option<Sessions>,
}

impl Default for Written {
    fn default() -> Self {
        let sessions = Some(Sessions::default());
        Self { verify: true, authorities: None, identity: None, name: None, sessions }
    }
}

impl PartialEq for Tls {
    /// Whether the same settings are written.
    fn eq(&self, other: &Self) -> bool {
        let files = |written: &Written| written.identity.as_ref().map(|(files, _)| files.clone());
        let plain = |written: &Written| (written.verify, written.name.clone(), written.sessions);
        let (ours, theirs) = (&self.written, &other.written);
        plain(ours) == plain(theirs) && ours.authorities == theirs.authorities && files(ours) == files(theirs)
    }
}

impl Tls {
    fn change(&mut self, change: impl FnOnce(&mut Written)) {
        change(&mut self.written);
        self.connector = Arc::default();
    }

    fn settings(&self) -> ClientSettings {
        let Written { verify, authorities, identity, name, sessions } = self.written.clone();
        let trust = match (verify, authorities) {
            (false, _) => Trust::Anyone,
            (true, Some(authorities)) => Trust::Only(authorities),
            (true, None) => Trust::Machine(None),
        };
        ClientSettings {
            identity: identity.map(|(_, identity)| identity),
            server_name: name,
            resumption: sessions.is_some(),
            sessions: sessions.unwrap_or_default(),
            ..ClientSettings::new(trust)
        }
    }

    fn connector(&self) -> Result<&Connector, Error> {
        if self.connector.get().is_none() {
            let made = Connector::new(&self.settings())?;
            let _ = self.connector.set(made); // lost the race: the other connector is equal
        }
        Ok(self.connector.get().expect("it was set above"))
    }

    /// Checks that TLS to upstreams is possible with these settings; `node` names one of them.
    ///
    /// # Errors
    /// The system has no trusted certificates.
    pub(in crate::modules) fn check(&self, node: &Node) -> Result<(), ConfigError> {
        self.connector().map(drop).map_err(|error| {
            let help = "name a file of certificate authorities in `proxy.ssl.cafile`";
            node.error(error.to_string()).help(help)
        })
    }

    /// The TLS settings of connections to an upstream; `None`: cleartext.
    ///
    /// # Errors
    /// The system has no trusted certificates.
    pub(super) fn origin(&self, url: &Url) -> Result<Option<upstream::Tls>, Error> {
        let tls =
            || Ok(upstream::Tls { connector: self.connector()?.clone(), name: url.server_name().to_owned() });
        url.tls.then(tls).transpose()
    }
}

/// The directives of TLS to upstreams.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "proxy.ssl.verify-peer",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "ON | OFF",
        default: "ON",
        help: "Whether the certificate of an `https` upstream is verified: issued by a trusted authority, \
               for the URL's host, and currently valid. With OFF, anyone on the network path can read the \
               traffic and impersonate the upstream.",
        set: |scope, node| {
            let on = node.on_off()?;
            own(scope).change(|written| written.verify = on);
            Ok(())
        },
    },
    Directive {
        name: "proxy.ssl.cafile",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "a file",
        default: "the system's trusted authorities",
        help: "The certificate authorities (PEM) that are trusted for upstreams, instead of the system's; \
               self-signed certificates of upstreams may be listed directly.",
        set: |scope, node| {
            let file = file(node)?;
            let authorities = Authorities::read(&file.path)
                .map_err(|error| ConfigError::new(file.at, error.to_string()))?;
            own(scope).change(|written| written.authorities = Some(authorities));
            Ok(())
        },
    },
    Directive {
        name: "proxy.ssl.session-cache",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "ON | OFF | {lifetime: SECONDS, capacity: N}",
        default: "ON",
        help: "Whether connections to upstreams resume earlier TLS sessions, which saves full handshakes. \
               All workers share the sessions; ON means a `lifetime` of 86400 seconds and a `capacity` of \
               4096 sessions.",
        set: |scope, node| {
            let sessions = sessions(node)?;
            own(scope).change(|written| written.sessions = sessions);
            Ok(())
        },
    },
    Directive {
        name: "proxy.ssl.certificate",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "{certificate-file: FILE, key-file: FILE} | OFF",
        default: "OFF",
        help: "The client certificate chain for upstreams that request one, and its private key (both PEM).",
        set: |scope, node| {
            let identity = identity(node)?;
            own(scope).change(|written| written.identity = identity);
            Ok(())
        },
    },
    Directive {
        name: "proxy.ssl.name",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "a host name",
        default: "the host of the upstream's URL",
        help: "The name that is sent (SNI) and that the upstream's certificate must match: for upstreams \
               whose URL has an IP address.",
        set: |scope, node| {
            let name = node.text()?;
            Connector::check_name(name).map_err(|error| node.error(error.to_string()))?;
            own(scope).change(|written| written.name = Some(name.to_owned()));
            Ok(())
        },
    },
];

fn own<'a>(scope: &'a mut Scope<'_>) -> &'a mut Tls {
    &mut scope.inherited.get_mut::<super::Settings>().tls
}

fn file(node: &Node) -> Result<FileName, ConfigError> {
    match node.text() {
        Ok(path) if !path.is_empty() => Ok(FileName { path: PathBuf::from(path), at: node.at }),
        _ => Err(node.expected("the name of a file")),
    }
}

const BOUNDS: &[Attribute<Sessions>] = &[
    Attribute {
        name: "lifetime",
        argument: "seconds",
        default: "86400",
        help: "How long a session can be resumed, unless the upstream sets a shorter time.",
        set: |sessions, node| {
            sessions.lifetime = node.whole_seconds(1..=WEEK).map(Duration::from_secs)?;
            Ok(())
        },
    },
    Attribute {
        name: "capacity",
        argument: "a number",
        default: "4096",
        help: "The maximum number of cached sessions.",
        set: |sessions, node| {
            sessions.capacity = node.integer(1..=MOST_SESSIONS)? as usize;
            Ok(())
        },
    },
];

fn sessions(node: &Node) -> Result<Option<Sessions>, ConfigError> {
    let mut sessions = Sessions::default();
    if node.mapping().is_ok() {
        attribute::read(BOUNDS, "proxy.ssl.session-cache", &mut sessions, node)?;
        return Ok(Some(sessions));
    }
    Ok(node.on_off()?.then_some(sessions))
}

#[derive(Default)]
struct Pair {
    certificate: Option<FileName>,
    key: Option<FileName>,
}

const FILES: &[Attribute<Pair>] = &[
    Attribute {
        name: "certificate-file",
        argument: "a file",
        default: "",
        help: "The certificate.",
        set: |pair, node| {
            pair.certificate = Some(file(node)?);
            Ok(())
        },
    },
    Attribute {
        name: "key-file",
        argument: "a file",
        default: "",
        help: "Its private key.",
        set: |pair, node| {
            pair.key = Some(file(node)?);
            Ok(())
        },
    },
];

fn identity(node: &Node) -> Result<Option<(Files, Identity)>, ConfigError> {
    if node.is("OFF") || node.is("off") {
        return Ok(None);
    }
    let mut pair = Pair::default();
    attribute::read(FILES, "proxy.ssl.certificate", &mut pair, node)?;
    let missing = |name: &str| node.error(format!("`{name}` is missing"));
    let files = Files {
        certificate: pair.certificate.ok_or_else(|| missing("certificate-file"))?,
        key: pair.key.ok_or_else(|| missing("key-file"))?,
        ocsp: None,
    };
    let identity = files.load()?;
    Ok(Some((files, identity)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::test_support::{error, set};

    fn tls(lines: &[&str]) -> Tls {
        set(lines).inherited.get::<crate::modules::proxy::Settings>().tls.clone()
    }

    /// A file with a certificate and a key for that test.
    fn certificate(test: &str) -> String {
        let file = std::env::temp_dir().join(format!("hayami-proxy-tls-{test}-{}.pem", std::process::id()));
        let made = rcgen::generate_simple_self_signed(vec!["app.example".to_owned()]).expect("made");
        std::fs::write(&file, made.cert.pem() + &made.signing_key.serialize_pem()).expect("written");
        file.display().to_string()
    }

    #[test]
    fn settings_are_read() {
        let file = certificate("read");
        let none = tls(&[]).settings();
        assert!(matches!(none.trust, Trust::Machine(None)) && none.resumption && none.identity.is_none());
        assert_eq!((none.sessions, none.server_name), (Sessions::default(), None));
        let all = tls(&[
            &format!("proxy.ssl.cafile: {file}"),
            "proxy.ssl.session-cache: {lifetime: 60, capacity: 5}",
            &format!("proxy.ssl.certificate: {{certificate-file: {file}, key-file: {file}}}"),
            "proxy.ssl.name: other.example",
        ])
        .settings();
        assert!(matches!(all.trust, Trust::Only(_)) && all.identity.is_some() && all.resumption);
        assert_eq!(all.sessions, Sessions { lifetime: Duration::from_secs(60), capacity: 5 });
        assert_eq!(all.server_name.as_deref(), Some("other.example"));
        let off =
            ["proxy.ssl.verify-peer: OFF", "proxy.ssl.session-cache: OFF", "proxy.ssl.certificate: OFF"];
        let off = tls(&off).settings();
        assert!(matches!(off.trust, Trust::Anyone) && !off.resumption && off.identity.is_none());
        std::fs::remove_file(file).expect("removed");
    }

    #[test]
    fn places_that_say_the_same_are_equal_and_inner_ones_share_what_is_made() {
        let url = Url::read(&Node::scalar("https://127.0.0.1/")).expect("a URL");
        let outer = tls(&["proxy.ssl.verify-peer: OFF"]);
        let inner = outer.clone();
        assert!(outer.origin(&url).is_ok_and(|tls| tls.expect("TLS").name == "127.0.0.1"));
        assert!(inner.connector.get().is_some());
        let mut changed = inner.clone();
        changed.change(|written| written.name = Some("other.example".to_owned()));
        assert!(changed.connector.get().is_none());
        assert!(inner == outer && inner != changed && outer == tls(&["proxy.ssl.verify-peer: OFF"]));
        let clear = Url::read(&Node::scalar("http://127.0.0.1/")).expect("a URL");
        assert!(inner.origin(&clear).is_ok_and(|tls| tls.is_none()));
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let cases = [
            ("proxy.ssl.verify-peer: true", "expected ON or OFF, found `true`; write `ON`"),
            ("proxy.ssl.cafile: ''", "expected the name of a file, found nothing"),
            ("proxy.ssl.cafile: /nonexistent.pem", "/nonexistent.pem does not exist"),
            ("proxy.ssl.session-cache: {lifetime: 0}", "`lifetime`: expected a time from 1 s to 604800 s"),
            ("proxy.ssl.session-cache: {size: 1}", "unknown key `size` in `proxy.ssl.session-cache`"),
            ("proxy.ssl.session-cache: 10", "expected ON or OFF, found `10`"),
            ("proxy.ssl.certificate: {certificate-file: a.pem}", "`key-file` is missing"),
            (
                "proxy.ssl.certificate: a.pem",
                "expected a mapping, such as `proxy.ssl.certificate: {certificate-file",
            ),
            ("proxy.ssl.certificate: {certificate-file: /a.pem, key-file: /a.pem}", "/a.pem does not exist"),
            ("proxy.ssl.name: a b", "'a b' is neither a host name nor an address"),
        ];
        for (line, want) in cases {
            let got = error(line);
            assert!(got.starts_with(want), "{line}: {got}");
        }
    }
}
