//! `<<`: merges the pairs of other mappings.
//!
//! As in h2o, a merged pair is dropped if a pair with the same key follows further down, and comes after those further
//! up; of several merged mappings the first has precedence.

use super::{ConfigError, Node, Value};
use std::collections::HashSet;

/// Merges the mappings of the `<<` keys among `pairs`.
pub(super) fn merge(pairs: Vec<(Node, Node)>) -> Result<Vec<(Node, Node)>, ConfigError> {
    if !pairs.iter().any(|(key, _)| key.is("<<")) {
        return Ok(pairs);
    }
    let mut merged = Merged::default();
    for (key, value) in pairs.into_iter().rev() {
        if key.is("<<") {
            for mapping in mappings(value)? {
                merged.above(mapping);
            }
        } else {
            merged.push((key, value));
        }
    }
    merged.pairs.reverse();
    Ok(merged.pairs)
}

/// The result, built from its end.
#[derive(Default)]
struct Merged {
    pairs: Vec<(Node, Node)>,
    /// The scalar keys of `pairs`.
    keys: HashSet<String>,
}

impl Merged {
    /// Prepends a pair of the mapping itself: keys may repeat.
    fn push(&mut self, pair: (Node, Node)) {
        self.keys.extend(pair.0.text().ok().map(str::to_owned));
        self.pairs.push(pair);
    }

    /// Prepends the pairs of a merged mapping, except those whose key already exists.
    fn above(&mut self, pairs: Vec<(Node, Node)>) {
        let fresh = |key: &Node| !key.text().is_ok_and(|text| self.keys.contains(text));
        let kept: Vec<_> = pairs.into_iter().filter(|(key, _)| fresh(key)).collect();
        for pair in kept.into_iter().rev() {
            self.push(pair);
        }
    }
}

/// The mappings to merge: one, or a sequence.
fn mappings(value: Node) -> Result<Vec<Vec<(Node, Node)>>, ConfigError> {
    let one = |node: Node| match node.value {
        Value::Mapping(pairs) => Ok(pairs),
        _ => Err(node.expected("a mapping or a sequence of mappings after `<<`")),
    };
    match value.value {
        Value::Sequence(nodes) => nodes.into_iter().map(one).collect(),
        _ => Ok(vec![one(value)?]),
    }
}
