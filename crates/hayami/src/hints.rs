//! Suggestions for arguments that are not directories.

use crate::exit::Failure;
use hayami_server::config::nearest::nearest;
use std::io::ErrorKind;
use std::path::Path;

/// Why `dir` cannot be served, with the command that was probably meant.
pub(crate) fn check_directory(dir: &Path) -> Result<(), Failure> {
    let shown = dir.display();
    match std::fs::metadata(dir) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(Failure::NoInput(of_file(dir))),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Failure::NoInput(match meant(dir) {
            Some(advice) => format!("there is no directory `{shown}`; {advice}"),
            None => format!("there is no directory `{shown}`; `hayami DIR` serves an existing directory"),
        })),
        Err(error) => Err(Failure::NoInput(format!(
            "cannot serve `{shown}`: {error}; `hayami DIR` serves a directory that this user can enter"
        ))),
    }
}

fn of_file(file: &Path) -> String {
    let shown = file.display();
    let is_conf = file.extension().is_some_and(|end| ["conf", "yaml", "yml"].iter().any(|own| end == *own));
    match is_conf {
        true => format!("`{shown}` is a file; to use it as the configuration: `hayami -c {shown}`"),
        false => format!("`{shown}` is a file; `hayami DIR` serves the directory that contains it"),
    }
}

/// The suggested command for an argument that is not a directory.
fn meant(dir: &Path) -> Option<String> {
    let word = dir.to_str()?;
    if let Some(listen) = address(word) {
        return Some(format!("to serve this directory at that address: `hayami -l {listen}`"));
    }
    command(word).map(str::to_owned).or_else(|| near_command(word))
}

/// The command for a verb.
fn command(word: &str) -> Option<&'static str> {
    Some(match word {
        "start" | "run" | "serve" | "server" | "up" => {
            "`hayami DIR` serves a directory, `hayami -c FILE` runs a configuration"
        }
        "stop" | "quit" | "shutdown" => "to stop a server, send it SIGTERM: `kill PID`",
        "reload" | "restart" => "to have a running server read its configuration again: `hayami reload`",
        "test" | "check" | "validate" => "to check a configuration: `hayami -t -c FILE`",
        "load" | "benchmark" => "to generate load: `hayami bench URL`",
        _ => return None,
    })
}

fn near_command(word: &str) -> Option<String> {
    nearest(word, ["bench", "reload"]).map(|meant| format!("did you mean `hayami {meant}`?"))
}

/// Why the argument `unknown` is wrong, if its meaning can be guessed.
pub(crate) fn unknown_argument(unknown: &str, words: &[&str]) -> Option<String> {
    let at = words.iter().position(|word| !unknown.is_empty() && word.starts_with(unknown))?;
    let value = match words[at][unknown.len()..].trim_start_matches('=') {
        "" => words.get(at + 1).copied().unwrap_or_default(),
        value => value,
    };
    let meant = match unknown {
        "-p" | "--port" | "-b" | "--bind" => {
            let listen = address(value).unwrap_or("PORT");
            format!("to listen on another address: `hayami -l {listen}`")
        }
        "-s" => command(value)?.to_owned(),
        word if word.starts_with('-') => return None,
        _ => match near_command(words[0]) {
            Some(meant) => return Some(format!("unexpected argument `{unknown}`; {meant}")),
            None => "hayami serves one directory".to_owned(),
        },
    };
    Some(format!("unexpected argument `{unknown}`; {meant}"))
}

/// `8080`, `:8080`, `localhost:8080` or `[::1]:8080` as `-l` takes it.
fn address(word: &str) -> Option<&str> {
    let (host, port) = word.rsplit_once(':').unwrap_or(("", word));
    let is_host = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte));
    let fits = is_host && port.parse::<u16>().is_ok();
    fits.then_some(if host.is_empty() { port } else { word })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_directory_say_what_was_meant() {
        let cases = [
            ("8080", "`hayami -l 8080`"),
            (":8080", "`hayami -l 8080`"),
            ("0.0.0.0:80", "`hayami -l 0.0.0.0:80`"),
            ("localhost:80", "`hayami -l localhost:80`"),
            ("[::1]:80", "`hayami -l [::1]:80`"),
            ("serve", "`hayami DIR`"),
            ("stop", "SIGTERM"),
            ("restart", "`hayami reload`"),
            ("check", "`hayami -t -c FILE`"),
            ("benchmark", "`hayami bench URL`"),
            ("bnech", "did you mean `hayami bench`?"),
            ("relaod", "did you mean `hayami reload`?"),
            ("99999", "serves an existing directory"),
            ("a b:80", "serves an existing directory"),
            ("public", "serves an existing directory"),
        ];
        for (word, want) in cases {
            let failure = check_directory(Path::new(word)).expect_err(word);
            let text = failure.to_string();
            assert_eq!(failure.code(), 66);
            assert!(text.starts_with(&format!("hayami: there is no directory `{word}`; ")), "{text}");
            assert!(text.contains(want), "{text}");
        }
    }

    #[test]
    fn arguments_of_other_programs_say_what_was_meant() {
        let cases: [(&str, &[&str], Option<&str>); 9] = [
            ("-p", &["-p", "8080"], Some("`hayami -l 8080`")),
            ("-p", &["site", "-p8080"], Some("`hayami -l 8080`")),
            ("--port", &["--port=8080"], Some("`hayami -l 8080`")),
            ("--port", &["--port"], Some("`hayami -l PORT`")),
            ("-s", &["-s", "reload"], Some("`hayami reload`")),
            ("-s", &["-s", "x"], None),
            ("http://x/", &["bnech", "http://x/"], Some("did you mean `hayami bench`?")),
            ("b", &["a", "b"], Some("hayami serves one directory")),
            ("--nothing", &["--nothing"], None),
        ];
        for (unknown, words, want) in cases {
            let said = unknown_argument(unknown, words);
            assert_eq!(said.is_some(), want.is_some(), "{words:?}: {said:?}");
            assert!(said.unwrap_or_default().contains(want.unwrap_or_default()), "{words:?}");
        }
    }

    #[test]
    fn a_file_is_served_by_or_beside() {
        let dir = std::env::temp_dir().join(format!("hayami-hints-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("made");
        for (name, want) in [("site.conf", "`hayami -c "), ("a.html", "the directory that contains it")] {
            std::fs::write(dir.join(name), "").expect("written");
            let text = check_directory(&dir.join(name)).expect_err(name).to_string();
            assert!(text.contains(want), "{text}");
        }
        assert!(check_directory(&dir).is_ok());
        std::fs::remove_dir_all(&dir).expect("removed");
    }
}
