//! `auth.basic`: a user name and a password (RFC 7617), checked against a file as Apache's `htpasswd` writes it.
//!
//! ```text
//! authorization ─ credentials ─▶ step ─ memo: verified a short time ago? ─▶ admitted
//!                                  └ htpasswd ─ password, on a thread of its own lane ─▶ memo
//! ```

mod apr1;
mod credentials;
mod htpasswd;
mod memo;
mod password;
mod step;

use step::build;

use crate::config::attribute::{self, Attribute};
use crate::config::directive::{Directive, Levels, Scope, group};
use crate::config::error::ConfigError;
use crate::config::feature_settings::FeatureSetting;
use crate::config::settings as config;
use crate::config::yaml::Node;
use crate::feature::Feature;
use crate::watched_file::{WatchedFile, WatchedFiles};
use htpasswd::Users;
use std::path::Path;
use std::sync::Arc;

/// Settings at one level of the configuration; `None`: no password is required.
#[derive(Clone, Debug, Default)]
pub struct Settings(Option<Arc<Basic>>);

impl FeatureSetting for Settings {}

/// The users who have access.
#[derive(Debug)]
struct Basic {
    /// The value of `www-authenticate`.
    challenge: Vec<u8>,
    users: Arc<WatchedFile<Users>>,
}

/// This feature.
pub const FEATURE: Feature = Feature {
    access: Some(|route| build(route.inherited.get(), route.worker).map(Ok)),
    ..Feature::new(&[group("Authentication", DIRECTIVES)])
};

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "auth.basic",
    levels: Levels::GLOBAL_HOST_PATH,
    argument: "a mapping | OFF",
    default: "OFF",
    help: "Asks for a user name and a password (Basic authentication, RFC 7617); clients without valid ones get \
           401. OFF removes the requirement of an outer level. Use it over TLS only.",
    set,
}];

/// The keys of the directive.
pub const ATTRIBUTES: &[Attribute<Written>] = &[
    Attribute {
        name: "file",
        argument: "a file",
        default: "",
        help: "The users, as written by Apache's `htpasswd`: bcrypt (`htpasswd -B`), argon2, SHA-crypt or APR1. \
               A change takes effect within a second.",
        set: |written, node| {
            let path = node.text().ok().filter(|path| !path.is_empty());
            written.file = Some(path.ok_or_else(|| node.expected("the name of a file"))?.to_owned());
            Ok(())
        },
    },
    Attribute {
        name: "realm",
        argument: "text",
        default: "Restricted",
        help: "What browsers show when they ask for the password. They send it to all paths of a host that \
               name the same realm.",
        set: |written, node| {
            written.realm = Some(realm(node)?);
            Ok(())
        },
    },
];

/// The mapping as written.
#[derive(Default)]
pub struct Written {
    realm: Option<String>,
    file: Option<String>,
}

fn set(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    if node.is("OFF") || node.is("off") {
        *scope.inherited.get_mut::<Settings>() = Settings(None);
        return Ok(());
    }
    let mut written = Written::default();
    attribute::read(ATTRIBUTES, "auth.basic", &mut written, node)?;
    let Some(file) = written.file else {
        let error = node.error("`file` is missing: the file of users and passwords");
        return Err(error.help("`htpasswd -B -c FILE USER` writes such a file"));
    };
    let at = node.get("file").unwrap_or(node);
    let users = users(scope, at, &file)?;
    if let Some(text) = users.load().warning() {
        scope.warn(at.error(format!("`{}`: {text}", users.path().display())).help(htpasswd::REMEDY));
    }
    let challenge = challenge(written.realm.as_deref().unwrap_or("Restricted"));
    *scope.inherited.get_mut::<Settings>() = Settings(Some(Arc::new(Basic { challenge, users })));
    Ok(())
}

fn realm(node: &Node) -> Result<String, ConfigError> {
    match node.text() {
        Ok(text) if !text.is_empty() && !text.chars().any(char::is_control) => Ok(text.to_owned()),
        _ => Err(node.expected("a text without control characters")),
    }
}

fn users(scope: &mut Scope<'_>, node: &Node, path: &str) -> Result<Arc<WatchedFile<Users>>, ConfigError> {
    let files = scope.global.reading.features.get_mut::<WatchedFiles<Users>>();
    files.open(Path::new(path), htpasswd::parse).map_err(|problem| {
        let error = node.error(&problem);
        if problem.starts_with("cannot read") { error } else { error.help(htpasswd::REMEDY) }
    })
}

/// RFC 7617 §2, §2.1: the realm is a quoted string; names and passwords are UTF-8.
fn challenge(realm: &str) -> Vec<u8> {
    let realm = realm.replace('\\', "\\\\").replace('"', "\\\"");
    format!("Basic realm=\"{realm}\", charset=\"UTF-8\"").into_bytes()
}

/// The password files of all users, which the server's user must be able to read again.
pub fn files(settings: &config::Settings) -> impl Iterator<Item = &Path> {
    settings.places().filter_map(|inherited| Some(inherited.get::<Settings>().0.as_ref()?.users.path()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::file::scratch::Scratch;
    use crate::modules::test_support::{Setting, error, set};

    #[test]
    fn a_realm_is_quoted() {
        for (realm, want) in [
            ("Admin", r#"Basic realm="Admin", charset="UTF-8""#),
            (r#"a "b" \c"#, r#"Basic realm="a \"b\" \\c", charset="UTF-8""#),
        ] {
            assert_eq!(challenge(realm), want.as_bytes());
        }
    }

    #[test]
    fn settings_are_read_and_off_ends_them() {
        let folder = Scratch::new();
        folder.write("users", "amy:$apr1$tzFGqvBh$sct63ESNHPh2ADluBMaqk0\n");
        let line = format!("auth.basic: {{file: {}}}", folder.path("users").display());
        let settings = set(&[&line]).inherited.get::<Settings>().clone();
        let basic = settings.0.as_ref().expect("it is on");
        assert!(basic.challenge.starts_with(b"Basic realm=\"Restricted\""));
        assert!(set(&[&line, "auth.basic: OFF"]).inherited.get::<Settings>().0.is_none());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let folder = Scratch::new();
        folder.write("plain", "# users\namy:secret\n");
        folder.write("weak", "amy:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n");
        let path = folder.path("plain").display().to_string();
        for (line, want) in [
            (
                "auth.basic: {realm: x}".to_owned(),
                "`file` is missing: the file of users and passwords; `htpasswd -B -c FILE USER` writes such a file"
                    .to_owned(),
            ),
            (
                "auth.basic: {realm: \"a\\nb\", file: x}".to_owned(),
                "`realm`: expected a text without control characters, found `a\\nb`".to_owned(),
            ),
            (
                format!("auth.basic: {{file: {path}}}"),
                format!(
                    "`{path}`: line 2: the password of `amy` is stored as plain text; {}",
                    htpasswd::REMEDY
                ),
            ),
            (
                format!("auth.basic: {{file: {path}.none}}"),
                format!("cannot read `{path}.none`: there is no such file"),
            ),
        ] {
            assert_eq!(error(&line), want, "{line}");
        }
        let mut setting = Setting::default();
        let line = format!("auth.basic: {{file: {}}}", folder.path("weak").display());
        setting.set(crate::config::directive::Level::Path, &line).expect("it works");
        let warning = &setting.global.reading.warnings[0];
        assert!(
            warning.message.ends_with("the password of `amy` is stored with SHA-1, which is fast to guess")
        );
    }
}
