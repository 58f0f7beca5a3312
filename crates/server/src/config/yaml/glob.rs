//! Expands patterns such as `conf.d/*.conf` to files.

use std::io;

/// Whether `path` is a pattern.
pub(super) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?'])
}

/// The files that `pattern` matches, sorted bytewise. Hidden files and directories are left out. The pattern's
/// directory must exist; it is no error if nothing in it matches.
pub(super) fn expand(pattern: &str) -> io::Result<Vec<String>> {
    let (directory, last) =
        pattern.rsplit_once('/').map_or((None, pattern), |(directory, last)| (Some(directory), last));
    if directory.is_some_and(is_pattern) {
        return Err(io::Error::other("`*` and `?` are allowed only after the last `/`"));
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(match directory {
        None => ".",
        Some("") => "/",
        Some(directory) => directory,
    })? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !name.starts_with('.') && matches(last, &name) && !entry.path().is_dir() {
            paths.push(directory.map_or_else(|| name.clone(), |directory| format!("{directory}/{name}")));
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Whether `name` matches `pattern`: `*` matches any text, `?` any character.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // The last `*`, and where its match ends: on a mismatch it is extended by one character.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, reach)) => {
                    star = Some((at, reach + 1));
                    (p, n) = (at + 1, reach + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_is_any_text_and_a_question_mark_any_character() {
        for (pattern, name, want) in [
            ("*.conf", "a.conf", true),
            ("*.conf", ".conf", true),
            ("*.conf", "a.conf~", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("?.conf", "é.conf", true),
            ("?.conf", "ab.conf", false),
            ("*", "", true),
            ("a", "", false),
            ("**", "x", true),
        ] {
            assert_eq!(matches(pattern, name), want, "{pattern} {name}");
        }
    }
}
