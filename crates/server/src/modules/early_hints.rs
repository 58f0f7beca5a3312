//! 103 Early Hints (RFC 8297): names the resources of a page while its response is still being made.
//!
//! h2o pushes the resources that a `link: …; rel=preload` field names; browsers have dropped support for push, and
//! accept the same hint in a 103.

use crate::config::directive::{Directive, Levels, group};
use crate::config::feature_settings::FeatureSetting;
use crate::feature::Feature;
use hayami_http::{FieldSection, ResponseHead, Status};

/// Which clients get informational responses: `send-informational`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recipients {
    /// Clients using HTTP/2 or newer: old HTTP/1.1 clients mistake a 103 for the final response.
    #[default]
    ExceptHttp1,
    /// None.
    Nobody,
    /// All clients except those using HTTP/1.0.
    Everybody,
}

impl FeatureSetting for Recipients {}

/// Early hints of a path's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `http2-push-preload`
    pub preload: bool,
}

impl FeatureSetting for Settings {}

impl Default for Settings {
    fn default() -> Self {
        Self { preload: true }
    }
}

/// The interim response that carries the hints.
pub fn head(hints: &FieldSection) -> ResponseHead {
    let mut head = ResponseHead::new(Status::EARLY_HINTS);
    hints.iter().for_each(|(name, value)| head.append(name, value));
    head
}

/// This feature.
pub const FEATURE: Feature = Feature::new(&[group("Early hints", DIRECTIVES)]);

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "http2-push-preload",
        levels: Levels::GLOBAL_HOST,
        argument: "ON | OFF",
        default: "ON",
        help: "Whether `link` fields with `rel=preload` that `header.*` adds to a response are sent as 103 \
               Early Hints while the response is still being generated. h2o pushes the linked resources; \
               browsers no longer support that.",
        set: |scope, node| {
            scope.inherited.get_mut::<Settings>().preload = node.on_off()?;
            Ok(())
        },
    },
    Directive {
        name: "send-informational",
        levels: Levels::GLOBAL,
        argument: "except-h1 | none | all",
        default: "except-h1",
        help: "Which clients get 103 Early Hints: those that use HTTP/2 or later, none, or all but HTTP/1.0 \
               clients. `100 Continue` is always sent where RFC 9110 §10.1.1 requires it.",
        set: |scope, node| {
            *scope.global.get_mut::<Recipients>() = match node.one_of(&["except-h1", "none", "all"])? {
                0 => Recipients::ExceptHttp1,
                1 => Recipients::Nobody,
                _ => Recipients::Everybody,
            };
            Ok(())
        },
    },
];
