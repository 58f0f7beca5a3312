//! The directives: `compress`, `compress-minimum-size` and `gzip`.

use super::Target;
use crate::config::directive::{Directive, Level, Levels, Scope};
use crate::config::error::ConfigError;
use crate::config::yaml::{Node, Value};
use hayami_http::negotiate::Coding;

/// The directives of this feature.
pub const DIRECTIVES: &[Directive] = &[
    Directive {
        name: "compress",
        levels: Levels::ALL,
        argument: "ON | OFF; a sequence of br, zstd, gzip; or a mapping of these to ON, OFF or a quality",
        default: "OFF",
        help: "Compresses responses while they are sent, if their type is compressible (`file.mime.addtypes`). Of the \
               codings that the client weighs equally, the first one is used; ON stands for [br, zstd, gzip]. \
               Qualities: gzip 1 to 9 (default 1), br 0 to 11 (default 1), zstd 1 to 22 (default 3); from br 7 and \
               zstd 10 on, separate threads do the work.",
        set,
    },
    Directive {
        name: "compress-minimum-size",
        levels: Levels::ALL,
        argument: "bytes",
        default: "100",
        help: "Responses with less content are not compressed. Content of unknown length is.",
        set: |scope, node| {
            node.bytes().map(|bytes| scope.inherited.get_mut::<super::Settings>().minimum_size = bytes)
        },
    },
    Directive {
        name: "gzip",
        levels: Levels::ALL,
        argument: "ON | OFF",
        default: "OFF",
        help: "ON is the same as `compress: [gzip]`, and OFF as `compress: OFF`.",
        set: set_gzip,
    },
];

/// A coding that can be configured.
struct Kind {
    name: &'static str,
    coding: Coding,
    /// Lowest, highest and default quality.
    qualities: (u64, u64, u8),
}

/// In the order of `compress: ON`.
static KINDS: [Kind; 3] = [
    Kind { name: "br", coding: Coding::Brotli, qualities: (0, 11, 1) },
    Kind { name: "zstd", coding: Coding::Zstd, qualities: (1, 22, 3) },
    Kind { name: "gzip", coding: Coding::Gzip, qualities: (1, 9, 1) },
];

impl Kind {
    /// The coding named by a node.
    fn named(node: &Node) -> Result<&'static Self, ConfigError> {
        node.one_of(&KINDS.each_ref().map(|kind| kind.name)).map(|index| &KINDS[index])
    }

    fn usual(&self) -> Target {
        Target { coding: self.coding, quality: self.qualities.2 }
    }

    /// `ON`, `OFF`, a quality, or `{quality: …}`; `None`: off.
    fn target(&self, node: &Node) -> Result<Option<Target>, ConfigError> {
        let (least, most, _) = self.qualities;
        match &node.value {
            Value::Mapping(pairs) => {
                for (key, _) in pairs {
                    key.one_of(&["quality"])?;
                }
                let quality = node.get("quality").ok_or_else(|| node.error("`quality` is missing"))?;
                Ok(Some(Target { coding: self.coding, quality: quality.integer(least..=most)? as u8 }))
            }
            Value::Scalar(text) if text.eq_ignore_ascii_case("on") => Ok(Some(self.usual())),
            Value::Scalar(text) if text.eq_ignore_ascii_case("off") => Ok(None),
            _ => {
                match node.integer(least..=most) {
                    Ok(quality) => Ok(Some(Target { coding: self.coding, quality: quality as u8 })),
                    Err(_) => Err(node
                        .expected(&format!("ON, OFF or a quality from {least} to {most} for {}", self.name))),
                }
            }
        }
    }
}

fn set(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let targets = match &node.value {
        Value::Scalar(_) => scalar(node)?,
        Value::Sequence(names) if names.is_empty() => {
            return Err(node.error("`compress` is an empty sequence").help("write `OFF`"));
        }
        Value::Sequence(names) => {
            check_repeated(names.iter())?;
            names.iter().map(|name| Kind::named(name).map(Kind::usual)).collect::<Result<_, _>>()?
        }
        Value::Mapping(pairs) => {
            check_repeated(pairs.iter().map(|(name, _)| name))?;
            let mut targets = Vec::new();
            for (name, value) in pairs {
                targets.extend(Kind::named(name)?.target(value)?);
            }
            targets
        }
    };
    use_targets(scope, node, targets);
    Ok(())
}

fn set_gzip(scope: &mut Scope<'_>, node: &Node) -> Result<(), ConfigError> {
    let [.., gzip] = &KINDS;
    let targets = if node.on_off()? { vec![gzip.usual()] } else { Vec::new() };
    use_targets(scope, node, targets);
    Ok(())
}

fn scalar(node: &Node) -> Result<Vec<Target>, ConfigError> {
    let text = node.text()?;
    if let Some(kind) = KINDS.iter().find(|kind| kind.name.eq_ignore_ascii_case(text)) {
        let wanted = node.expected("ON, OFF, a sequence or a mapping");
        return Err(wanted.help(format!("write `[{}]`", kind.name)));
    }
    Ok(if node.on_off()? { KINDS.iter().map(Kind::usual).collect() } else { Vec::new() })
}

/// If one coding has two qualities, one of them would never be used.
fn check_repeated<'n>(names: impl Iterator<Item = &'n Node>) -> Result<(), ConfigError> {
    let mut seen: Vec<(&str, &Node)> = Vec::new();
    for node in names {
        let name = Kind::named(node)?.name;
        if let Some((_, first)) = seen.iter().find(|(seen, _)| *seen == name) {
            let error = node.error(format!("`{name}` is listed twice"));
            return Err(error.help("remove one of the two").also(first.at, "here"));
        }
        seen.push((name, node));
    }
    Ok(())
}

fn use_targets(scope: &mut Scope<'_>, node: &Node, targets: Vec<Target>) {
    if targets.is_empty() && scope.level == Level::Extension {
        let warning = node.error("compression cannot be turned off in `file.custom-handler`");
        scope.warn(warning.help("write `is_compressible: NO` for the type in `file.mime.addtypes`"));
    }
    scope.inherited.get_mut::<super::Settings>().targets = targets;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::test_support::{Setting, error, set};

    /// The targets of a line: `br 1, gzip 6`.
    fn targets(line: &str) -> String {
        let Setting { inherited, .. } = set(&[line]);
        let name =
            |target: &Target| KINDS.iter().find(|kind| kind.coding == target.coding).expect("one").name;
        let shown = inherited
            .get::<crate::modules::compress::Settings>()
            .targets
            .iter()
            .map(|t| format!("{} {}", name(t), t.quality));
        shown.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn codings_have_an_order_and_a_quality() {
        for (line, want) in [
            ("compress: ON", "br 1, zstd 3, gzip 1"),
            ("compress: on", "br 1, zstd 3, gzip 1"),
            ("compress: OFF", ""),
            ("compress: [gzip]", "gzip 1"),
            ("compress: [gzip, br, zstd]", "gzip 1, br 1, zstd 3"),
            ("compress: [GZIP]", "gzip 1"),
            ("compress: {gzip: 9}", "gzip 9"),
            ("compress: {zstd: 22, br: 0, gzip: ON}", "zstd 22, br 0, gzip 1"),
            ("compress: {br: OFF, gzip: {quality: 6}}", "gzip 6"),
            ("compress: {br: OFF}", ""),
            ("gzip: ON", "gzip 1"),
            ("gzip: OFF", ""),
        ] {
            assert_eq!(targets(line), want, "{line}");
        }
        let set = |lines: &[&str]| set(lines).inherited.get::<crate::modules::compress::Settings>().clone();
        let both = set(&["compress: ON", "gzip: ON", "compress-minimum-size: 1k"]);
        assert_eq!((both.targets.len(), both.minimum_size), (1, 1024), "the last one holds");
        assert_eq!(set(&[]).minimum_size, 100);
    }

    #[test]
    fn errors_say_what_is_expected() {
        for (line, want) in [
            ("compress: gzip", "expected ON, OFF, a sequence or a mapping, found `gzip`; write `[gzip]`"),
            ("compress: yes", "expected ON or OFF, found `yes`; write `ON`"),
            ("compress: 5", "expected ON or OFF, found `5`"),
            ("compress: []", "`compress` is an empty sequence; write `OFF`"),
            ("compress: [deflate]", "expected one of br, zstd, gzip, found `deflate`"),
            ("compress: [gzi]", "expected one of br, zstd, gzip, found `gzi`; did you mean `gzip`?"),
            ("compress: [gzip, br, GZIP]", "`gzip` is listed twice; remove one of the two"),
            ("compress: {lz4: 1}", "expected one of br, zstd, gzip, found `lz4`"),
            ("compress: {gzip: 10}", "expected ON, OFF or a quality from 1 to 9 for gzip, found `10`"),
            ("compress: {br: 12}", "expected ON, OFF or a quality from 0 to 11 for br, found `12`"),
            ("compress: {zstd: 0}", "expected ON, OFF or a quality from 1 to 22 for zstd, found `0`"),
            ("compress: {zstd: fast}", "expected ON, OFF or a quality from 1 to 22 for zstd, found `fast`"),
            (
                "compress: {zstd: [1]}",
                "expected ON, OFF or a quality from 1 to 22 for zstd, found a sequence",
            ),
            ("compress: {gzip: {quality: 0}}", "expected an integer from 1 to 9, found `0`"),
            ("compress: {gzip: {}}", "`quality` is missing"),
            ("compress: {gzip: {level: 1}}", "expected one of quality, found `level`"),
            ("gzip: 6", "expected ON or OFF, found `6`"),
            (
                "compress-minimum-size: small",
                "expected a number of bytes, such as 65536 or 64k, found `small`",
            ),
        ] {
            assert_eq!(error(line), want, "{line}");
        }
    }
}
