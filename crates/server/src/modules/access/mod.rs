//! `allow`, `deny`: which addresses may have what is there; `satisfy`: whether an address is enough.
//!
//! The lines of both are one list, in the order written; the first match decides.

mod rules;
mod step;

use step::build;

use crate::address_file;
use crate::address_set::{is_unix, network};
use crate::config::directive::{Directive, Level, Levels, Scope, group};
use crate::config::error::ConfigError;
use crate::config::feature_settings::FeatureSetting;
use crate::config::settings as config;
use crate::config::yaml::{Node, Position, Value};
use crate::feature::Feature;
use crate::phase::Satisfy;
use rules::{Effect, Rule, Subject};
use std::path::Path;
use std::sync::Arc;

/// What holds at one place of the configuration.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    rules: Option<Arc<Rules>>,
    /// `satisfy`
    pub satisfy: Satisfy,
}

impl FeatureSetting for Settings {}

/// The list of a level.
#[derive(Clone, Debug)]
struct Rules {
    /// Where it is written: an inner level begins a list of its own.
    level: Level,
    at: Position,
    list: Vec<Rule>,
}

/// This feature.
pub const FEATURE: Feature = Feature {
    access: Some(|route| build(route.inherited.get(), route.worker).map(Ok)),
    complete: Some(complete),
    ..Feature::new(&[group("Access control", DIRECTIVES)])
};

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "allow",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "an address, a network, `unix:`, `all` or {file: PATH}; or a sequence of these",
        default: "",
        help: "Admits clients with these addresses. The lines of `allow` and `deny` are one list in the order \
               written: the first match decides, and a client that no entry matches is admitted. A level with \
               a line of either does not inherit the list of the outer level. A file has one address or \
               network per line, `#` starts a comment; a change takes effect within a second.",
        set: |scope, node| add(scope, node, Effect::Allow),
    },
    Directive {
        name: "deny",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "an address, a network, `unix:`, `all` or {file: PATH}; or a sequence of these",
        default: "",
        help: "Rejects clients with these addresses with 403, in the same list as `allow`.",
        set: |scope, node| add(scope, node, Effect::Deny),
    },
    Directive {
        name: "satisfy",
        levels: Levels::GLOBAL_HOST_PATH,
        argument: "all | any",
        default: "all",
        help: "Whether a client must be admitted by all of `allow` and `deny`, `auth.basic` and `auth.request`, as \
               far as they are set, or by one of them.",
        set: |scope, node| {
            let choices = [Satisfy::All, Satisfy::Any];
            scope.inherited.get_mut::<Settings>().satisfy = choices[node.one_of(&["all", "any"])?];
            Ok(())
        },
    },
];

const WANTED: &str = "an address, a network such as 10.0.0.0/8, `unix:`, `all` or {file: PATH}";

fn add(scope: &mut Scope<'_>, node: &Node, effect: Effect) -> Result<(), ConfigError> {
    let nodes = node.one_or_many();
    if nodes.is_empty() {
        return Err(node.expected(WANTED));
    }
    let mut list = Vec::with_capacity(nodes.len());
    for node in nodes {
        list.push(Rule { effect, subject: subject(scope, node)? });
    }
    let level = scope.level;
    let own = &mut scope.inherited.get_mut::<Settings>().rules;
    match own {
        Some(own) if own.level == level => Arc::make_mut(own).list.extend(list),
        _ => *own = Some(Arc::new(Rules { level, at: node.at, list })),
    }
    Ok(())
}

fn subject(scope: &mut Scope<'_>, node: &Node) -> Result<Subject, ConfigError> {
    if is_unix(node) {
        return Ok(Subject::Unix);
    }
    if let Value::Mapping(pairs) = &node.value {
        let [(key, value)] = &pairs[..] else { return Err(node.expected(WANTED)) };
        key.one_of(&["file"])?;
        return address_file::open(scope, value).map(Subject::File);
    }
    let network = match node.text()? {
        "all" => return Ok(Subject::All),
        _ => network(node, WANTED)?,
    };
    if !network.is_canonical() {
        let (first, bits) = (network.first(), network.bits());
        let text = format!("`{network}` means `{first}/{bits}`: the bits after the prefix are ignored");
        scope.warn(node.error(text).help(format!("write `{first}/{bits}`, or the address without a prefix")));
    }
    Ok(Subject::Network(network))
}

/// Warns of each list that admits every client.
fn complete(settings: &mut config::Settings, reading: &mut config::Reading, _: &Node) {
    let rules = settings.places().filter_map(|inherited| {
        let Settings { rules, satisfy } = inherited.get::<Settings>();
        rules.as_ref().filter(|_| *satisfy == Satisfy::All)
    });
    let idle = rules.filter(|rules| rules.list.iter().all(Rule::is_idle));
    reading.warnings.extend(idle.map(|rules| {
        let text = "this list admits every client: one that no entry matches is admitted, and the list of an outer \
                    level is not inherited";
        ConfigError::new(rules.at, text).help("add `deny: all` after it")
    }));
}

/// The files of all lists: the server's user has to read them again.
pub fn files(settings: &config::Settings) -> impl Iterator<Item = &Path> {
    let rules = settings.places().filter_map(|inherited| inherited.get::<Settings>().rules.as_ref());
    rules.flat_map(|rules| &rules.list).filter_map(|rule| match &rule.subject {
        Subject::File(file) => Some(file.path()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::load_text;
    use crate::modules::file::scratch::Scratch;
    use crate::modules::test_support::{Setting, error, set};

    fn shown(settings: &Settings) -> Vec<String> {
        let rules = settings.rules.iter().flat_map(|rules| &rules.list);
        rules.map(ToString::to_string).collect()
    }

    #[test]
    fn the_lines_of_both_are_one_list_in_the_order_written() {
        let set = set(&[
            "deny: 10.0.0.7",
            "allow: [10.0.0.0/8, 'unix:', '2001:db8::/32']",
            "deny: [unix:, all]",
            "satisfy: any",
        ]);
        let want = [
            "deny: 10.0.0.7",
            "allow: 10.0.0.0/8",
            "allow: unix:",
            "allow: 2001:db8::/32",
            "deny: unix:",
            "deny: all",
        ];
        assert_eq!(shown(set.inherited.get::<Settings>()), want);
        assert_eq!(set.inherited.get::<Settings>().satisfy, Satisfy::Any);
    }

    #[test]
    fn an_inner_level_that_writes_either_begins_anew() {
        let mut setting = Setting::default();
        setting.set(Level::Global, "allow: 10.0.0.0/8\ndeny: all").expect("set");
        let inherited = setting.inherited.clone();
        setting.set(Level::Host, "deny: 192.0.2.1").expect("set");
        setting.set(Level::Host, "allow: all").expect("set");
        assert_eq!(shown(setting.inherited.get::<Settings>()), ["deny: 192.0.2.1", "allow: all"]);
        assert_eq!(
            shown(inherited.get::<Settings>()),
            ["allow: 10.0.0.0/8", "deny: all"],
            "the outer one stays"
        );
    }

    #[test]
    fn what_is_no_address_is_said() {
        let folder = Scratch::new();
        folder.write("list", "10.0.0.0/8\nlocalhost\n");
        let expected = |found: &str| format!("expected {WANTED}, found {found}");
        for (line, want) in [
            ("allow: localhost", expected("`localhost`")),
            ("deny: []", expected("a sequence")),
            (
                "deny: 10.0.0.0/33",
                expected("`10.0.0.0/33`; the prefix length of an IPv4 network is a number from 0 to 32"),
            ),
            ("deny: '10.0.0.0/8;'", expected("`10.0.0.0/8;`; remove the `;`")),
            ("allow: {a: b, c: d}", expected("a mapping")),
            ("allow: {files: b}", "expected one of file, found `files`; did you mean `file`?".to_owned()),
            ("satisfy: one", "expected one of all, any, found `one`".to_owned()),
        ] {
            assert_eq!(error(line), want, "{line}");
        }
        let path = folder.path("list").display().to_string();
        assert_eq!(
            error(&format!("allow: {{file: {path}}}")),
            format!("`{path}`: line 2: `localhost` is not an address or a network")
        );
        let path = folder.path("none").display().to_string();
        assert_eq!(
            error(&format!("deny: {{file: {path}}}")),
            format!("cannot read `{path}`: there is no such file")
        );
    }

    #[test]
    fn what_has_no_effect_or_another_one_is_warned_of() {
        let cases: [(&str, &[&str]); 5] = [
            ("allow: 10.0.0.0/8", &["this list admits every client"]),
            ("allow: 10.0.0.0/8\ndeny: all", &[]),
            ("allow: 10.0.0.0/8\nsatisfy: any", &[]),
            ("deny: 10.0.0.1/8", &["`10.0.0.1/8` means `10.0.0.0/8`"]),
            ("allow: all", &[]),
        ];
        for (lines, want) in cases {
            let text = format!("listen: 80\n{lines}\nhosts: {{a: {{paths: {{/: {{file.dir: /}}}}}}}}");
            let loaded = load_text("t", &text).unwrap_or_else(|errors| panic!("{errors}"));
            let warned: Vec<_> = loaded.warnings.iter().map(|warning| &warning.message[..]).collect();
            assert_eq!(warned.len(), want.len(), "{lines}: {warned:?}");
            assert!(warned.iter().zip(want).all(|(warned, want)| warned.starts_with(want)), "{warned:?}");
        }
    }
}
