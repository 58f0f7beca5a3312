//! Suggests the name that was probably meant.

/// The nearest of `names` to `word`, if it is near enough: one that `word` abbreviates, or one that differs in few
/// letters.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    // A third of the word may differ; of very long words `distance` compares only the beginning.
    let limit = (word.chars().count() / 3).clamp(1, 4);
    let far = |name: &&str| match abbreviates(&word, name) {
        true => 0,
        false => distance(&word, &name.to_ascii_lowercase()),
    };
    names
        .into_iter()
        .map(|name| (far(&name), name))
        .filter(|(far, _)| *far <= limit)
        .min_by_key(|(far, _)| *far)
        .map(|(_, name)| name)
}

/// Whether `word` consists of the parts of `name`, some of them shortened: `cert-file` for `certificate-file`.
fn abbreviates(word: &str, name: &str) -> bool {
    let (cut, whole): (Vec<_>, Vec<_>) = (word.split('-').collect(), name.split('-').collect());
    let fits = |(cut, whole): (&&str, &&str)| cut.len() > 2 && whole.starts_with(*cut);
    cut.len() > 1 && cut.len() == whole.len() && cut.iter().zip(&whole).all(fits)
}

/// How many characters must be inserted, removed, replaced or transposed to turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 { i + j } else { step(&rows, &a, &b, i, j) };
        }
    }
    rows[a.len()][b.len()]
}

/// The cost of the cell (`i`, `j`), both at least 1.
fn step(rows: &[Vec<usize>], a: &[char], b: &[char], i: usize, j: usize) -> usize {
    let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
    let best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
    let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
    if swapped { best.min(rows[i - 2][j - 2] + 1) } else { best }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_if_it_is_near() {
        let names = ["file.dir", "file.file", "listen", "hosts", "num-threads"];
        for (word, want) in [
            ("file.dri", Some("file.dir")),
            ("lisen", Some("listen")),
            ("Listen", Some("listen")),
            ("num_threads", Some("num-threads")),
            ("host", Some("hosts")),
            ("num-thr", Some("num-threads")),
            ("worker_processes", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), want, "{word}");
        }
    }
}
