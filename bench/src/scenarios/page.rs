//! The whole page: head, sections, how to repeat it, what the figures mean.

use super::published::BY_SERVER;
use super::saved::{About, Saved};
use super::{by_server, distance, flood};
use crate::crosscheck::{self, Checked};

const REPEAT: &str = "    cargo run --release -p hayami-bench -- --group scenarios --crosscheck --write\n";

/// The page. `checked` is the cross-check and how it was run.
pub(super) fn page(saved: &Saved, checked: Option<&(Saved, Checked)>) -> String {
    let [s0, s2a, s3, s4] = BY_SERVER;
    let section = |scenario| by_server::section(scenario, saved.table(scenario.workload));
    [
        START.to_owned(),
        repeat(),
        format!("## How it was measured\n\n{}\n", how(&saved.about)),
        MEANING.to_owned(),
        section(&s0),
        distance::section(saved),
        section(&s2a),
        flood::section(saved),
        section(&s3),
        section(&s4),
        crosscheck_section(checked),
    ]
    .concat()
}

const START: &str = "\
# Benchmarks

Five published measurements, S0 to S4, are what hayami exists for. Here each stands beside what one machine gives
today: all rows that can be had, won or lost. This page is written by the [races](../bench/README.md), which have more
workloads, and is not edited by hand.

[How to repeat it](#how-to-repeat-it) ·
[How it was measured](#how-it-was-measured) ·
[What the figures mean](#what-the-figures-mean) ·
[S0](#s0-a-small-file-keep-alive) ·
[S1](#s1-a-rest-front-end-connections-from-100-ms-away) ·
[S2 A](#s2-a-http2-over-tls-50-connections-of-50-streams) ·
[S2 B](#s2-b-a-flood-of-http2-streams) ·
[S3](#s3-a-small-computer-hello-world) ·
[S4](#s4-an-in-memory-server-with-native-handlers) ·
[hayami bench beside wrk, h2load and ab](#hayami-bench-beside-wrk-h2load-and-ab)

";

const MEANING: &str = "\
## What the figures mean

1. Published figures are from other machines and other years. Only ratios of rows of one table can be compared.
2. **cost µs/response** is CPU time, user and system, of all the server's processes, divided by right responses.
3. **responses per CPU s** is the same turned round: what a core gives when the server has all of it.
4. Measured ratios are of responses per CPU s, published ones of requests a second: more is better in both.
5. **responses/s** is by the clock, and depends on what the load generator and the machine left over.
6. A ratio is the geometric mean over the rounds; the range in parentheses holds the truth with 95 % confidence.
7. A range that holds 1 shows no difference. One round has no range, and says little.
8. Servers took turns in each round, so that what disturbs the machine for a while disturbs all of them.
9. A server has one core, the load another: how a server uses many cores is not measured here, and published ratios have it in them.
10. hayami runs as shipped, no directive but where to listen and what to serve; what the peers are told stands in the \
[README](../bench/README.md#servers).

";

fn repeat() -> String {
    format!(
        "## How to repeat it\n\nThe races take about half an hour, the cross-check five minutes:\n\n{REPEAT}\n\
         `--quick` in place of `--write` tries out whether everything works. The page alone, from the saved results:\n\n    \
         cargo run --release -p hayami-bench -- --page\n\n"
    )
}

fn how(about: &About) -> String {
    let trial = if about.command.contains("--quick") {
        "**A trial run (`--quick`): one round of one second. Its figures mean little.**\n\n"
    } else {
        ""
    };
    let built = if about.command.contains("--no-build") {
        " (hayami was not built for this run: it may be of another commit)"
    } else {
        ""
    };
    let versions: String =
        about.versions.iter().map(|(server, version)| format!("- {server}: {version}\n")).collect();
    format!(
        "{trial}- command: `{}`\n- plan: {}\n- commit: {}{built}\n- date: {}\n- machine: {}, {} cores, Linux {}\n{versions}",
        about.command, about.plan, about.commit, about.date, about.cpu, about.cores, about.kernel
    )
}

fn crosscheck_section(checked: Option<&(Saved, Checked)>) -> String {
    let heading = "## hayami bench beside wrk, h2load and ab\n\n";
    let Some((saved, checked)) = checked else { return format!("{heading}Not run.\n") };
    let tools = checked.agreement.iter().filter_map(|compared| {
        let version = compared.version.as_ref().ok()?;
        Some(format!("- {version}: `{}`, ours: `{}`\n", compared.command, compared.native))
    });
    // Only these servers take part.
    let versions =
        saved.about.versions.iter().filter(|(name, _)| ["hayami", "nginx-tuned"].contains(&name.as_str()));
    let about = About { versions: versions.cloned().collect(), ..saved.about.clone() };
    format!("{heading}{}{}\n{}", how(&about), tools.collect::<String>(), crosscheck::section(checked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::tests::{lane, rows, table};

    fn saved() -> Saved {
        let about = About {
            command: "cargo run -- --group scenarios --quick".to_owned(),
            plan: "1 round".to_owned(),
            commit: "abc".to_owned(),
            date: "today".to_owned(),
            cpu: "a CPU".to_owned(),
            cores: 2,
            kernel: "6.1".to_owned(),
            versions: vec![("hayami".to_owned(), "hayami 1".to_owned())],
        };
        let lanes = vec![lane("hayami", &[5.0]), lane("nghttpd", &[10.0])];
        Saved { about, tables: vec![table("s2a", lanes)] }
    }

    #[test]
    fn the_page_says_how_it_was_measured_and_what_was_not_run() {
        let text = page(&saved(), None);
        let rows = rows(&text);
        for expected in [
            "- command: `cargo run -- --group scenarios --quick`",
            "- machine: a CPU, 2 cores, Linux 6.1",
            "- hayami: hayami 1",
            "| **hayami** | - | - | 2.00 | 5.00 | 200,000 | 100,000 | - |",
            "| nghttpd | 61,841 | 1.00 | 1.00 | 10.00 | 100,000 | 50,000 | 2.00 |",
        ] {
            assert!(rows.iter().any(|row| row == expected), "{expected}\n{text}");
        }
        assert!(text.contains("A trial run"), "a quick run is marked");
        let About { command, .. } = saved().about;
        let about = About { command: format!("{command} --no-build"), ..saved().about };
        assert!(how(&about).contains("- commit: abc (hayami was not built"), "a binary of unknown origin is");
        assert!(text.contains("## hayami bench beside wrk, h2load and ab\n\nNot run."));
    }

    #[test]
    fn every_link_within_the_page_has_its_heading() {
        let text = page(&saved(), None);
        let anchor = |heading: &str| {
            let kept = heading.to_lowercase();
            let kept = kept.chars().filter(|c| c.is_alphanumeric() || *c == ' ' || *c == '-');
            kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>()
        };
        let headings: Vec<String> =
            text.lines().filter_map(|line| line.strip_prefix("## ")).map(anchor).collect();
        let links = text.split("](#").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links {
            assert!(headings.iter().any(|heading| heading == link), "{link}: {headings:?}");
        }
    }
}
