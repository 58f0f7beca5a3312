//! Lines broken at words, for terminals.

/// The text with every line wider than `columns` broken between words. Continuation lines are indented like
/// the line, and a little more. A word wider than a line is broken at the end of the line.
#[must_use]
pub fn wrap(text: &str, columns: usize) -> String {
    let columns = columns.max(1);
    text.split_inclusive('\n').map(|line| wrap_line(line, columns)).collect()
}

fn wrap_line(line: &str, columns: usize) -> String {
    let indent = line.chars().take_while(|letter| *letter == ' ').count() + 2;
    let indent = " ".repeat(if indent * 2 > columns { 0 } else { indent });
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    let mut room = columns;
    while rest.trim_end_matches('\n').chars().count() > room {
        let (part, next) = break_at(rest, room);
        out.push_str(part.trim_end());
        out.push('\n');
        out.push_str(&indent);
        rest = next;
        room = columns - indent.len();
    }
    out + rest
}

/// The part that fits into this many columns, and the rest for the next line.
fn break_at(line: &str, columns: usize) -> (&str, &str) {
    let end = line.char_indices().nth(columns).map_or(line.len(), |(index, _)| index);
    // A word may end with the line.
    let to =
        if line[end..].starts_with(' ') { end } else { line[..end].rfind(' ').map_or(0, |space| space + 1) };
    match line[..to].trim().is_empty() {
        true => line.split_at(end.max(1)),
        false => (&line[..to], line[to..].trim_start_matches(' ')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_words_and_indented() {
        for (text, columns, want) in [
            ("short\n", 10, "short\n"),
            ("a line of words\n", 9, "a line of\n  words\n"),
            ("a line of words", 8, "a line\n  of\n  words"),
            ("  Warning: it is so\nnext\n", 14, "  Warning: it\n    is so\nnext\n"),
            ("averylongword\n", 5, "avery\n  lon\n  gwo\n  rd\n"),
            ("exactly ten\n", 11, "exactly ten\n"),
            ("≤≤≤≤ ≤≤≤≤\n", 6, "≤≤≤≤\n  ≤≤≤≤\n"),
            ("     x y z\n", 6, "     x\ny z\n"),
        ] {
            assert_eq!(wrap(text, columns), want, "{columns}");
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_no_letter_is_lost() {
        let text =
            "Warning: http://127.0.0.1:8080/a/rather/long/path: 25 of 100,025 requests failed (0.02 %)\n";
        for columns in 1..100 {
            let wrapped = wrap(text, columns);
            assert!(wrapped.lines().all(|line| line.chars().count() <= columns), "{columns}: {wrapped}");
            let letters =
                |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
            assert_eq!(letters(&wrapped), letters(text), "{columns}");
        }
    }
}
