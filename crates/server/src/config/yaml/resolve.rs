//! From the raw tree of a file to nodes: resolves `!file`, `!env`, aliases and `<<`.

use super::parse::{Alias, Raw, RawTag, RawValue};
use super::{ConfigError, Node, Position, Value, merge};
use crate::config::nearest::nearest;
use std::collections::{BTreeMap, HashMap};

/// Deepest nesting after aliases are resolved; deeper than that of one file.
const DEEPEST: usize = 128;

/// Bytes counted for a node besides its text.
const NODE: usize = 64;

/// A resolved file.
#[derive(Default)]
pub(super) struct Document {
    /// `None` if the file is empty.
    pub(super) root: Option<Node>,
    /// Anchors for aliases of the including file.
    anchors: BTreeMap<String, Node>,
}

impl Document {
    /// Appends a document: the pairs of its mapping, or the elements of its sequence.
    pub(super) fn append(&mut self, other: Self, at: Position) -> Result<(), ConfigError> {
        for (name, node) in other.anchors {
            self.anchors.entry(name).or_insert(node);
        }
        let Some(more) = other.root else { return Ok(()) };
        match (self.root.as_mut().map(|node| &mut node.value), more.value) {
            (None, value) => self.root = Some(Node { at: more.at, value }),
            (Some(Value::Mapping(pairs)), Value::Mapping(more)) => pairs.extend(more),
            (Some(Value::Sequence(nodes)), Value::Sequence(more)) => nodes.extend(more),
            _ => {
                let error = ConfigError::new(at, "these files cannot be joined");
                return Err(error
                    .help("either all files must be mappings, or all must be sequences")
                    .also(more.at, "this file differs"));
            }
        }
        Ok(())
    }
}

/// Reads included files.
pub(super) trait Include {
    /// Reads the file of `!file PATH` at `at`; a pattern stands for all files that it matches, joined.
    fn include(&mut self, path: &str, at: Position) -> Result<Document, ConfigError>;

    /// Takes memory for nodes; an error if it is used up.
    fn spend(&mut self, bytes: usize, at: Position) -> Result<(), ConfigError>;
}

/// Resolves a raw tree.
pub(super) fn resolve(raw: &Raw, reader: &mut impl Include) -> Result<Document, ConfigError> {
    let mut resolver = Resolver {
        reader,
        by_id: HashMap::new(),
        by_name: BTreeMap::new(),
        files: HashMap::new(),
        foreign: BTreeMap::new(),
        within: Vec::new(),
    };
    resolver.collect(raw)?;
    let root = resolver.node(raw, 0)?;
    let own: Vec<_> = resolver.by_name.iter().map(|(name, raw)| (*name, *raw)).collect();
    let mut anchors = std::mem::take(&mut resolver.foreign);
    for (name, raw) in own {
        anchors.insert(name.to_owned(), resolver.node(raw, 0)?);
    }
    Ok(Document { root: Some(root), anchors })
}

struct Resolver<'t, 'r, R> {
    reader: &'r mut R,
    by_id: HashMap<usize, &'t Raw>,
    /// Of several anchors with one name the first, as in h2o. Ordered, so that a text always has the same errors.
    by_name: BTreeMap<&'t str, &'t Raw>,
    /// The content of this file's `!file` tags, by the position of the tag.
    files: HashMap<Position, Node>,
    /// Anchors of included files.
    foreign: BTreeMap<String, Node>,
    /// The anchored nodes whose aliases are being resolved.
    within: Vec<&'t Raw>,
}

impl<'t, R: Include> Resolver<'t, '_, R> {
    /// Collects the anchors and reads the files, so that an alias may precede its anchor.
    fn collect(&mut self, raw: &'t Raw) -> Result<(), ConfigError> {
        if let Some(anchor) = &raw.anchor {
            self.by_id.insert(anchor.id, raw);
            self.by_name.entry(&anchor.name).or_insert(raw);
        }
        if let Some(tag) = raw.tag.as_ref().filter(|tag| tag.text == "!file") {
            self.read_file(raw, tag)?;
        }
        match &raw.value {
            RawValue::Sequence(nodes) => nodes.iter().try_for_each(|node| self.collect(node)),
            RawValue::Mapping(pairs) => {
                pairs.iter().flat_map(|(key, value)| [key, value]).try_for_each(|node| self.collect(node))
            }
            RawValue::Scalar(_) | RawValue::Alias(_) => Ok(()),
        }
    }

    fn read_file(&mut self, raw: &Raw, tag: &RawTag) -> Result<(), ConfigError> {
        let at = Position { end: raw.at.end, ..tag.at };
        let RawValue::Scalar(path) = &raw.value else {
            return Err(ConfigError::new(at, "`!file` needs a path"));
        };
        let document = self.reader.include(path, at)?;
        // Merging an empty file changes nothing.
        let empty = || Node { at, value: Value::Mapping(Vec::new()) };
        self.files.insert(tag.at, document.root.unwrap_or_else(empty));
        for (name, node) in document.anchors {
            self.foreign.entry(name).or_insert(node);
        }
        Ok(())
    }

    fn node(&mut self, raw: &'t Raw, depth: usize) -> Result<Node, ConfigError> {
        if depth > DEEPEST {
            return Err(ConfigError::new(
                raw.at,
                format!("with its aliases expanded, nested deeper than {DEEPEST} levels"),
            ));
        }
        if let Some(tag) = &raw.tag
            && let Some(node) = self.tagged(raw, tag)?
        {
            return Ok(node);
        }
        self.reader.spend(NODE, raw.at)?;
        let value = match &raw.value {
            RawValue::Scalar(text) => {
                self.reader.spend(text.len(), raw.at)?;
                Value::Scalar(text.clone())
            }
            RawValue::Sequence(nodes) => Value::Sequence(
                nodes.iter().map(|node| self.node(node, depth + 1)).collect::<Result<_, _>>()?,
            ),
            RawValue::Mapping(pairs) => Value::Mapping(merge::merge(self.pairs(pairs, depth + 1)?)?),
            RawValue::Alias(alias) => return self.alias(alias, raw.at, depth + 1),
        };
        Ok(Node { at: raw.at, value })
    }

    fn pairs(&mut self, pairs: &'t [(Raw, Raw)], depth: usize) -> Result<Vec<(Node, Node)>, ConfigError> {
        pairs.iter().map(|(key, value)| Ok((self.node(key, depth)?, self.node(value, depth)?))).collect()
    }

    /// The value of a tagged node, if its tag is one of those supported.
    fn tagged(&mut self, raw: &Raw, tag: &RawTag) -> Result<Option<Node>, ConfigError> {
        match tag.text.as_str() {
            "!file" => {
                let node = self.files.get(&tag.at).cloned();
                self.reader.spend(node.as_ref().map_or(0, size), tag.at)?;
                Ok(node)
            }
            "!env" => env(raw, tag).map(Some),
            // YAML's own types: every scalar is text here, so they have no effect.
            core if core == "!" || core.starts_with("!!") || core.starts_with("!<tag:yaml.org,2002:") => {
                Ok(None)
            }
            other => {
                let error = ConfigError::new(tag.at, format!("unknown tag `{other}`"));
                Err(error.help("the supported tags are `!file PATH` and `!env NAME`"))
            }
        }
    }

    fn alias(&mut self, alias: &'t Alias, at: Position, depth: usize) -> Result<Node, ConfigError> {
        let raw = match alias {
            Alias::Above(id) => self.by_id.get(id),
            Alias::Elsewhere(name) => self.by_name.get(name.as_str()),
        };
        if let Some(&raw) = raw {
            if self.within.iter().any(|open| std::ptr::eq(*open, raw)) {
                return Err(ConfigError::new(at, "this alias refers to a value that contains it"));
            }
            self.within.push(raw);
            let node = self.node(raw, depth);
            self.within.pop();
            return node;
        }
        match alias {
            Alias::Elsewhere(name) => self.foreign(name, at),
            Alias::Above(_) => Err(ConfigError::new(at, "this alias has no anchor")),
        }
    }

    fn foreign(&mut self, name: &str, at: Position) -> Result<Node, ConfigError> {
        if let Some(node) = self.foreign.get(name).cloned() {
            self.reader.spend(size(&node), at)?;
            return Ok(node);
        }
        let error = ConfigError::new(at, format!("no anchor `&{name}` is defined above"));
        let names = self.by_name.keys().copied().chain(self.foreign.keys().map(String::as_str));
        Err(match nearest(name, names) {
            Some(near) => error.help(format!("did you mean `*{near}`?")),
            None => error.help("a value that starts with `*` and is not an alias must be quoted"),
        })
    }
}

/// The value of `!env NAME`.
fn env(raw: &Raw, tag: &RawTag) -> Result<Node, ConfigError> {
    let at = Position { end: raw.at.end, ..tag.at };
    let RawValue::Scalar(name) = &raw.value else {
        return Err(ConfigError::new(at, "`!env` needs the name of an environment variable"));
    };
    // `var` would panic on these names.
    let value = if name.is_empty() || name.contains(['=', '\0']) { None } else { std::env::var(name).ok() };
    let value = value.ok_or_else(|| {
        let error = ConfigError::new(at, format!("the environment variable `{name}` is not set"));
        error.help(format!("set it when starting the server: `{name}=… hayami -c FILE`"))
    })?;
    Ok(Node { at, value: Value::Scalar(value) })
}

/// Bytes of a node, as counted by `spend`.
fn size(node: &Node) -> usize {
    NODE + match &node.value {
        Value::Scalar(text) => text.len(),
        Value::Sequence(nodes) => nodes.iter().map(size).sum(),
        Value::Mapping(pairs) => pairs.iter().map(|(key, value)| size(key) + size(value)).sum(),
    }
}
