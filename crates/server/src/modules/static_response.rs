//! `return`: a fixed response from the configuration, as nginx's `return` and Caddy's `respond`.

use crate::condition::Conditions;
use crate::config::directive::{Directive, Levels, group};
use crate::config::error::ConfigError;
use crate::config::location;
use crate::config::settings::{HandlerSetting, HandlerSettings};
use crate::config::yaml::{Node, Value};
use crate::feature::Feature;
use crate::handler::{Exchange, Handler, Outcome};
use crate::service::{moved, plain};
use hayami_http::{Content, FieldSection, Response, ResponseHead, Shared, Status};
use std::sync::Arc;

/// A response as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Its status.
    pub status: Status,
    /// Its content.
    pub answer: Answer,
    /// Which requests get it.
    conditions: Conditions,
}

impl HandlerSetting for Settings {}

impl Settings {
    /// A response to every request.
    fn new(status: Status, answer: Answer) -> Self {
        Self { status, answer, conditions: Conditions::default() }
    }
}

/// The content of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The server's standard text if the status is an error, otherwise nothing.
    Default,
    /// This URL as `location`.
    Location(String),
    /// This content.
    Body {
        /// The content.
        body: String,
        /// Its media type.
        content_type: String,
    },
}

/// This feature.
pub const FEATURE: Feature = Feature {
    handler: Some(|settings, _| Some(build(settings.get()?))),
    ..Feature::new(&[group("Fixed responses", DIRECTIVES)])
};

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[Directive {
    name: "return",
    levels: Levels::PATH,
    argument: "a status, or a mapping of status, url, body, content-type, if and unless",
    default: "",
    help: "Answers every request with this status (200 to 599). An error gets the server's own page, or that of \
           `error-doc`; other responses are empty unless `body` is given, whose type is `content-type` \
           (`text/plain; charset=utf-8`). Status 301, 302, 303, 307 and 308 require `url`, which is sent as it is: \
           unlike `redirect`, nothing is appended. The default status is 302 with `url`, and 200 with `body`. \
           `if` and `unless` limit it to some requests, by method, address, field or query.",
    set: |scope, node| {
        let settings = match &node.value {
            Value::Mapping(_) => Settings { conditions: Conditions::read(node)?, ..mapping(node)? },
            _ => Settings::new(bare(node)?, Answer::Default),
        };
        scope.add_handler(HandlerSettings::new(settings));
        Ok(())
    },
}];

/// Reads a status by itself.
fn bare(node: &Node) -> Result<Status, ConfigError> {
    let text = node.text().map_err(|_| node.expected("a status, such as `410`, or a mapping"))?;
    if let Some((code, rest)) = text.trim().split_once(char::is_whitespace) {
        return Err(node
            .expected("a status, such as `410`, or a mapping")
            .help(as_mapping(code, rest.trim())));
    }
    if text.contains("://") || text.starts_with('/') {
        let help = format!("write `return: {{status: 302, url: {text}}}`");
        return Err(node.expected("a status, such as `410`, or a mapping").help(help));
    }
    let status = status(node)?;
    if status.code() / 100 == 3 {
        let error = node.error(format!("status {} requires a URL", status.code()));
        return Err(error.help(format!("write `return: {{status: {}, url: …}}`", status.code())));
    }
    Ok(status)
}

/// Suggests a mapping for nginx's arguments.
fn as_mapping(code: &str, rest: &str) -> String {
    let rest = rest.trim_matches(['"', '\'']);
    match rest.contains("://") || rest.starts_with('/') {
        true => format!("write `return: {{status: {code}, url: {rest}}}`"),
        false => format!("write `return: {{status: {code}, body: \"{rest}\"}}`"),
    }
}

fn mapping(node: &Node) -> Result<Settings, ConfigError> {
    for (key, _) in node.mapping()? {
        key.one_of(&["status", "url", "body", "content-type", "if", "unless"])?;
    }
    let code = node.get("status").map(status).transpose()?;
    let (url, body, kind) = (node.get("url"), node.get("body"), node.get("content-type"));
    if let (None, Some(kind)) = (body, kind) {
        return Err(kind.error("`content-type` without a `body`").help("add `body: \"…\"`, or remove it"));
    }
    match (url, body) {
        (Some(_), Some(body)) => Err(body
            .error("`body` and `url` exclude each other")
            .help("a redirect has a short text of its own")),
        (Some(url), None) => redirect(url, code.unwrap_or(Status::FOUND)),
        (None, Some(body)) => content(body, kind, code.unwrap_or(Status::OK)),
        (None, None) => {
            let status = node.get("status").ok_or_else(|| node.error("`status` is missing"))?;
            Ok(Settings::new(bare(status)?, Answer::Default))
        }
    }
}

/// Reads a status that a configuration may send.
fn status(node: &Node) -> Result<Status, ConfigError> {
    let code = node.integer(200..=599).map_err(|error| match node.integer(100..=199) {
        Ok(_) => error.help("statuses below 200 are not final responses"),
        Err(_) => error,
    })?;
    let wrong = |what: &str, help: &str| Err(node.error(format!("status {code} {what}")).help(help));
    match code {
        444 => wrong("is nginx's for closing the connection, which is not supported", "use 403 or 404"),
        300 | 304..=306 | 309..=399 => {
            wrong("is not one that `return` can send", "to redirect, use 301, 302, 303, 307 or 308")
        }
        _ => Ok(Status::new(code as u16).expect("it has three digits")),
    }
}

fn redirect(url: &Node, status: Status) -> Result<Settings, ConfigError> {
    if status.code() / 100 != 3 {
        let error = url.error(format!("status {} does not redirect to a `url`", status.code()));
        return Err(error.help("use 301, 302, 303, 307 or 308"));
    }
    let location = location::read(url)?;
    let variable =
        location.split('$').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    if variable {
        let error = url.error("variables are not supported in the `url` of `return`");
        return Err(error.help(
            "`redirect: https://example.org/` appends the path and the query of the request; write `%24` for a \
             literal `$`",
        ));
    }
    Ok(Settings::new(status, Answer::Location(location)))
}

fn content(body: &Node, kind: Option<&Node>, status: Status) -> Result<Settings, ConfigError> {
    let code = status.code();
    if status.forbids_content() || code == 205 {
        return Err(body
            .error(format!("a response with status {code} has no content"))
            .help("remove `body`"));
    }
    if code / 100 == 3 {
        return Err(body
            .error(format!("status {code} requires `url`"))
            .help("write `url` instead of `body`"));
    }
    let content_type = match kind {
        Some(kind) => media_type(kind)?,
        None => "text/plain; charset=utf-8".to_owned(),
    };
    Ok(Settings::new(status, Answer::Body { body: body.text()?.to_owned(), content_type }))
}

/// Reads the value of a Content-Type field (RFC 9110 §8.3.1).
fn media_type(node: &Node) -> Result<String, ConfigError> {
    let wanted = || node.expected("a media type, such as `application/json`");
    let text = node.text().map_err(|_| wanted())?;
    let (kind, subtype) = text.split_once('/').ok_or_else(wanted)?;
    let fits = |text: &str| !text.is_empty() && text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if fits(kind) && fits(subtype) { Ok(text.to_owned()) } else { Err(wanted()) }
}

/// Sends the same response to every request.
struct StaticResponse {
    status: Status,
    answer: Ready,
}

/// A prepared response.
enum Ready {
    Default,
    Location(Box<[u8]>),
    Body(Arc<FieldSection>, Shared),
}

/// The handler for these settings.
///
/// # Errors
/// A regular expression of the conditions is invalid; a message for the user.
pub fn build(settings: &Settings) -> Result<Box<dyn Handler>, String> {
    let answer = match &settings.answer {
        Answer::Default => Ready::Default,
        Answer::Location(url) => Ready::Location(url.as_bytes().into()),
        Answer::Body { body, content_type } => {
            let mut fields = FieldSection::default();
            fields.append(b"content-type", content_type.as_bytes());
            Ready::Body(Arc::new(fields), Shared::from(body.clone().into_bytes()))
        }
    };
    settings.conditions.guard(Box::new(StaticResponse { status: settings.status, answer }))
}

impl Handler for StaticResponse {
    fn handle(&self, _: &mut Exchange<'_>) -> Outcome {
        Outcome::Ready(match &self.answer {
            Ready::Default if self.status.is_error() => plain(self.status, ""),
            Ready::Default => Response::empty(self.status),
            Ready::Location(url) => moved(self.status, url),
            Ready::Body(fields, body) => Response {
                head: ResponseHead::with_shared(self.status, Arc::clone(fields)),
                content: Content::Shared(body.clone()),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::testing;
    use crate::modules::test_support::{error, set};
    use hayami_http::Known;

    /// The response for a line: status, location, type and content.
    fn answer(line: &str) -> (u16, String, String, String) {
        let setting = set(&[line]);
        let settings = setting.handler::<Settings>();
        let handler = build(settings).expect("a handler");
        let Outcome::Ready(response) = testing::handle(&*handler, &testing::get("/a?b"), 1) else {
            panic!("{line}")
        };
        let field =
            |known| String::from_utf8_lossy(response.head.get(known).unwrap_or_default()).into_owned();
        let content = match &response.content {
            Content::Empty => String::new(),
            Content::Shared(content) => String::from_utf8_lossy(content.as_slice()).into_owned(),
            other => panic!("{other:?}"),
        };
        (response.head.status().code(), field(Known::Location), field(Known::ContentType), content)
    }

    #[test]
    fn errors_have_a_text_and_other_responses_what_is_written() {
        let text = "text/plain; charset=utf-8";
        for (line, code, kind, content) in [
            ("return: 410", 410, text, "Gone\n"),
            ("return: {status: 503}", 503, text, "Service Unavailable\n"),
            ("return: 204", 204, "", ""),
            ("return: 200", 200, "", ""),
            ("return: {body: ok}", 200, text, "ok"),
            ("return: {status: 503, body: 'later $1'}", 503, text, "later $1"),
            (
                "return: {status: 201, body: '{}', content-type: application/json}",
                201,
                "application/json",
                "{}",
            ),
            ("return: {body: ''}", 200, text, ""),
        ] {
            assert_eq!(answer(line), (code, String::new(), kind.to_owned(), content.to_owned()), "{line}");
        }
    }

    #[test]
    fn nothing_is_appended_to_a_url() {
        for (line, code) in [("return: {url: /new/}", 302), ("return: {status: 308, url: /new/}", 308)] {
            let (status, location, kind, content) = answer(line);
            assert_eq!(
                (status, location.as_str(), kind.as_str()),
                (code, "/new/", "text/html; charset=utf-8")
            );
            assert!(content.contains("href=\"/new/\""), "{content}");
        }
    }

    #[test]
    fn errors_say_what_to_write_instead() {
        let cases = [
            (
                "200 \"ok\"",
                "expected a status, such as `410`, or a mapping, found `200 \"ok\"`; write `return: {status: 200, \
                 body: \"ok\"}`",
            ),
            (
                "301 https://x/",
                "expected a status, such as `410`, or a mapping, found `301 https://x/`; write `return: {status: 301, \
                 url: https://x/}`",
            ),
            (
                "https://x/",
                "expected a status, such as `410`, or a mapping, found `https://x/`; write `return: {status: 302, \
                 url: https://x/}`",
            ),
            ("301", "status 301 requires a URL; write `return: {status: 301, url: …}`"),
            (
                "444",
                "status 444 is nginx's for closing the connection, which is not supported; use 403 or 404",
            ),
            (
                "304",
                "status 304 is not one that `return` can send; to redirect, use 301, 302, 303, 307 or 308",
            ),
            (
                "100",
                "expected an integer from 200 to 599, found `100`; statuses below 200 are not final responses",
            ),
            ("gone", "expected an integer from 200 to 599, found `gone`"),
            ("{}", "`status` is missing"),
            ("{status: 301}", "status 301 requires a URL; write `return: {status: 301, url: …}`"),
            (
                "{status: 200, url: /a}",
                "status 200 does not redirect to a `url`; use 301, 302, 303, 307 or 308",
            ),
            (
                "{url: /a, body: x}",
                "`body` and `url` exclude each other; a redirect has a short text of its own",
            ),
            ("{status: 204, body: x}", "a response with status 204 has no content; remove `body`"),
            ("{status: 301, body: x}", "status 301 requires `url`; write `url` instead of `body`"),
            (
                "{status: 200, content-type: a/b}",
                "`content-type` without a `body`; add `body: \"…\"`, or remove it",
            ),
            (
                "{body: x, content-type: text}",
                "expected a media type, such as `application/json`, found `text`",
            ),
            (
                "{url: 'https://$host$request_uri'}",
                "variables are not supported in the `url` of `return`; `redirect: https://example.org/` appends the \
                 path and the query of the request; write `%24` for a literal `$`",
            ),
            ("{url: /a b}", "a URL must not contain ` `; write `%20`"),
            ("{code: 200}", "expected one of status, url, body, content-type, if, unless, found `code`"),
        ];
        for (argument, want) in cases {
            assert_eq!(error(&format!("return: {argument}")), want);
        }
    }
}
