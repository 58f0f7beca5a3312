//! The texts a configuration consists of.

use super::position::Position;

/// A file, or a text in place of one.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its path, as given by the user.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// All texts of a configuration in the order in which they were opened, indexed by [`Position::file`].
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// Adds a text and returns its index.
    pub fn add(&mut self, name: &str, text: String) -> u32 {
        self.0.push(Source { name: name.to_owned(), text });
        u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX)
    }

    /// The text that contains `place`.
    pub fn get(&self, place: Position) -> Option<&Source> {
        self.0.get(place.file as usize)
    }

    /// `file:line` of `place`.
    pub fn line(&self, place: Position) -> String {
        let Some(source) = self.get(place) else { return String::new() };
        let above = source.text.as_bytes().iter().take(place.start as usize);
        let line = above.filter(|byte| **byte == b'\n').count() + 1;
        format!("{}:{line}", source.name)
    }

    /// All texts.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }
}

/// The last character boundary of `text` up to `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
