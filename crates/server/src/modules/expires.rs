//! `expires`: how long a response is fresh, as `cache-control: max-age` (RFC 9111 §5.2.2.1).

use super::headers::merge;
use crate::config::directive::{Directive, Levels, Scope, group};
use crate::config::error::ConfigError;
use crate::config::feature_settings::FeatureSetting;
use crate::config::nearest::nearest;
use crate::config::yaml::{self, Node};
use crate::feature::Feature;
use crate::handler::{Filter, RequestInfo};
use hayami_http::Response;

/// How long responses are fresh.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Seconds; `None` adds no field.
    pub max_age: Option<u64>,
}

impl FeatureSetting for Settings {}

/// This feature.
pub const FEATURE: Feature = Feature {
    header_filter: Some(|route| build(route.innermost().get())),
    ..Feature::new(&[group("Expiration", DIRECTIVES)])
};

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "expires",
    levels: Levels::ALL,
    argument: "OFF | N unit",
    default: "OFF",
    help: "Adds `cache-control: max-age=…` to responses with cacheable content. The unit is second, minute, \
           hour, day, month (30 days) or year (365 days); short forms are `30s`, `5m`, `1h` and `7d`.",
    set,
}];

/// Units in seconds. In h2o a month has 30 hours, which is a bug that is not copied.
const UNITS: [(&str, u64); 6] = [
    ("second", 1),
    ("minute", 60),
    ("hour", 3600),
    ("day", 86400),
    ("month", 30 * 86400),
    ("year", 365 * 86400),
];

fn set(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let text = node.text()?;
    scope.inherited.get_mut::<Settings>().max_age =
        if text.eq_ignore_ascii_case("off") { None } else { Some(seconds(node, text)?) };
    Ok(())
}

fn seconds(node: &Node, text: &str) -> Result<u64, ConfigError> {
    let wanted = || node.expected("OFF or a number and a unit, such as `1 day` or `1d`");
    let Some((number, unit)) = text.split_once(char::is_whitespace) else {
        let time = yaml::time(text, None).filter(|time| time.subsec_nanos() == 0);
        return time.map(|time| time.as_secs()).ok_or_else(wanted);
    };
    let unit = unit.trim().to_ascii_lowercase();
    let name = unit.strip_suffix('s').unwrap_or(&unit);
    let number = Some(number).filter(|n| n.bytes().all(|b| b.is_ascii_digit())).and_then(|n| n.parse().ok());
    let Some((_, factor)) = UNITS.iter().find(|(unit, _)| *unit == name) else {
        return Err(unknown_unit(node, &unit));
    };
    number.and_then(|number: u64| number.checked_mul(*factor)).ok_or_else(wanted)
}

fn unknown_unit(node: &Node, unit: &str) -> ConfigError {
    let error = node.error(format!("unknown unit `{unit}`"));
    match nearest(unit, UNITS.map(|(name, _)| name)) {
        Some(name) => error.help(format!("did you mean `{name}`?")),
        None => error.help("the units are second, minute, hour, day, month and year"),
    }
}

/// Adds the field.
struct Expires {
    value: Vec<u8>,
}

/// The filter for these settings, if they set a lifetime.
pub fn build(settings: &Settings) -> Option<Box<dyn Filter>> {
    let seconds = settings.max_age?;
    Some(Box::new(Expires { value: format!("max-age={seconds}").into_bytes() }))
}

impl Filter for Expires {
    fn apply(&self, _: &RequestInfo<'_>, response: &mut Response) {
        // As in h2o: not for errors, which may be temporary.
        if matches!(response.head.status().code(), 200 | 201 | 204 | 206 | 301 | 302 | 303 | 304 | 307) {
            merge(&mut response.head, b"cache-control", &self.value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::test_support::{error, set};
    use hayami_http::{Known, RequestHead, Status};

    #[test]
    fn units_become_seconds() {
        let cases = [
            ("OFF", None),
            ("off", None),
            ("0 second", Some(0)),
            ("5 seconds", Some(5)),
            ("2 minutes", Some(120)),
            ("1 Hour", Some(3600)),
            ("1 day", Some(86400)),
            ("1 month", Some(2_592_000)),
            ("1 year", Some(31_536_000)),
            ("90s", Some(90)),
            ("30m", Some(1800)),
            ("1h", Some(3600)),
            ("7d", Some(604_800)),
        ];
        for (text, want) in cases {
            assert_eq!(
                set(&[&format!("expires: {text}")]).inherited.get::<Settings>().max_age,
                want,
                "{text}"
            );
        }
    }

    #[test]
    fn errors_say_what_is_expected() {
        let wanted = "expected OFF or a number and a unit, such as `1 day` or `1d`, found";
        for text in
            ["1", "500ms", "1y", "day", "-1 day", "99999999999999999999 day", "999999999999999999 year"]
        {
            assert!(error(&format!("expires: {text}")).starts_with(wanted), "{text}");
        }
        assert_eq!(error("expires: 1 dya"), "unknown unit `dya`; did you mean `day`?");
        assert_eq!(
            error("expires: 1 fortnight"),
            "unknown unit `fortnight`; the units are second, minute, hour, day, month and year"
        );
    }

    #[test]
    fn only_lasting_answers_get_the_field_and_other_directives_stay() {
        let filter = build(&Settings { max_age: Some(60) }).expect("a filter");
        let request = RequestInfo { head: &RequestHead::default(), path: b"/", tunnel: false };
        let cases = [
            (200, None, Some("max-age=60")),
            (404, None, None),
            (304, Some("public"), Some("public, max-age=60")),
        ];
        for (code, before, want) in cases {
            let mut response = Response::empty(Status::new(code).unwrap());
            before
                .into_iter()
                .for_each(|value: &str| response.head.append(b"cache-control", value.as_bytes()));
            filter.apply(&request, &mut response);
            assert_eq!(response.head.get(Known::CacheControl), want.map(str::as_bytes), "{code}");
        }
        assert!(build(&Settings::default()).is_none());
    }
}
