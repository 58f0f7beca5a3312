//! The directives of FastCGI.

use super::Application;
use super::{Settings, place};
use crate::config::directive::{Directive, Scope, directive};
use crate::config::error::ConfigError;
use crate::config::settings::HandlerSettings;
use crate::config::yaml::Node;
use std::path::PathBuf;

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    directive!(
        "fastcgi.connect",
        PATH_EXTENSION,
        "a port; {host, port, type: tcp | unix}; a sequence of such; or {upstream: NAME}",
        "",
        connect,
        "Forwards requests to a FastCGI application, such as PHP-FPM: to a port on 127.0.0.1 or on `host`, \
         or with `type: unix` to the unix socket that `port` names. With several addresses, requests are \
         distributed in turn, and an address that refuses connections is skipped; `upstream` names a group \
         of `upstreams`. In `file.custom-handler` it handles files with these extensions."
    ),
    directive!(
        "fastcgi.spawn",
        PATH_EXTENSION,
        "a shell command, or {command, user}",
        "",
        spawn,
        "Starts a FastCGI application that accepts connections on file descriptor 0, such as `php-cgi`, as \
         `user` (default: the server's user), and forwards requests to it. The application is restarted when \
         it exits, and stopped with the server."
    ),
    directive!(
        "fastcgi.document_root",
        ALL,
        "a directory",
        "that of file.dir",
        document_root,
        "The document root that is sent to applications: scripts are looked up below it, and below the same \
         path on the machine or in the container that runs the application."
    ),
    directive!(
        "fastcgi.timeout.io",
        ALL,
        "milliseconds",
        "30000",
        |scope, node| node.milliseconds(1).map(|value| own(scope).io = value),
        "How long an application may take to accept a connection, and to send the next part of its response."
    ),
    directive!(
        "fastcgi.timeout.keepalive",
        ALL,
        "milliseconds",
        "0",
        |scope, node| node.milliseconds(0).map(|value| own(scope).keep_alive = value),
        "How long an idle connection to an application is kept open; 0 opens a new connection for every \
         request. A PHP-FPM process serves one connection at a time and is blocked while that connection is \
         idle: set this only if there are more processes than connections."
    ),
    directive!(
        "fastcgi.send-delegated-uri",
        ALL,
        "ON | OFF",
        "OFF",
        |scope, node| node.on_off().map(|value| own(scope).send_delegated_uri = value),
        "Whether REQUEST_URI is the target after an internal redirect instead of the one that the client \
         requested."
    ),
];

fn own<'s>(scope: &'s mut Scope<'_>) -> &'s mut Settings {
    scope.inherited.get_mut::<super::Settings>()
}

fn connect(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let group = place::connect(scope, node)?;
    scope.add_handler(HandlerSettings::new(Application { group }));
    Ok(())
}

fn spawn(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let group = place::spawn(scope, node)?;
    scope.add_handler(HandlerSettings::new(Application { group }));
    Ok(())
}

fn document_root(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    match node.text()? {
        path if path.starts_with('/') && !path.contains('\0') => {
            own(scope).document_root = Some(PathBuf::from(path));
            Ok(())
        }
        _ => Err(node.expected("the absolute path of a directory")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::load_text;
    use crate::modules::test_support::{error, set};
    use crate::modules::upstreams::{self, Upstream};
    use std::time::Duration;

    fn upstreams(line: &str) -> Vec<Upstream> {
        let setting = set(&[line]);
        let Application { group } = *setting.handler();
        setting.global.get::<upstreams::Settings>().groups[group].upstreams.clone()
    }

    #[test]
    fn an_application_is_at_a_port_a_host_or_a_socket() {
        let cases: [(&str, &[&str]); 6] = [
            ("9000", &["127.0.0.1:9000"]),
            ("{port: 9000}", &["127.0.0.1:9000"]),
            ("{host: 192.0.2.1, port: 9000, type: tcp}", &["192.0.2.1:9000"]),
            ("{host: '::1', port: 9000}", &["[::1]:9000"]),
            ("{port: /run/php.sock, type: unix}", &["/run/php.sock"]),
            ("[9000, {port: /run/php.sock, type: unix}]", &["127.0.0.1:9000", "/run/php.sock"]),
        ];
        for (argument, want) in cases {
            let upstreams = upstreams(&format!("fastcgi.connect: {argument}"));
            let shown: Vec<_> = upstreams.iter().map(|own| &own.url.shown[..]).collect();
            assert_eq!(shown, want, "{argument}");
        }
    }

    #[test]
    fn a_command_may_have_a_user() {
        for (argument, user) in [("php-cgi", None), ("{command: php-cgi, user: daemon}", Some("daemon"))] {
            let upstreams = upstreams(&format!("fastcgi.spawn: {argument}"));
            let spawn = upstreams[0].spawn.as_ref().expect("an application");
            assert_eq!((spawn.command.as_str(), spawn.user.as_deref()), ("php-cgi", user));
        }
    }

    #[test]
    fn an_application_may_be_a_group_that_has_a_name() {
        let load = |group: &str, name: &str| {
            let path = format!("fastcgi.connect: {{upstream: {name}}}");
            let text = format!(
                "listen: 80\nupstreams: {{php: {group}}}\nhosts: {{a: {{paths: {{/: {{{path}}}}}}}}}\n"
            );
            load_text("test", &text).map_err(|errors| errors.to_string())
        };
        let loaded = load("http://127.0.0.1:9000", "php").expect("good");
        let path = &loaded.settings.hosts[0].paths[0];
        let groups: Vec<_> = path.handlers.iter().map(|handler| handler.upstream_group()).collect();
        assert_eq!(groups, [Some(0)]);
        assert!(loaded.warnings.is_empty());
        let cases = [
            ("http://127.0.0.1:9000", "other", "unknown upstream group `other`"),
            ("https://127.0.0.1:9000", "php", "`https://127.0.0.1:9000`: FastCGI over TLS is not supported"),
            (
                "{backends: http://127.0.0.1:9000, health-check: /up}",
                "php",
                "the health check of `php` requests a path over HTTP",
            ),
        ];
        for (group, name, want) in cases {
            let said = load(group, name).expect_err(group);
            assert!(said.contains(want), "{said}");
        }
    }

    #[test]
    fn settings_are_read() {
        let lines = [
            "fastcgi.document_root: /srv",
            "fastcgi.timeout.io: 5",
            "fastcgi.timeout.keepalive: 6",
            "fastcgi.send-delegated-uri: ON",
        ];
        let want = Settings {
            document_root: Some("/srv".into()),
            io: Duration::from_millis(5),
            keep_alive: Duration::from_millis(6),
            send_delegated_uri: true,
            ..Settings::default()
        };
        assert_eq!(set(&lines).inherited.get::<crate::modules::fastcgi::Settings>(), &want);
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let wanted = "a port, {host, port} or {port: /run/app.sock, type: unix}, found";
        let cases = [
            ("fastcgi.connect: []", format!("expected {wanted} a sequence")),
            (
                "fastcgi.connect: /run/a.sock",
                format!("expected {wanted} `/run/a.sock`; write `{{port: /run/a.sock, type: unix}}`"),
            ),
            ("fastcgi.connect: {host: a}", "`port` is missing".to_owned()),
            (
                "fastcgi.connect: {port: a.sock, type: unix}",
                "`a.sock` is not an absolute path of a unix socket".to_owned(),
            ),
            ("fastcgi.connect: 0", "expected an integer from 1 to 65535, found `0`".to_owned()),
            ("fastcgi.spawn: ''", "expected a shell command, found nothing".to_owned()),
            ("fastcgi.spawn: {user: www}", "`command` is missing".to_owned()),
            (
                "fastcgi.document_root: www",
                "expected the absolute path of a directory, found `www`".to_owned(),
            ),
        ];
        for (line, want) in cases {
            assert_eq!(error(line), want, "{line}");
        }
    }
}
