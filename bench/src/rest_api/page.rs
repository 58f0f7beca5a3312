//! The measured part of docs/rest-api.md, and its plots.

use super::Measured;
use super::stack::Pooling;
use super::step::{STEPS, Sample, Step};
use crate::crosscheck::whole;
use crate::report::grid;
use crate::scenarios::svg::{self, Line, Stack as Bar};
use crate::statistics::{Spread, spread};

/// The text between these is replaced.
const MARKS: [&str; 2] =
    ["<!-- measured: written by run measure --write -->\n", "<!-- end of what is measured -->\n"];
/// The step that shows the costs and savings of pooling: keep-alive, so that the clients' connections do not hide them.
const POOLING: &str = "near-kept-100";
const LINES: [(Pooling, &str); 4] =
    [(Pooling::Both, "c0"), (Pooling::Api, "c2"), (Pooling::Database, "c3"), (Pooling::Neither, "c1")];

/// The page with its section replaced; `None` if the marks are missing.
pub(super) fn renewed(page: &str, section: &str) -> Option<String> {
    let (before, rest) = page.split_once(MARKS[0])?;
    let (_, after) = rest.split_once(MARKS[1])?;
    Some(format!("{before}{}\n{section}\n{}{after}", MARKS[0], MARKS[1]))
}

/// All results as Markdown.
pub(super) fn section(measured: &Measured) -> String {
    let machine = &measured.machine;
    let mut text = format!(
        "- command: `{}`\n- plan: {}\n- commit: {}\n- date: {}\n- machine: {}, {} cores, Linux {}\n- with: {}\n\n\
         Figures are medians of the rounds; in parentheses the least and the most. Every sample: `bench/samples/rest-api.json`.\n\n",
        measured.command,
        measured.plan,
        machine.commit,
        machine.date,
        machine.cpu,
        machine.cores,
        machine.kernel,
        measured.versions
    );
    text += &format!(
        "### What pooling saves\n\n100 clients on this machine, with keep-alive. CPU time for each answer, in µs.\n\n\
         ![CPU time for each answer](rest-api/pooling.svg)\n\n{}\n",
        grid(&pooling_table(measured))
    );
    text += &format!(
        "### The four steps: clients 100 ms away, a connection for each request\n\n\
         `hayami bench --rtt 100ms --keepalive off`. So many clients that are *T* away can have at most c / 2*T* answers a \
         second. hayami takes half as many clients as files may be open, since each may need a connection to an upstream; \
         the others wait in the kernel's queue, and what does not fit there the kernel resets.\n\n![answers a second over connections](rest-api/distance.svg)\n\n{}\n",
        grid(&distance_table(measured))
    );
    text += &format!(
        "### The whole published series, as shipped\n\nPublished for a file of 612 bytes, without an API or a database \
         ([S1](benchmarks.md#s1-a-rest-front-end-connections-from-100-ms-away)).\n\n{}",
        grid(&series_table(measured))
    );
    for fault in &measured.faults {
        text += &format!("\n- {fault}");
    }
    text.trim_end().to_owned()
}

impl Measured {
    /// A figure over the rounds.
    fn spread(&self, pooling: Pooling, step: &str, figure: impl Fn(&Sample) -> f64) -> Option<Spread> {
        spread(self.samples.get(&(pooling, step))?.iter().map(figure))
    }

    /// The median of a figure over the rounds.
    fn middle(&self, pooling: Pooling, step: &str, figure: impl Fn(&Sample) -> f64) -> Option<f64> {
        Some(self.spread(pooling, step, figure)?.median)
    }

    fn shown(&self, pooling: Pooling, step: &str, figure: impl Fn(&Sample) -> f64) -> String {
        self.middle(pooling, step, figure).map_or("-".to_owned(), whole)
    }

    /// The median, minimum and maximum of a figure.
    fn ranged(&self, pooling: Pooling, step: &str, figure: impl Fn(&Sample) -> f64) -> String {
        let ranged =
            |Spread { median, min, max }| format!("{} ({}-{})", whole(median), whole(min), whole(max));
        self.spread(pooling, step, figure).map_or("-".to_owned(), ranged)
    }

    fn errors(&self, pooling: Pooling, step: &str) -> String {
        let samples = self.samples.get(&(pooling, step));
        samples.map_or("-".to_owned(), |samples| {
            samples.iter().map(|sample| sample.errors).sum::<u64>().to_string()
        })
    }
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).into()
}

fn pooling_table(measured: &Measured) -> Vec<Vec<String>> {
    let mut rows = vec![row([
        "connections",
        "hayami",
        "API",
        "database",
        "all",
        "answers/s",
        "p50 ms",
        "p99 ms",
        "errors",
        "opened to the API for 1,000",
        "to the database",
    ])];
    for pooling in Pooling::ALL {
        let shown = |figure: fn(&Sample) -> f64| measured.shown(pooling, POOLING, figure);
        let ranged = |figure: fn(&Sample) -> f64| measured.ranged(pooling, POOLING, figure);
        let milliseconds = |figure: fn(&Sample) -> f64| {
            measured.middle(pooling, POOLING, figure).map_or("-".to_owned(), |us| format!("{:.1}", us / 1e3))
        };
        let per_thousand = |figure: fn(&Sample) -> f64| {
            measured.middle(pooling, POOLING, figure).map_or("-".to_owned(), |opened| format!("{opened:.1}"))
        };
        rows.push(vec![
            pooling.name().to_owned(),
            shown(|sample| sample.cost_us[0]),
            shown(|sample| sample.cost_us[1]),
            shown(|sample| sample.cost_us[2]),
            ranged(|sample| sample.cost_us.iter().sum()),
            ranged(|sample| sample.rate),
            milliseconds(|sample| sample.p50_us),
            milliseconds(|sample| sample.p99_us),
            measured.errors(pooling, POOLING),
            per_thousand(|sample| sample.opened[0]),
            per_thousand(|sample| sample.opened[1]),
        ]);
    }
    rows
}

fn far() -> impl Iterator<Item = &'static Step> {
    STEPS.iter().filter(|step| step.rtt_ms > 0)
}

fn distance_table(measured: &Measured) -> Vec<Vec<String>> {
    let mut rows = vec![row([
        "connections",
        "c",
        "limit",
        "answers/s",
        "p50 ms",
        "p99 ms",
        "errors",
        "CPU µs/answer, all three",
    ])];
    for (pooling, step) in Pooling::ALL.into_iter().flat_map(|pooling| far().map(move |step| (pooling, step)))
    {
        let shown = |figure: fn(&Sample) -> f64| measured.shown(pooling, step.name, figure);
        let ranged = |figure: fn(&Sample) -> f64| measured.ranged(pooling, step.name, figure);
        rows.push(vec![
            pooling.name().to_owned(),
            shown(|sample| sample.connections as f64),
            step.limit().map_or("-".to_owned(), whole),
            ranged(|sample| sample.rate),
            shown(|sample| sample.p50_us / 1e3),
            shown(|sample| sample.p99_us / 1e3),
            measured.errors(pooling, step.name),
            ranged(|sample| sample.cost_us.iter().sum()),
        ]);
    }
    rows
}

fn series_table(measured: &Measured) -> Vec<Vec<String>> {
    let mut rows =
        vec![row(["keep-alive", "delay", "c", "published req/s", "answers/s", "p50 ms", "p99 ms", "errors"])];
    for step in &STEPS {
        let shown = |figure: fn(&Sample) -> f64| measured.shown(Pooling::Both, step.name, figure);
        let rate = measured.ranged(Pooling::Both, step.name, |sample| sample.rate);
        rows.push(vec![
            if step.keep_alive { "yes" } else { "no" }.to_owned(),
            if step.rtt_ms > 0 { format!("{} ms", step.rtt_ms) } else { "-".to_owned() },
            whole(step.connections as f64),
            whole(f64::from(step.published)),
            rate,
            shown(|sample| sample.p50_us / 1e3),
            shown(|sample| sample.p99_us / 1e3),
            measured.errors(Pooling::Both, step.name),
        ]);
    }
    rows
}

/// CPU time per response, by process.
pub(super) fn pooling_plot(measured: &Measured) -> String {
    let bar = |pooling: Pooling| Bar {
        label: pooling.name().to_owned(),
        parts: [0, 1, 2].map(|process| {
            measured.middle(pooling, POOLING, |sample| sample.cost_us[process]).unwrap_or(0.0)
        }),
    };
    svg::stacks(
        "What pooled connections save",
        "CPU µs for each answer: 100 clients, keep-alive; less is better",
        [("hayami", "c0"), ("API", "c2"), ("database", "c1")],
        &Pooling::ALL.map(bar),
    )
}

/// Responses per second over the connections of the four steps.
pub(super) fn distance_plot(measured: &Measured) -> String {
    let line = |label: &str, colour, dashed, y: &dyn Fn(&Step) -> Option<f64>| Line {
        label: label.to_owned(),
        points: far()
            .filter_map(|step| Some((step.connections as f64, y(step).filter(|y| *y > 0.0)?)))
            .collect(),
        colour,
        dashed,
    };
    let mut lines: Vec<Line> = LINES
        .iter()
        .map(|&(pooling, colour)| {
            line(pooling.name(), colour, false, &|step| {
                measured.middle(pooling, step.name, |sample| sample.rate)
            })
        })
        .collect();
    lines.push(line("limit: c / 2T", "cs", true, &Step::limit));
    lines.push(line("published, a file", "co", false, &|step| Some(f64::from(step.published))));
    svg::lines(
        "A REST API and its database, clients 100 ms away",
        "connections",
        "answers a second, 100 ms there and back, a connection for each request",
        &lines,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::rest_api::Samples;
    use crate::scenarios::svg::well_formed;

    fn measured() -> Measured {
        let mut samples = Samples::new();
        for (number, pooling) in Pooling::ALL.into_iter().enumerate() {
            for step in STEPS.iter().filter(|step| step.is_of(pooling)) {
                let sample = |round: f64| Sample {
                    connections: step.connections,
                    rate: (number + 1) as f64 * 100.0 * round,
                    p50_us: 1000.0,
                    p99_us: 2000.0,
                    errors: 1,
                    cost_us: [10.0, 20.0, 30.0],
                    opened: [1.0, 0.5],
                };
                samples.insert((pooling, step.name), vec![sample(1.0), sample(3.0)]);
            }
        }
        Measured {
            command: "cargo run".to_owned(),
            plan: "2 rounds".to_owned(),
            machine: Machine {
                commit: "abc".to_owned(),
                date: "today".to_owned(),
                cpu: "a CPU".to_owned(),
                cores: 2,
                kernel: "6.1".to_owned(),
            },
            versions: "go".to_owned(),
            samples,
            faults: vec!["neither is pooled, far-100: nothing".to_owned()],
        }
    }

    #[test]
    fn the_section_has_the_middle_of_the_rounds_and_the_errors_of_all() {
        let text = section(&measured());
        for wanted in ["commit: abc", "### The four steps", "neither is pooled, far-100: nothing"] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        let shipped = text.lines().find(|line| line.starts_with("| both pooled, as shipped")).unwrap();
        let cells: Vec<_> = shipped.split('|').map(str::trim).collect();
        assert_eq!(cells[2..10], ["10", "20", "30", "60 (60-60)", "800 (400-1,200)", "1.0", "2.0", "2"]);
    }

    #[test]
    fn plots_are_well_formed_and_have_every_setting() {
        for plot in [pooling_plot(&measured()), distance_plot(&measured())] {
            assert!(well_formed(&plot).is_ok(), "{:?}", well_formed(&plot));
            assert!(Pooling::ALL.iter().all(|pooling| plot.contains(pooling.name())));
        }
    }

    #[test]
    fn only_what_stands_between_the_marks_is_replaced() {
        let page = format!("before\n{}old\n{}after\n", MARKS[0], MARKS[1]);
        let new = renewed(&page, "new").unwrap();
        assert_eq!(new, format!("before\n{}\nnew\n{}after\n", MARKS[0], MARKS[1]));
        assert_eq!(renewed(&new, "new"), Some(new.clone()));
        assert_eq!(renewed("nothing", "new"), None);
    }
}
