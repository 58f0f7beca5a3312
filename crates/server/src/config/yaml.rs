//! YAML 1.1 as h2o reads it: nodes that know where they stand.

/// A place in a configuration file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Index of the file, in the order in which they were opened.
    pub file: u32,
    /// First octet.
    pub start: u32,
    /// Behind the last octet.
    pub end: u32,
}

/// A value with its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it stands.
    pub at: Place,
    /// What it is.
    pub value: Value,
}

/// What a node is.
#[derive(Clone, Debug)]
pub enum Value {
    /// Text; null is the empty text.
    Scalar(String),
    /// A list.
    Sequence(Vec<Node>),
    /// Pairs in the order written; keys may repeat.
    Mapping(Vec<(Node, Node)>),
}
