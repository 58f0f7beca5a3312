//! No import cycle among the modules of a crate: each can be read, and moved, with only those below it.
//!
//! A module is a file. A file and the folder of its submodules count as one: their imports of each other are
//! ignored. Imports are `use` and paths that begin with `crate`, `super` or `self`, outside of tests; a name
//! that a module re-exports counts for the module in which it is defined.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The crates whose modules have no import cycle.
const CHECKED: &[&str] =
    &["client", "fcgi", "h1", "h2", "hayami", "hpack", "http", "load", "net", "server", "tls"];

/// Where a module is in its crate: the names from the root.
type Name = Vec<String>;

/// The modules of a crate.
#[derive(Default)]
struct Modules {
    /// The imports of each module.
    imports: BTreeMap<Name, BTreeSet<Name>>,
    /// The re-exports of each module, by their names.
    exports: BTreeMap<Name, BTreeMap<String, Name>>,
}

#[test]
fn modules_do_not_import_each_other_in_circles() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in CHECKED {
        let mut modules = Modules::default();
        modules.read(&crates.join(name).join("src"), &mut Vec::new());
        assert!(modules.imports.len() > 3, "{name}: where are its modules?");
        assert_eq!(modules.cycle(), None, "{name}");
    }
}

#[test]
fn a_cycle_is_found_through_a_re_export_and_not_within_a_room() {
    let read = |sources: &[(&[&str], &str)]| {
        let mut modules = Modules::default();
        for (name, _) in sources {
            modules.imports.insert(owned(name), BTreeSet::new());
        }
        sources.iter().for_each(|(name, text)| modules.add(&owned(name), text));
        modules.cycle()
    };
    let room: &[(&[&str], &str)] = &[
        (&["a"], "mod x;\npub use x::X;\nuse crate::b::B;"),
        (&["a", "x"], "use super::Y; pub struct X;"),
        (&["b"], "pub struct B;"),
    ];
    assert_eq!(read(room), None);
    let [first, second, _] = room else { unreachable!() };
    let circle = [*first, *second, (&["b"][..], "fn f() -> crate::a::X {}")];
    assert_eq!(read(&circle), None, "`x` itself imports nothing of `b`");
    let circle = [*first, (&["a", "x"][..], "use crate::{b::B, c};"), (&["b"][..], "use crate::a::{X};")];
    assert_eq!(read(&circle).as_deref(), Some("a::x, b"));
    let tested = [*first, (&["a", "x"][..], "#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}"), circle[2]];
    assert_eq!(read(&tested), None);
}

fn owned(name: &[&str]) -> Name {
    name.iter().map(|part| (*part).to_owned()).collect()
}

impl Modules {
    /// Reads the modules below a folder, which is the module `name`.
    fn read(&mut self, folder: &Path, name: &mut Name) {
        let mut files = Vec::new();
        self.find(folder, name, &mut files);
        files.iter().for_each(|(name, _)| drop(self.imports.insert(name.clone(), BTreeSet::new())));
        files.iter().for_each(|(name, text)| self.add(name, text));
    }

    fn find(&self, folder: &Path, name: &mut Name, files: &mut Vec<(Name, String)>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
            if matches!(stem.as_str(), "tests" | "test_support" | "testing" | "scratch") {
                continue;
            }
            if path.is_dir() {
                name.push(stem);
                self.find(&path, name, files);
                name.pop();
                continue;
            }
            let own = if matches!(stem.as_str(), "mod" | "lib" | "main") { None } else { Some(stem) };
            let text = std::fs::read_to_string(&path).expect("a source");
            files.push((name.iter().cloned().chain(own).collect(), text));
        }
    }

    /// Adds a module's imports and re-exports.
    fn add(&mut self, name: &Name, text: &str) {
        let mut rest = String::new();
        for (index, statement) in code(text).split_inclusive(';').enumerate() {
            let line = statement.trim_start();
            // If it does not start a line, the preceding semicolon is part of a string.
            let starts_line = index == 0 || statement[..statement.len() - line.len()].contains('\n');
            let visibility = line.find("use ").filter(|_| starts_line).map(|at| line[..at].trim());
            match visibility.filter(|word| {
                word.is_empty() || word.starts_with("pub") && (!word.contains(' ') || word.contains("(in "))
            }) {
                Some(word) => {
                    let tree = line.split_once("use ").map_or("", |(_, tree)| tree.trim_end_matches(';'));
                    expanded(tree).iter().for_each(|path| self.note(name, path, !word.is_empty()));
                }
                None => rest.push_str(statement),
            }
        }
        for root in ["crate::", "super::", "self::"] {
            for (at, _) in rest.match_indices(root).filter(|(at, _)| is_word(&rest, *at)) {
                let path = rest[at..].split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').next();
                self.note(name, path.unwrap_or_default(), false);
            }
        }
    }

    fn note(&mut self, name: &Name, path: &str, exported: bool) {
        let Some(absolute) = self.absolute(name, path) else { return };
        match absolute.last().filter(|_| exported).cloned() {
            Some(last) => drop(self.exports.entry(name.clone()).or_default().insert(last, absolute)),
            None => drop(self.imports.entry(name.clone()).or_default().insert(absolute)),
        }
    }

    /// A path from the root of the crate; `None` if it leads to another crate.
    fn absolute(&self, name: &Name, path: &str) -> Option<Name> {
        let path = path.split(" as ").next().unwrap_or_default();
        let mut parts: Vec<_> = path.split("::").map(|part| part.trim().to_owned()).collect();
        parts.retain(|part| !part.is_empty() && part != "*");
        if parts.last().is_some_and(|last| last == "self") {
            parts.pop();
        }
        let above = parts.iter().take_while(|part| *part == "super").count();
        let mut base = name.get(..name.len().checked_sub(above)?)?.to_vec();
        match parts.first()?.as_str() {
            "crate" => base.clear(),
            "self" | "super" => {}
            first => {
                base.push(first.to_owned());
                let known = self.imports.contains_key(&base);
                base.pop();
                return known.then(|| [base, parts].concat());
            }
        }
        Some([base, parts.split_off(above.max(1))].concat())
    }

    /// The module in which a path is defined.
    fn defined(&self, path: &[String], depth: usize) -> Option<Name> {
        let (module, rest) = (0..=path.len()).rev().find_map(|length| {
            let (module, rest) = path.split_at(length);
            self.imports.contains_key(module).then_some((module, rest))
        })?;
        let exported = rest.first().and_then(|first| self.exports.get(module)?.get(first));
        match exported.filter(|_| depth < 8) {
            Some(exported) => self.defined(&[exported, &rest[1..]].concat(), depth + 1),
            None => Some(module.to_vec()),
        }
    }

    /// Modules that import each other in a circle.
    fn cycle(&self) -> Option<String> {
        let edges: BTreeMap<&Name, BTreeSet<Name>> = self
            .imports
            .iter()
            .map(|(name, paths)| {
                let targets = paths.iter().filter_map(|path| self.defined(path, 0));
                let room = |other: &Name| name.starts_with(other) || other.starts_with(name);
                (name, targets.filter(|target| !room(target)).collect())
            })
            .collect();
        let mut left: BTreeSet<&Name> = edges.keys().copied().collect();
        // What imports nothing that is left is in no circle; nor is what nothing that is left imports.
        loop {
            let imported: BTreeSet<_> = left.iter().flat_map(|name| &edges[*name]).collect();
            let stays = |name: &&&Name| {
                imported.contains(**name) && edges[**name].iter().any(|target| left.contains(target))
            };
            let next: BTreeSet<_> = left.iter().filter(stays).copied().collect();
            if next.len() == left.len() {
                break;
            }
            left = next;
        }
        let names: Vec<_> = left.iter().map(|name| name.join("::")).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

/// A source without comments and tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let mut code: Vec<&str> = Vec::new();
    let mut tested = false;
    for line in lines {
        if !tested {
            code.push(line);
        }
        tested = line.trim() == "#[cfg(test)]";
    }
    code.join("\n")
}

/// Whether a word begins at this place.
fn is_word(code: &str, at: usize) -> bool {
    !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
}

/// The paths of a `use`.
fn expanded(tree: &str) -> Vec<String> {
    let Some(open) = tree.find('{') else { return vec![tree.trim().to_owned()] };
    let close = tree.rfind('}').expect("a brace that closes");
    let (prefix, inner) = (tree[..open].trim(), &tree[open + 1..close]);
    let mut depth = 0;
    let parts = inner.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let parts = parts.filter(|part| !part.trim().is_empty());
    parts.flat_map(expanded).map(|path| format!("{prefix}{path}")).collect()
}
