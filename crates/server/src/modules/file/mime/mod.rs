//! Media types by file name extension, as `file.mime.*` sets them.
//!
//! The built-in table (`types`) is never copied: changes by the configuration are kept separately. Types are looked up
//! only when a file is loaded, so a tree and a binary search are fast enough.

mod directives;
mod types;

pub(super) use directives::{add_types, extension_of, remove_types, set_default_type, set_types};

use crate::media_type::{Compressibility, is_compressible};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A media type and its properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaType {
    /// The value of the Content-Type field.
    pub name: Arc<str>,
    /// Whether it is worth compressing.
    pub compressible: bool,
    /// Whether rendering a page waits for it (HTTP/2 sends it before others).
    pub high_priority: bool,
}

impl MediaType {
    /// A type with the properties usual for its name.
    pub fn new(name: &str) -> Self {
        let essence = name.split(';').next().unwrap_or(name).trim().to_ascii_lowercase();
        Self {
            name: name.into(),
            compressible: is_compressible(essence.as_bytes()),
            high_priority: matches!(&*essence, "text/css" | "text/javascript" | "application/javascript"),
        }
    }
}

/// `file.mime.*`: the changes to the built-in table.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether extensions that are not in `changed` have their built-in type.
    builtin: bool,
    /// By extension in lower case without its dot; `None` = removed.
    changed: BTreeMap<Vec<u8>, Option<MediaType>>,
    /// The type of every other name.
    default: MediaType,
}

impl Default for Settings {
    fn default() -> Self {
        Self { builtin: true, changed: BTreeMap::new(), default: MediaType::new("application/octet-stream") }
    }
}

impl Settings {
    /// Removes all extensions.
    pub fn clear(&mut self) {
        self.builtin = false;
        self.changed.clear();
    }

    /// Sets the type of an extension (without its dot).
    pub fn add(&mut self, extension: &str, media_type: MediaType) {
        self.changed.insert(extension.to_ascii_lowercase().into_bytes(), Some(media_type));
    }

    /// Removes an extension.
    pub fn remove(&mut self, extension: &str) {
        self.changed.insert(extension.to_ascii_lowercase().into_bytes(), None);
    }

    /// Sets the type of names without a known extension.
    pub fn set_default(&mut self, media_type: MediaType) {
        self.default = media_type;
    }

    /// The type of the file with that name or path.
    pub fn of_name(&self, path: &[u8]) -> MediaType {
        self.known(extension(path)).unwrap_or_else(|| self.default.clone())
    }

    /// Which types are compressible, for responses of any origin.
    pub fn compressibility(&self) -> Compressibility {
        let types = self.changed.values().flatten().chain([&self.default]);
        let own = self.clone();
        Compressibility::new(
            types.map(|media_type| (&*media_type.name, media_type.compressible)),
            move |path| own.known(extension(path)).map(|media_type| media_type.compressible),
        )
    }

    fn known(&self, extension: &[u8]) -> Option<MediaType> {
        let lower = extension.to_ascii_lowercase();
        match self.changed.get(&lower) {
            Some(changed) => changed.clone(),
            None if self.builtin => types::find(&lower).map(MediaType::new),
            None => None,
        }
    }
}

/// The part after the last dot of the last segment; empty if there is no dot.
pub(super) fn extension(path: &[u8]) -> &[u8] {
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or_default();
    match memchr::memrchr(b'.', name) {
        Some(dot) => &name[dot + 1..],
        None => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_extension_of_the_name_decides_in_any_case() {
        let cases = [
            ("index.html", "text/html"),
            ("a/b.c/LOGO.SVG", "image/svg+xml"),
            ("jquery.min.js", "text/javascript"),
            ("a.html/readme", "application/octet-stream"),
            ("archive.tar.gz", "application/gzip"),
            ("noextension", "application/octet-stream"),
            ("trailing.", "application/octet-stream"),
            ("", "application/octet-stream"),
        ];
        for (name, want) in cases {
            assert_eq!(&*Settings::default().of_name(name.as_bytes()).name, want, "{name}");
        }
    }

    #[test]
    fn changes_lie_over_the_built_in_table() {
        let mut settings = Settings::default();
        settings.add("XYZ", MediaType::new("text/x-yz"));
        settings.remove("html");
        settings.set_default(MediaType::new("text/plain"));
        assert_eq!(&*settings.of_name(b"a.xyz").name, "text/x-yz");
        assert_eq!(&*settings.of_name(b"a.html").name, "text/plain");
        assert_eq!(&*settings.of_name(b"a.css").name, "text/css");
        settings.clear();
        assert_eq!(&*settings.of_name(b"a.css").name, "text/plain");
    }

    #[test]
    fn text_is_compressible_and_scripts_go_first() {
        for (name, compressible, priority) in [
            ("text/css", true, true),
            ("text/html; charset=utf-8", true, false),
            ("application/ld+json", true, false),
            ("image/svg+xml", true, false),
            ("image/png", false, false),
            ("application/gzip", false, false),
        ] {
            let media_type = MediaType::new(name);
            assert_eq!(
                (media_type.compressible, media_type.high_priority),
                (compressible, priority),
                "{name}"
            );
        }
    }

    #[test]
    fn what_is_said_about_compression_holds_by_type_and_by_path() {
        let mut settings = Settings::default();
        let thing = MediaType { compressible: true, ..MediaType::new("application/x-thing; v=1") };
        settings.add("thing", thing);
        settings.remove("css");
        settings.set_default(MediaType { compressible: false, ..MediaType::new("text/plain") });
        let own = settings.compressibility();
        for (content_type, want) in
            [("application/x-thing", true), ("text/plain", false), ("text/css", true), ("image/png", false)]
        {
            assert_eq!(own.of_type(content_type.as_bytes()), want, "{content_type}");
        }
        for (path, want) in [
            ("/a.thing", Some(true)),
            ("/a.html", Some(true)),
            ("/a.png", Some(false)),
            ("/a.css", None),
            ("/a", None),
        ] {
            assert_eq!(own.of_path(path.as_bytes()), want, "{path}");
        }
    }
}
