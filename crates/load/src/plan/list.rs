//! The file of `--urls`: requests and their weights.
//!
//! ```text
//! # weight, method and URL; only the URL is needed
//! 10 /index.html
//! 1  POST /login
//! http://127.0.0.1:8080/style.css
//! ```

use super::Url;

/// A line of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The share, 1 if none is written.
    pub weight: f64,
    /// The method, if one is written.
    pub method: Option<String>,
    /// The request target.
    pub what: What,
}

/// The target of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A path with its query, on every server.
    Path(String),
    /// A whole URL.
    Url(Url),
}

/// Reads the file's text.
///
/// # Errors
/// The first wrong line with its number, or an error for an empty file.
pub fn read(text: &str) -> Result<Vec<Line>, String> {
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let lines = numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let read: Vec<_> = lines
        .map(|(number, text)| line(text).map_err(|error| format!("line {number}: {error}")))
        .collect::<Result<_, _>>()?;
    if read.is_empty() {
        return Err("no URL found; write one per line".into());
    }
    Ok(read)
}

fn line(text: &str) -> Result<Line, String> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let url = words.pop().ok_or("an empty line")?;
    let weight = match words.first().and_then(|word| word.parse::<f64>().ok()) {
        Some(weight) if weight > 0.0 && weight.is_finite() => {
            words.remove(0);
            weight
        }
        Some(weight) => return Err(format!("invalid weight {weight}; write a positive number")),
        None => 1.0,
    };
    let method = match words.as_slice() {
        [] => None,
        [method] => Some(super::method(method)?),
        _ => return Err(format!("`{text}` is not [WEIGHT] [METHOD] URL")),
    };
    let what = match url.starts_with('/') {
        true => What::Path(super::url::origin_form(url)),
        false => What::Url(Url::parse(url)?),
    };
    Ok(Line { weight, method, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weight_and_method_may_be_left_out() {
        let lines = read("# all\n\n10 /a\n0.5 POST /b?c\r\nPUT /d\n http://h/e \n").expect("lines");
        let read: Vec<_> = lines.iter().map(|line| (line.weight, line.method.as_deref())).collect();
        assert_eq!(read, [(10.0, None), (0.5, Some("POST")), (1.0, Some("PUT")), (1.0, None)]);
        assert_eq!(lines[1].what, What::Path("/b?c".into()));
        assert!(matches!(&lines[3].what, What::Url(url) if url.host == "h"));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, words) in [
            ("", "no URL"),
            ("# nothing\n", "no URL"),
            ("/a\n0 /b", "line 2: invalid weight 0"),
            ("-1 /b", "positive number"),
            ("1 2 3 /b", "[WEIGHT] [METHOD] URL"),
            ("G@T /b", "method"),
            ("ftp://x/", "line 1: ftp://x/"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
