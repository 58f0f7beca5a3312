//! The tree in ARCHITECTURE.md is the tree on the disk.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The tree's entry on a crate.
#[derive(Default)]
struct Section {
    folder: String,
    /// Modules by their path below `src`, as the lines name them.
    modules: Vec<PathBuf>,
    /// Every word of its lines.
    words: BTreeSet<String>,
}

/// The maximum column at which the explanation of modules in a line begins.
const EXPLANATION: usize = 20;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The sections of crates in the tree.
fn sections(text: &str) -> Vec<Section> {
    let tree = text.split("```\n").find(|block| block.starts_with("crates/http/")).expect("the tree");
    let (mut sections, mut open): (Vec<Section>, Vec<(usize, PathBuf)>) = (Vec::new(), Vec::new());
    for line in tree.lines() {
        let indent = line.len() - line.trim_start().len();
        if indent == 0 {
            let folder = line.split_whitespace().next().unwrap_or_default().trim_end_matches('/');
            sections.push(Section { folder: folder.to_owned(), ..Section::default() });
            open = vec![(0, PathBuf::new())];
        }
        let Some(section) = sections.last_mut() else { continue };
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        section.words.extend(line.split(|c| !is_part(c)).map(str::to_owned));
        if indent == 0 || indent >= EXPLANATION {
            continue;
        }
        open.retain(|(own, _)| *own < indent);
        let parent = open.last().map_or_else(PathBuf::new, |(_, path)| path.clone());
        let names = line.trim_start().split("  ").next().unwrap_or_default();
        for name in names.split(' ').filter(|name| *name != "…") {
            section.modules.push(parent.join(name));
            if name.ends_with('/') {
                open.push((indent, parent.join(name.trim_end_matches('/'))));
            }
        }
    }
    sections.retain(|section| section.folder.starts_with("crates/"));
    sections
}

/// The modules of a crate: names of files and folders directly in its `src`, without tests.
fn modules(src: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(src).expect("a folder").map(|entry| entry.expect("an entry").path());
    let names = entries.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    names
        .filter(|name| !matches!(name.as_str(), "lib" | "main" | "testing") && !name.ends_with("tests"))
        .collect()
}

#[test]
fn every_room_of_the_tree_is_there() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("a text");
    let sections = sections(&text);
    assert!(sections.len() > 9, "where are the crates?");
    for section in &sections {
        let src = root().join(&section.folder).join("src");
        for module in &section.modules {
            let path = src.join(module);
            let is_folder = module.as_os_str().as_encoded_bytes().ends_with(b"/");
            let is_there = path.is_dir() || !is_folder && path.with_extension("rs").is_file();
            assert!(is_there, "{}: there is no {}", section.folder, module.display());
        }
    }
}

#[test]
fn every_module_of_a_crate_has_its_place_in_the_tree() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("a text");
    let sections = sections(&text);
    for entry in std::fs::read_dir(root().join("crates")).expect("the crates") {
        let folder = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        let section = sections.iter().find(|section| section.folder == format!("crates/{folder}"));
        let section = section.unwrap_or_else(|| panic!("{folder} is not in the tree"));
        let missing: Vec<_> = modules(&root().join("crates").join(&folder).join("src"))
            .into_iter()
            .filter(|name| !section.words.contains(name))
            .collect();
        assert!(missing.is_empty(), "{folder}: {missing:?} are not in the tree");
    }
}
