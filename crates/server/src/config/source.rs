//! The texts of which a configuration consists.

use super::position::Position;

/// A file, or a text that stands for one.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its path, as the user wrote it.
    pub name: String,
    /// What stands in it.
    pub text: String,
}

/// All texts of a configuration in the order in which they were opened; [`Position::file`] counts them.
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// Adds a text and says its number.
    pub fn add(&mut self, name: &str, text: String) -> u32 {
        self.0.push(Source { name: name.to_owned(), text });
        u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX)
    }

    /// The text in which `place` is.
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

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }
}

/// The greatest character boundary of `text` that is not behind `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
