//! The `server` field.

use crate::config::directive::{Directive, Levels, group};
use crate::config::feature_settings::FeatureSetting;
use crate::feature::Feature;

/// The settings of this feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `server-name`
    pub server_name: String,
    /// `send-server-name`
    pub send: SendServerName,
}

impl FeatureSetting for Settings {}

/// Which `server` field is sent, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendServerName {
    /// This server's.
    On,
    /// None.
    Off,
    /// The upstream's; none for responses of this server.
    Preserve,
}

impl SendServerName {
    /// As written in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "ON",
            Self::Off => "OFF",
            Self::Preserve => "preserve",
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            server_name: concat!("hayami/", env!("CARGO_PKG_VERSION")).to_owned(),
            send: SendServerName::On,
        }
    }
}

/// This feature.
pub const FEATURE: Feature = Feature::new(&[group("The server's name", DIRECTIVES)]);

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "server-name",
        levels: Levels::GLOBAL,
        argument: "a text",
        default: concat!("hayami/", env!("CARGO_PKG_VERSION")),
        help: "The value of the `server` field of responses.",
        set: |scope, node| {
            let wanted = "printable ASCII text";
            let text = node.text().map_err(|_| node.expected(wanted))?;
            // RFC 9110 §5.5: other bytes are not allowed in field values, and a line break would begin another field.
            if text.is_empty() || !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
                return Err(node.expected(wanted).help("`send-server-name: OFF` sends no `server` field"));
            }
            scope.global.get_mut::<Settings>().server_name = text.to_owned();
            Ok(())
        },
    },
    Directive {
        name: "send-server-name",
        levels: Levels::GLOBAL,
        argument: "ON | OFF | preserve",
        default: "ON",
        help: "Whether responses carry a `server` field. `preserve` forwards the field of an upstream and \
               adds none to hayami's own responses.",
        set: |scope, node| {
            use SendServerName::{Off, On, Preserve};
            scope.global.get_mut::<Settings>().send =
                [On, Off, Preserve][node.one_of(&["ON", "OFF", "preserve"])?];
            Ok(())
        },
    },
];
