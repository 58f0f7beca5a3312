//! `header.*`: changes of the fields of a response.
//!
//! This module has the directives and their settings; [`command`] applies a command to a head.

mod command;
pub(super) mod field;

pub(super) use command::{Command, merge};

use crate::config::directive::{Directive, Levels, Scope, group};
use crate::config::error::ConfigError;
use crate::config::feature_settings::FeatureSetting;
use crate::config::yaml::{Node, Value};
use crate::feature::Feature;
use crate::handler::{Filter, RequestInfo};
use field::OF_RESPONSES;
use hayami_http::{FieldSection, Response, ResponseHead, Status};
use hayami_net::service::HeadChange;
use std::rc::Rc;

/// The commands at one level of the configuration, in the order written, outer levels first.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    commands: Vec<(When, Command)>,
}

impl FeatureSetting for Settings {}

/// This feature.
pub const FEATURE: Feature = Feature {
    header_filter: Some(|route| build(route.innermost().get())),
    ..Feature::new(&[group("Response fields", DIRECTIVES)])
};

/// Which responses a command is applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// Final ones.
    Final,
    /// Interim ones (103).
    Early,
    /// Both.
    All,
}

macro_rules! directives {
    ($($name:literal $argument:ident $make:expr, $help:literal;)*) => {
        /// The directives of this feature.
        pub const DIRECTIVES: &[Directive] = &[$(Directive {
            name: $name,
            levels: Levels::ALL,
            argument: $argument,
            default: "",
            help: $help,
            set: |scope, node| set(scope, node, $make),
        },)*];
    };
}

const LINES: &str = "`Name: value`, a sequence of such, or {header: …, when: final | early | all}";
const NAMES: &str = "a name, a sequence of names, or {header: …, when: final | early | all}";

directives! {
    "header.add" LINES |lines| each(lines, Command::Add),
        "Adds a field line to the response.";
    "header.append" LINES |lines| each(lines, Command::Append),
        "Adds a field line, or appends the value to the first line of that name, separated by a comma.";
    "header.merge" LINES |lines| each(lines, Command::Merge),
        "Adds a field line, or adds the value to the comma-separated list of the first line of that name \
         unless the list contains it.";
    "header.set" LINES |lines| each(lines, Command::Set),
        "Replaces all field lines of that name.";
    "header.setifempty" LINES |lines| each(lines, Command::SetIfEmpty),
        "Adds a field line unless a field of that name exists.";
    "header.unset" NAMES |names| Ok(vec![Command::Unset(field::names(names, OF_RESPONSES)?)]),
        "Removes all field lines of these names.";
    "header.unsetunless" NAMES |names| Ok(vec![Command::UnsetUnless(field::names(names, OF_RESPONSES)?)]),
        "Removes all field lines except those of these names.";
    "header.cookie.unset" NAMES |names| Ok(vec![Command::CookieUnset(field::cookies(names)?)]),
        "Removes cookies of these names from `cookie` fields of the response, as h2o does; `set-cookie` stays.";
    "header.cookie.unsetunless" NAMES |names| Ok(vec![Command::CookieUnsetUnless(field::cookies(names)?)]),
        "Removes all cookies except those of these names from `cookie` fields of the response, as h2o does.";
}

type Make = fn(&[&Node]) -> Result<Vec<Command>, ConfigError>;

fn set(scope: &mut Scope<'_>, node: &Node, make: Make) -> Result<(), ConfigError> {
    let (argument, when) = match &node.value {
        Value::Mapping(_) => argument_and_when(node)?,
        _ => (node, When::Final),
    };
    let commands = make(&argument.one_or_many())?;
    scope
        .inherited
        .get_mut::<Settings>()
        .commands
        .extend(commands.into_iter().map(|command| (when, command)));
    Ok(())
}

fn argument_and_when(node: &Node) -> Result<(&Node, When), ConfigError> {
    for (key, _) in node.mapping()? {
        key.one_of(&["header", "when"])?;
    }
    let argument = node.get("header").ok_or_else(|| node.error("`header` is missing"))?;
    let when = match node.get("when") {
        Some(when) => [When::Final, When::Early, When::All][when.one_of(&["final", "early", "all"])?],
        None => When::Final,
    };
    Ok((argument, when))
}

fn each(lines: &[&Node], make: fn(field::Line) -> Command) -> Result<Vec<Command>, ConfigError> {
    lines.iter().map(|line| field::line(line, OF_RESPONSES).map(make)).collect()
}

/// The fields of a 103 at this level: those that commands for interim responses add, and if `preload`, the `link`
/// fields of the final response that name resources of the page.
pub fn early(settings: &Settings, preload: bool) -> Option<FieldSection> {
    let mut head = ResponseHead::new(Status::EARLY_HINTS);
    for (when, command) in &settings.commands {
        if *when != When::Final || (preload && command.preloads()) {
            command.apply(&mut head);
        }
    }
    let mut fields = FieldSection::default();
    head.iter().for_each(|(name, value)| fields.append(name, value));
    let some = fields.iter().next().is_some();
    some.then_some(fields)
}

/// Applies the commands for interim responses to an upstream's 103, if there are such commands.
pub fn of_early_hints(settings: &Settings) -> Option<HeadChange> {
    let early = settings.commands.iter().filter(|(when, _)| *when != When::Final);
    let commands: Vec<_> = early.map(|(_, command)| command.clone()).collect();
    (!commands.is_empty()).then(|| {
        Rc::new(move |head: &mut ResponseHead| {
            if head.status() == Status::EARLY_HINTS {
                commands.iter().for_each(|command| command.apply(head));
            }
        }) as HeadChange
    })
}

/// Applies commands to a response.
struct Headers {
    commands: Vec<Command>,
}

/// The filter for these settings, if there are commands.
pub fn build(settings: &Settings) -> Option<Box<dyn Filter>> {
    let finals = settings.commands.iter().filter(|(when, _)| *when != When::Early);
    let commands: Vec<_> = finals.map(|(_, command)| command.clone()).collect();
    (!commands.is_empty()).then(|| Box::new(Headers { commands }) as Box<dyn Filter>)
}

impl Filter for Headers {
    fn apply(&self, _: &RequestInfo<'_>, response: &mut Response) {
        for command in &self.commands {
            command.apply(&mut response.head);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::test_support::{error, set};
    use hayami_http::RequestHead;

    /// The fields after applying the lines to a response with these fields, `name: value` each.
    fn apply(lines: &[&str], fields: &[&str]) -> Vec<String> {
        let mut response = Response::empty(Status::OK);
        for field in fields {
            let (name, value) = field.split_once(": ").unwrap();
            response.head.append(name.as_bytes(), value.as_bytes());
        }
        let filter = build(set(lines).inherited.get()).expect("a filter");
        filter
            .apply(&RequestInfo { head: &RequestHead::default(), path: b"/", tunnel: false }, &mut response);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        response.head.iter().map(|(n, v)| format!("{}: {}", text(n), text(v))).collect()
    }

    #[test]
    fn commands_do_what_h2o_documents() {
        type Case<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);
        let cases: &[Case<'_>] = &[
            ("header.add: 'X-A: 1'", &[], &["x-a: 1"]),
            ("header.add: 'x-a: 1'", &["x-a: 0"], &["x-a: 0", "x-a: 1"]),
            ("header.add: ['a: 1', 'b: 2']", &[], &["a: 1", "b: 2"]),
            ("header.add: 'x-a: b: c '", &[], &["x-a: b: c"]),
            ("header.append: 'x-a: 1'", &[], &["x-a: 1"]),
            ("header.append: 'x-a: 1'", &["X-A: 0", "b: 1", "x-a: 2"], &["X-A: 0, 1", "b: 1", "x-a: 2"]),
            ("header.append: 'x-a: 1'", &["x-a: 1"], &["x-a: 1, 1"]),
            ("header.append: 'x-a: 1'", &["x-a: "], &["x-a: 1"]),
            ("header.merge: 'x-a: 1'", &[], &["x-a: 1"]),
            (
                "header.merge: 'cache-control: must-revalidate'",
                &["cache-control: max-age=1"],
                &["cache-control: max-age=1, must-revalidate"],
            ),
            (
                "header.merge: 'cache-control: must-revalidate'",
                &["cache-control: a , Must-Revalidate"],
                &["cache-control: a , Must-Revalidate"],
            ),
            ("header.set: 'x-a: 1'", &["X-a: 0", "b: 1", "x-A: 2"], &["b: 1", "x-a: 1"]),
            ("header.set: 'x-a: 1'", &[], &["x-a: 1"]),
            ("header.set: 'x-a:'", &[], &["x-a: "]),
            ("header.setifempty: 'x-a: 1'", &["x-a: 0"], &["x-a: 0"]),
            ("header.setifempty: 'x-a: 1'", &[], &["x-a: 1"]),
            ("header.unset: x-a", &["x-a: 0", "b: 1", "X-A: 2"], &["b: 1"]),
            ("header.unset: [x-a, b]", &["x-a: 0", "b: 1", "c: 2"], &["c: 2"]),
            ("header.unsetunless: [x-a]", &["x-a: 0", "b: 1", "c: 2"], &["x-a: 0"]),
            (
                "header.cookie.unset: a",
                &["cookie: a=1; b=2; c=3", "set-cookie: a=1"],
                &["cookie: b=2; c=3", "set-cookie: a=1"],
            ),
            ("header.cookie.unsetunless: [A]", &["cookie: a=1; A=2;c=3"], &["cookie: A=2"]),
            ("header.add: {header: 'x-a: 1', when: all}", &[], &["x-a: 1"]),
            ("header.add: {header: ['x-a: 1', 'x-b: 2']}", &[], &["x-a: 1", "x-b: 2"]),
        ];
        for (line, before, want) in cases {
            assert_eq!(&apply(&[line], before), want, "{line}");
        }
    }

    #[test]
    fn commands_run_in_the_order_written() {
        let lines = ["header.unset: x-a", "header.add: 'x-a: 1'", "header.append: 'x-a: 2'"];
        assert_eq!(apply(&lines, &["x-a: 0"]), ["x-a: 1, 2"]);
    }

    #[test]
    fn early_commands_alone_make_no_filter() {
        assert!(build(set(&["header.add: {header: 'x-a: 1', when: early}"]).inherited.get()).is_none());
        assert!(build(&Settings::default()).is_none());
    }

    #[test]
    fn hints_are_what_is_early_and_what_a_page_needs() {
        type Case<'a> = (&'a [&'a str], bool, &'a [&'a str]);
        let link = "header.add: 'link: </a.css>; rel=preload; as=style'";
        let cases: &[Case<'_>] = &[
            (&[link], true, &["link: </a.css>; rel=preload; as=style"]),
            (&[link], false, &[]),
            (&["header.add: 'link: </a>; rel=next'", "header.add: 'x-a: rel=preload'"], true, &[]),
            (
                &["header.set: 'Link: </a>; as=font; rel=\"preload\"'"],
                true,
                &["link: </a>; as=font; rel=\"preload\""],
            ),
            (
                &["header.add: {header: 'link: <//b>; rel=preconnect', when: all}"],
                false,
                &["link: <//b>; rel=preconnect"],
            ),
            (&["header.add: {header: 'x-a: 1', when: early}"], false, &["x-a: 1"]),
            (&[link, "header.unset: {header: link, when: early}"], true, &[]),
        ];
        for (lines, preload, want) in cases {
            let fields = early(set(lines).inherited.get(), *preload).unwrap_or_default();
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            let shown: Vec<_> = fields.iter().map(|(n, v)| format!("{}: {}", text(n), text(v))).collect();
            assert_eq!(shown, *want, "{lines:?}");
        }
    }

    #[test]
    fn a_103_of_an_upstream_is_changed_by_commands_for_early_and_for_all() {
        let lines = [
            "header.add: 'x-final: 1'",
            "header.add: {header: 'x-early: 1', when: early}",
            "header.set: {header: 'x-all: 1', when: all}",
            "header.unset: {header: x-gone, when: early}",
        ];
        let change = of_early_hints(set(&lines).inherited.get()).expect("commands");
        for (status, want) in [
            (Status::EARLY_HINTS, &["x-early", "x-all"][..]),
            (Status::new(104).unwrap(), &["x-gone", "x-all"][..]),
        ] {
            let mut head = ResponseHead::new(status);
            head.append(b"x-gone", b"0");
            head.append(b"x-all", b"0");
            change(&mut head);
            let mut names: Vec<_> = head.iter().map(|(name, _)| String::from_utf8_lossy(name)).collect();
            assert_eq!(names, want, "{status:?}");
            names.clear();
        }
        assert!(of_early_hints(set(&lines[..1]).inherited.get()).is_none());
    }

    #[test]
    fn errors_say_what_is_wrong_with_a_line() {
        let framing = "is set by the server and cannot be changed";
        let cases = [
            ("header.add: x-a", "expected `Name: value`, found `x-a`".to_owned()),
            ("header.add: ': 1'", "expected `Name: value`, found `: 1`".to_owned()),
            ("header.add: 'x a: 1'", "`x a` is not a valid name of a field: it contains ` `".to_owned()),
            (
                "header.add: \"x-a: 1\\nb: 2\"",
                "a field value must not contain line breaks or other control characters".to_owned(),
            ),
            ("header.set: 'Content-Length: 1'", format!("`content-length` {framing}")),
            ("header.unset: transfer-encoding", format!("`transfer-encoding` {framing}")),
            ("header.unset: Server", format!("`server` {framing}; see send-server-name")),
            ("header.unset: ''", "expected a name, found nothing".to_owned()),
            ("header.add: {when: all}", "`header` is missing".to_owned()),
            (
                "header.add: {header: 'a: b', when: now}",
                "expected one of final, early, all, found `now`".to_owned(),
            ),
            (
                "header.cookie.unset: 'a b'",
                "`a b` is not a valid name of a cookie: it contains ` `".to_owned(),
            ),
        ];
        for (line, want) in cases {
            assert_eq!(error(line), want);
        }
    }
}
