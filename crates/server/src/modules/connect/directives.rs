//! The directives of CONNECT.

use super::{Identity, Rules, Settings};
use crate::config::directive::{Directive, Levels, Scope};
use crate::config::error::ConfigError;
use crate::config::settings::HandlerSettings;
use crate::config::yaml::Node;

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "proxy.connect",
        levels: Levels::PATH,
        argument: "a rule, or a sequence of rules: `+` or `-`, an address or `*`, `/bits`, `:port` or `:first-last`",
        default: "",
        help: "Handles CONNECT requests by opening a tunnel to the server that the client names, if the \
               rules allow it. The first rule that matches an address decides: `+` allows, `-` denies; \
               addresses that match no rule are denied. A name is resolved, and only the addresses that the \
               rules allow are tried. Only at the path `/`.",
        set: connect,
    },
    Directive {
        name: "proxy.connect.emit-proxy-status",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "ON | OFF",
        default: "OFF",
        help: "Whether responses to CONNECT carry a `proxy-status` field (RFC 9209) with the address that \
               was used, or the error.",
        set: emit_status,
    },
    Directive {
        name: "proxy.connect.proxy-status",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "ON | OFF",
        default: "OFF",
        help: "Deprecated name of `proxy.connect.emit-proxy-status`.",
        set: emit_status,
    },
    Directive {
        name: "proxy.proxy-status.identity",
        levels: Levels::GLOBAL,
        argument: "a name",
        default: "hayami",
        help: "The name of this server in `proxy-status`.",
        set: identity,
    },
    Directive {
        name: "proxy-status.identity",
        levels: Levels::GLOBAL,
        argument: "a name",
        default: "hayami",
        help: "Deprecated name of `proxy.proxy-status.identity`.",
        set: identity,
    },
    Directive {
        name: "proxy.happy-eyeballs.connection-attempt-delay",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "milliseconds",
        default: "250",
        help: "How long a connection attempt to an address of a CONNECT target may take before the next \
               address is tried in parallel (RFC 8305).",
        set: attempt_delay,
    },
    Directive {
        name: "proxy.happy-eyeballs.name-resolution-delay",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "milliseconds",
        default: "50",
        help: "How long to wait for the IPv6 addresses of a CONNECT target if its IPv4 addresses are \
               resolved first (RFC 8305).",
        set: resolution_delay,
    },
];

fn own<'a>(scope: &'a mut Scope<'_>) -> &'a mut Settings {
    scope.inherited.get_mut::<super::Settings>()
}

fn connect(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let rules = Rules::read(node)?;
    scope.add_handler(HandlerSettings::new(rules));
    Ok(())
}

fn emit_status(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    node.on_off().map(|value| own(scope).emit_status = value)
}

fn attempt_delay(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    // RFC 8305 §5: at least 10 milliseconds.
    own(scope).attempt_delay = node.milliseconds(10)?;
    Ok(())
}

fn resolution_delay(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    own(scope).resolution_delay = node.milliseconds(0)?;
    Ok(())
}

/// The name is sent as an sf-string (RFC 9651 §3.3.3).
fn identity(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let text = node.text()?;
    let fits = |c: char| c.is_ascii_graphic() && c != '"' && c != '\\';
    if text.is_empty() || !text.chars().all(fits) {
        return Err(node.expected("a name of visible ASCII without quotes and backslashes"));
    }
    *scope.global.get_mut::<super::Identity>() = Identity(text.to_owned());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::test_support::{error, set};
    use std::time::Duration;

    #[test]
    fn settings_are_read() {
        let lines = [
            "proxy.connect.emit-proxy-status: ON",
            "proxy.happy-eyeballs.connection-attempt-delay: 10",
            "proxy.happy-eyeballs.name-resolution-delay: 0",
        ];
        let want = Settings {
            attempt_delay: Duration::from_millis(10),
            resolution_delay: Duration::ZERO,
            emit_status: true,
        };
        assert_eq!(set(&lines).inherited.get::<crate::modules::connect::Settings>(), &want);
        assert_eq!(
            error("proxy.happy-eyeballs.connection-attempt-delay: 9"),
            "expected a time from 10 ms to 2147483647 ms, found `9`"
        );
    }
}
