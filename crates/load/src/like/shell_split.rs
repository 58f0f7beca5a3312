//! Splits and quotes command lines as a shell does.

/// Splits a line into words: single and double quotes, and a backslash before any character.
///
/// # Errors
/// A quote is not closed.
pub fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    match quote {
        None => Ok(words),
        Some(open) => Err(format!("the quote {open} is not closed")),
    }
}

/// The words as a line that a shell splits into them again.
pub fn quoted<S: AsRef<str>>(words: &[S]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+%@~[]".contains(c);
    let quote = |word: &str| match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(|word| quote(word.as_ref())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_as_a_shell_does() {
        for (line, words) in [
            ("a  b\tc", &["a", "b", "c"][..]),
            ("-H 'A: b' \"c \\\" d\" e\\ f", &["-H", "A: b", "c \" d", "e f"]),
            ("x'y z'w ''", &["xy zw", ""]),
            ("'\\'", &["\\"]),
            ("", &[]),
        ] {
            assert_eq!(split(line).expect(line), words, "{line}");
        }
        assert!(split("'a").is_err() && split("\"a").is_err());
    }

    #[test]
    fn what_is_quoted_is_split_into_the_same() {
        let words = ["a", "b c", "d'e", "", "http://h/?x&y", "$z", "\\"];
        assert_eq!(split(&quoted(&words)).expect("closed"), words);
        assert_eq!(quoted(&["-c", "1"]), "-c 1");
    }
}
