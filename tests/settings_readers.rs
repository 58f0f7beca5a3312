//! Every field of the settings has a reader: otherwise a directive without an effect would be accepted
//! silently.
//!
//! The compiler does not find such fields, since they are public. So the sources are searched for every field's name
//! after a dot or in a pattern, outside tests and setters. Fields of the same name mask each other: a
//! reported field is certain, an unreported one is only likely to have a reader.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Fields that need no reader, with the reason.
const EXEMPT: &[(&str, &str)] = &[
    ("compressible", "h2o's attribute of media types, for compression on the fly"),
    ("high_priority", "h2o's attribute of media types; browsers send priorities themselves (RFC 9218)"),
    ("host_names", "of the loader"),
];

/// Methods that only write to their receiver.
const WRITERS: &[&str] = &["push", "extend", "insert", "clear", "append", "push_str"];

/// The traits that features' settings types implement.
const SETTINGS: &str = "impl FeatureSetting, impl HandlerSetting";

/// A struct or an enum of the settings.
#[derive(Default)]
struct Type {
    /// The file and the public fields of a struct.
    fields: Vec<(PathBuf, String)>,
    /// The identifiers in its fields' types, or of its variants.
    words: Vec<String>,
}

#[test]
fn every_field_of_the_settings_has_a_reader() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let server = root.join("server/src");
    let declared = files(&server.join("modules")).into_iter().chain([server.join("config/settings.rs")]);
    let mut types: HashMap<String, Type> = HashMap::new();
    for file in declared {
        let tokens = tokens(&file);
        declarations(&file, &tokens, &mut types);
        settings(&tokens, &mut types);
    }
    let mut read = HashSet::new();
    for folder in ["server", "hayami"] {
        files(&root.join(folder).join("src")).iter().for_each(|file| readers(&tokens(file), &mut read));
    }
    let fields: BTreeSet<_> = reachable(&types).into_iter().flat_map(|name| &types[name].fields).collect();
    assert!(fields.len() > 150, "{}", fields.len());
    let unread = fields.iter().filter(|(_, field)| !read.contains(field));
    let unread = unread.filter(|(_, field)| !EXEMPT.iter().any(|(name, _)| name == field));
    let unread: Vec<_> = unread.map(|(file, field)| format!("{}: {field}", file.display())).collect();
    assert_eq!(unread, [""; 0], "fields of settings that nothing reads");
}

/// The names of all types that the settings consist of.
fn reachable(types: &HashMap<String, Type>) -> HashSet<&str> {
    let mut found = HashSet::new();
    let mut next: Vec<&str> = types[SETTINGS].words.iter().map(String::as_str).collect();
    while let Some(name) = next.pop() {
        let Some((name, kind)) = types.get_key_value(name) else { continue };
        if found.insert(name.as_str()) {
            next.extend(kind.words.iter().map(String::as_str));
        }
    }
    found
}

/// All sources below a folder, but for those of tests.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        match path.is_dir() {
            _ if matches!(name, "tests" | "testing" | "test_support" | "scratch") => {}
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// The tokens of a source, without comments, strings and the tests at its end.
fn tokens(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).expect("a source");
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut tokens = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let len = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => literal(rest, '"'),
            // A lifetime has no second quote.
            '\'' if rest.starts_with("'\\") || rest.chars().nth(2) == Some('\'') => literal(rest, '\''),
            c if is_word(c) => {
                let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                tokens.push(rest[..len].to_owned());
                len
            }
            c => {
                if !c.is_whitespace() {
                    tokens.push(c.to_string());
                }
                c.len_utf8()
            }
        };
        rest = &rest[len..];
    }
    tokens
}

/// The length of a literal that ends in `quote`.
fn literal(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == quote && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// Collects the types that a source declares.
fn declarations(file: &Path, tokens: &[String], types: &mut HashMap<String, Type>) {
    for (at, word) in tokens.iter().enumerate().filter(|(_, word)| matches!(word.as_str(), "struct" | "enum"))
    {
        let name = &tokens[at + 1];
        let Some(open) = (at..tokens.len()).find(|at| matches!(tokens[*at].as_str(), "{" | ";")) else {
            continue;
        };
        let body = body(tokens, open);
        let kind = types.entry(name.clone()).or_default();
        kind.words.extend(tokens[at..open].iter().chain(body).cloned());
        let field = |at: usize| match &body[at..] {
            [public, field, colon, ..] if public == "pub" && colon == ":" => Some(field.clone()),
            _ => None,
        };
        let fields = (0..body.len()).filter_map(field).filter(|_| word == "struct");
        kind.fields.extend(fields.map(|field| (file.to_owned(), field)));
    }
}

/// Collects the types that a source declares as settings of its feature.
fn settings(tokens: &[String], types: &mut HashMap<String, Type>) {
    let declared = tokens.windows(4).filter_map(|words| match words {
        [word, contract, of, name] if word == "impl" && of == "for" => {
            matches!(contract.as_str(), "FeatureSetting" | "HandlerSetting").then(|| name.clone())
        }
        _ => None,
    });
    types.entry(SETTINGS.to_owned()).or_default().words.extend(declared);
}

/// The tokens between the brace at `open` and its partner.
fn body(tokens: &[String], open: usize) -> &[String] {
    let mut depth = 0;
    let close = (open..tokens.len()).find(|at| {
        depth += match tokens[*at].as_str() {
            "{" => 1,
            "}" => -1,
            _ => 0,
        };
        depth == 0
    });
    close.map_or(&[], |close| tokens.get(open + 1..close).unwrap_or_default())
}

/// Collects the names of fields that a source reads.
fn readers(tokens: &[String], read: &mut HashSet<String>) {
    for at in 0..tokens.len() {
        if tokens[at] == "." && is_read(tokens, at) {
            read.insert(tokens[at + 1].clone());
        }
        if tokens[at] == "{" && is_pattern(tokens, at) {
            let body = body(tokens, at);
            let bound = |at: &usize| matches!(body.get(at + 1).map_or("}", String::as_str), "," | ":" | "}");
            read.extend((0..body.len()).filter(bound).map(|at| body[at].clone()));
        }
    }
}

/// Whether the field after the dot at `dot` is read.
fn is_read(tokens: &[String], dot: usize) -> bool {
    let token = |at: usize| tokens.get(at).map_or("", String::as_str);
    match (token(dot + 2), token(dot + 3)) {
        // A method; an assignment; a method that changes it.
        ("(", _) => false,
        ("=", next) => matches!(next, "=" | ">"),
        ("+" | "-" | "|", "=") => false,
        (".", method) if WRITERS.contains(&method) => false,
        // Reads in setters have no effect yet.
        _ => root(tokens, dot) != "scope",
    }
}

/// The first identifier of an expression of fields and `get::<T>()`, of which `dot` is one of the dots.
fn root(tokens: &[String], mut dot: usize) -> &str {
    loop {
        let word = member(tokens, dot);
        match word.checked_sub(1).map(|at| tokens[at].as_str()) {
            Some(".") => dot = word - 1,
            _ => return tokens.get(word).map_or("", String::as_str),
        }
    }
}

/// The position of the name of the field or method before the dot at `dot`.
fn member(tokens: &[String], dot: usize) -> usize {
    let before = |at: usize, wanted: &str| at.checked_sub(1).filter(|at| tokens[*at] == wanted);
    let arguments = before(dot, ")").and_then(|at| before(at, "("));
    let Some(open) = arguments else { return dot.saturating_sub(1) };
    let generic = before(open, ">").and_then(|end| (0..end).rev().find(|at| tokens[*at] == "<"));
    // Two colons precede `<`.
    generic.map_or(open, |start| start.saturating_sub(2)).saturating_sub(1)
}

/// Whether the brace at `open` belongs to a pattern of a struct.
fn is_pattern(tokens: &[String], open: usize) -> bool {
    let named = open > 0 && tokens[open - 1].starts_with(|c: char| c.is_ascii_uppercase());
    let declared = open > 1 && matches!(tokens[open - 2].as_str(), "struct" | "enum" | "for" | "impl" | ">");
    if !named || declared {
        return false;
    }
    let body = body(tokens, open);
    let after = tokens.get(open + body.len() + 2).map_or("", String::as_str);
    let rest = body.ends_with(&[".".to_owned(), ".".to_owned()]);
    rest || matches!(after, "=" | ":")
}

#[test]
fn a_field_that_is_only_set_is_found() {
    let read = |code: &str| {
        let file = std::env::temp_dir().join(format!("hayami-readers-{}.rs", std::process::id()));
        std::fs::write(&file, code).expect("a file");
        let mut read = HashSet::new();
        readers(&tokens(&file), &mut read);
        std::fs::remove_file(file).expect("removed");
        read.contains("field")
    };
    for (code, want) in [
        ("scope.global.limits.field = node.integer(0..=1)?;", false),
        ("settings.field = 1; settings.field += 1; settings.field.push(1);", false),
        ("Settings { field: 1, other }", false),
        ("fn f() { x.field() } // x.field", false),
        ("\"x.field\"", false),
        ("scope.inherited.field.check(node)?;", false),
        ("scope.inherited.get::<Settings>().field.check(node)?;", false),
        ("scope.inherited.get_mut().field.check(node)?;", false),
        ("let most = settings.global.get::<limits::Settings>().field;", true),
        ("let most = settings.global.limits.field;", true),
        ("match x { _ if most > self.field => 1 }", true),
        ("if self.field == 1 {}", true),
        ("let Settings { field, .. } = settings;", true),
        ("let Settings { field: most, other } = settings;", true),
        ("fn f(Settings { field }: &Settings) {}", true),
    ] {
        assert_eq!(read(code), want, "{code}");
    }
}
