//! `--like 'ab -c 100 -n 1000 http://…'`: translates the command lines of other load generators to arguments
//! of `hayami bench`.
//!
//! A translation yields arguments, so that what is printed for the user is exactly what is run. An option
//! that has no counterpart is an error, one that only changes what the other program prints is left out.

mod hey;
mod shell_split;
mod tool;
mod tools;

pub use shell_split::{quoted, split};

use tool::{Does, Tool};

/// The arguments of `hayami bench` that do what this command line of ab, wrk, h2load, hey or oha does.
///
/// # Errors
/// A line with the unsupported program or option.
pub fn translate(line: &str) -> Result<Vec<String>, String> {
    let words = split(line)?;
    let (program, words) = words.split_first().ok_or("empty command; write --like 'wrk -c 100 http://…'")?;
    let name = program.rsplit('/').next().unwrap_or(program);
    let tool = tools::named(name)
        .ok_or_else(|| format!("`{name}` is not supported; supported: ab, wrk, wrk2, h2load, hey, oha"))?;
    Translation { tool, out: Vec::new(), urls: Vec::new(), given: Vec::new() }.run(words)
}

struct Translation {
    tool: &'static Tool,
    out: Vec<String>,
    urls: Vec<String>,
    /// The options that occurred, by their first names.
    given: Vec<&'static str>,
}

impl Translation {
    fn run(mut self, words: &[String]) -> Result<Vec<String>, String> {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.strip_prefix("--").map(|long| long.split_once('=').unwrap_or((long, ""))) {
                Some(("", _)) => self.urls.extend(words.by_ref().cloned()),
                Some((long, value)) => {
                    let name = format!("--{long}");
                    let value = word.contains('=').then_some(value);
                    self.option(&name, value, &mut words)?;
                }
                None if word.starts_with('-') && word.len() > 1 => self.short(word, &mut words)?,
                None => self.urls.push(word.clone()),
            }
        }
        self.finish()
    }

    /// `-c100`, `-c 100`, and joined letters (`-kq`) for programs that accept them.
    fn short<'a>(
        &mut self,
        word: &'a str,
        words: &mut impl Iterator<Item = &'a String>,
    ) -> Result<(), String> {
        // hey's options are words with one dash: `-disable-keepalive`, `-c=100`.
        let (whole, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        if self.tool.find(whole).is_some() {
            return self.option(whole, value, words);
        }
        if self.tool.long_with_one_dash {
            return Err(self.unknown(whole));
        }
        let mut rest = &word[1..];
        while let Some(letter) = rest.chars().next() {
            let name = format!("-{letter}");
            rest = &rest[letter.len_utf8()..];
            let takes = self.tool.find(&name).is_some_and(|option| option.does.takes_value());
            if takes {
                return self.option(&name, (!rest.is_empty()).then_some(rest), words);
            }
            self.option(&name, None, words)?;
        }
        Ok(())
    }

    fn option<'a>(
        &mut self,
        name: &str,
        value: Option<&'a str>,
        words: &mut impl Iterator<Item = &'a String>,
    ) -> Result<(), String> {
        let tool = self.tool;
        let option = tool.find(name).ok_or_else(|| self.unknown(name))?;
        let value = match (option.does.takes_value(), value) {
            (false, _) => "",
            (true, Some(value)) => value,
            (true, None) => words.next().ok_or_else(|| format!("{name} needs a value"))?,
        };
        self.given.push(option.names[0]);
        let add: Vec<String> = match option.does {
            Does::Ignore | Does::IgnoreValue => Vec::new(),
            Does::Same(option) => vec![option.into(), value.into()],
            Does::Flag(option) => option.iter().map(|&word| word.into()).collect(),
            Does::Through(change) => change(value)?,
        };
        self.out.extend(add);
        Ok(())
    }

    fn unknown(&self, name: &str) -> String {
        format!("option {name} of {} has no counterpart; leave it out", self.tool.name)
    }

    fn finish(mut self) -> Result<Vec<String>, String> {
        self.drop_requests();
        let given = |name: &str| self.given.contains(&name);
        if let Some(default) = self.tool.method
            && default.content.iter().any(|name| given(name))
            && !given(default.named_by)
        {
            self.out.extend(["-X".to_owned(), default.method.to_owned()]);
        }
        for (unless, words) in self.tool.defaults {
            if !unless.iter().any(|name| given(name)) {
                self.out.extend(words.iter().map(|&word| word.to_owned()));
            }
        }
        if self.urls.is_empty() && !self.out.iter().any(|word| word == "--urls") {
            return Err(format!("the command of {} has no URL", self.tool.name));
        }
        // h2load and hey repeat nothing: several URLs of h2load are one list, which corresponds to `--urls`.
        if self.urls.len() > 1 {
            return Err(format!(
                "the command of {} has several URLs; write them to a file, and use --urls FILE",
                self.tool.name
            ));
        }
        self.out.extend(self.urls);
        Ok(self.out)
    }

    /// Drops a number of requests where only the duration counts.
    fn drop_requests(&mut self) {
        let has_duration = self.out.iter().any(|word| word == "-d");
        if !self.tool.duration_wins || !has_duration {
            return;
        }
        while let Some(at) = self.out.iter().position(|word| word == "-n") {
            self.out.drain(at..at + 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(line: &str, option: &str) {
        assert_eq!(translate(line).map(|words| quoted(&words)), Ok(option.to_owned()), "{line}");
    }

    #[test]
    fn ab_opens_a_connection_for_each_request_unless_told_otherwise() {
        becomes(
            "ab -c 100 -n 1000 http://a/",
            "-c 100 -n 1000 --http 1.0 --keepalive off --threads 1 http://a/",
        );
        becomes("ab -kc100 -n 9 -r http://a/", "--keepalive on -c 100 -n 9 --http 1.0 --threads 1 http://a/");
        becomes(
            "ab -t 10 -p f -T text/plain -H 'A: b' http://a/",
            "-d 10 -X POST --body f -T text/plain -H 'A: b' -c 1 --http 1.0 --keepalive off --threads 1 http://a/",
        );
        becomes(
            "ab -i -C a=b -A me:pw http://a/",
            "-X HEAD -H 'Cookie: a=b' -H 'Authorization: Basic bWU6cHc=' -c 1 -n 1 --http 1.0 \
             --keepalive off --threads 1 http://a/",
        );
    }

    #[test]
    fn wrk_and_wrk2_keep_connections_and_speak_http_1_1() {
        becomes(
            "/usr/bin/wrk -c 100 -t4 -d 30s --latency http://a/x",
            "-c 100 -t 4 -d 30s --http 1.1 http://a/x",
        );
        becomes("wrk http://a/", "-c 10 -t 2 -d 10s --http 1.1 http://a/");
        becomes(
            "wrk2 -R 2000 --timeout=5 http://a/",
            "-r 2000 --timeout 5 -c 10 -t 2 -d 10s --http 1.1 http://a/",
        );
        becomes("wrk -R2000 -t2 -c9 -d1 http://a/", "-r 2000 -t 2 -c 9 -d 1 --http 1.1 http://a/");
    }

    #[test]
    fn h2load_speaks_http_2_also_without_tls() {
        becomes("h2load -n 100 -c 5 -m 10 https://a/", "-n 100 -c 5 -m 10 -t 1 --http 2 -k https://a/");
        becomes("h2load --h1 -D 5 -t 2 http://a/", "--http 1.1 -d 5 -t 2 -c 1 -k http://a/");
        becomes(
            "h2load --warm-up-time=1 --duration=3 -i urls -d body http://a/",
            "--warm-up 1 -d 3 --urls urls -X POST --body body -c 1 -t 1 --http 2 -k http://a/",
        );
    }

    #[test]
    fn hey_takes_words_with_one_dash() {
        becomes(
            "hey -n 200 -c 50 -disable-keepalive -m POST -D f http://a/",
            "-n 200 -c 50 --keepalive off -X POST --body f http://a/",
        );
        becomes("hey -z 10s -h2 https://a/", "-d 10s --http 2 -c 50 https://a/");
        becomes("hey http://a/", "-n 200 -c 50 http://a/");
    }

    #[test]
    fn methods_of_requests_with_content_and_durations_are_theirs() {
        becomes("hey -d x http://a/", "--body-text x -X GET -n 200 -c 50 http://a/");
        becomes("hey -m PUT -d x -n 5 -z 1s http://a/", "-X PUT --body-text x -d 1s -c 50 http://a/");
    }

    #[test]
    fn oha_speaks_http_1_1_and_accepts_compression() {
        let gzip = "-H 'Accept-Encoding: gzip, compress, deflate, br'";
        becomes("oha http://a/", &format!("-n 200 -c 50 --http 1.1 {gzip} http://a/"));
        becomes(
            "oha -z 10s -c 100 -q 2000 --latency-correction --disable-keepalive --no-tui http://a/",
            &format!("-d 10s -c 100 -r 2000 --keepalive off -q --http 1.1 {gzip} http://a/"),
        );
        becomes(
            "oha -n 9 -c 2 -p 10 --http2 --insecure --disable-compression -r 0 https://a/",
            "-n 9 -c 2 -m 10 --http 2 -k https://a/",
        );
        becomes(
            "oha -j -m POST -d '{\"a\": 1}' -T application/json -t 5s --disable-compression http://a/",
            "--json - -X POST --body-text '{\"a\": 1}' -T application/json --timeout 5s -n 200 -c 50 --http 1.1 http://a/",
        );
        becomes(
            "oha -D f --connect-to a:443:[::1]:8443 --host b --http-version 2.0 --disable-compression https://a/",
            "--body f --connect-to [::1]:8443 -H 'Host: b' --http 2 -X GET -n 200 -c 50 https://a/",
        );
    }

    #[test]
    fn what_cannot_be_translated_is_named() {
        for (line, words) in [
            ("", "empty"),
            ("siege -c 1 http://a/", "supported: ab, wrk, wrk2, h2load, hey, oha"),
            ("oha --burst-rate 5 http://a/", "--burst-rate"),
            ("oha --http-version 3 http://a/", "1.0, 1.1 or 2"),
            ("oha --connect-to b:80 http://a/", "TARGET"),
            ("wrk -s x.lua http://a/", "-s"),
            ("ab -c", "-c needs a value"),
            ("wrk -c 1", "has no URL"),
            ("wrk -c 1 http://a/ http://b/", "several URLs"),
            ("wrk 'http://a/", "quote"),
            ("ab -X proxy:1 http://a/", "-X"),
            ("hey -foo http://a/", "option -foo of hey"),
            ("hey -cx=1 http://a/", "option -cx of hey"),
            ("ab -kJ http://a/", "option -J of ab"),
        ] {
            let error = translate(line).expect_err(line);
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}
