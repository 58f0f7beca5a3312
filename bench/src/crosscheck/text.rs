//! The section of docs/benchmarks.md on the cross-check.

use hayami_load::compare::Ratio;

use super::{Checked, Compared, Quantity, Round, wanted};
use crate::report::grid;
use crate::statistics::spread;

/// Both tables with an explanation of their figures.
pub(crate) fn section(checked: &Checked) -> String {
    let counted: String = checked.agreement.iter().map(counts).collect();
    format!(
        "### Do they agree?\n\n\
         The tool and `hayami bench --like 'the same command'` took turns against one nginx, both on the same core. \
         nginx counted requests itself (`stub_status`), so it is known who counts right. A ratio is ours to the \
         tool's, the geometric mean over the rounds with its 95 % confidence interval.\n\n{}\n\
         **Requests counted.** When time is over, requests are under way that the server has counted and no client \
         has: as many as connections times streams at most.\n\n{counted}\n\
         ### Requests for each second of the client's CPU time\n\n\
         Against hayami, which leaves the client the slower side; CPU time by `getrusage`, start and end of the \
         program included.\n\n{}",
        grid(&agreement(checked)),
        grid(&per_core(checked)),
    )
}

const AGREED: [Quantity; 5] =
    [Quantity::Rate, Quantity::Mean, Quantity::P50, Quantity::P99, Quantity::ServerCost];

fn agreement(checked: &Checked) -> Vec<Vec<String>> {
    let mut lines = vec![words(&["", "figure", "the tool", "hayami bench", "ratio (95 %)", ""])];
    for compared in &checked.agreement {
        let name = format!("`{}`", compared.command);
        lines.extend(compared.fault.iter().map(|fault| words(&[&name, fault, "-", "-", "-", ""])));
        let known = AGREED.iter().filter(|quantity| compared.pairs(**quantity).next().is_some());
        for (index, quantity) in known.enumerate() {
            let name = if index == 0 { name.as_str() } else { "" };
            let ratio = Ratio::of_pairs(compared.pairs(*quantity));
            lines.push(words(&[
                name,
                quantity.heading(),
                &middle(compared, |round| &round.theirs, *quantity),
                &middle(compared, |round| &round.ours, *quantity),
                &ratio.map_or("-".to_owned(), with_interval),
                &ratio.map_or(String::new(), |ratio| ratio.verdict().to_string()),
            ]));
        }
    }
    lines
}

/// The deviation of each client's count from the server's.
fn counts(compared: &Compared) -> String {
    let missed = |of: fn(&Round) -> &super::Turn| {
        let gaps = compared.rounds.iter().filter_map(|round| {
            let turn = of(round);
            Some(turn.get(&Quantity::Served)? - turn.get(&Quantity::Counted)?)
        });
        spread(gaps).map_or("no round".to_owned(), |gap| range(gap.min, gap.max))
    };
    let served: f64 = compared
        .rounds
        .iter()
        .flat_map(|round| [&round.theirs, &round.ours])
        .filter_map(|turn| turn.get(&Quantity::Served))
        .sum();
    let errors = |of: fn(&Round) -> &super::Turn| -> f64 {
        compared.rounds.iter().filter_map(|round| of(round).get(&Quantity::Errors)).sum()
    };
    format!(
        "- `{}`: of {} requests that the server took in all rounds, {} counted {} fewer a round, `hayami bench` {}; up to {} \
         may be under way. Errors: {} and {}.\n",
        compared.command,
        whole(served),
        compared.tool.name(),
        missed(|round| &round.theirs),
        missed(|round| &round.ours),
        whole(compared.under_way as f64),
        errors(|round| &round.theirs),
        errors(|round| &round.ours),
    )
}

fn per_core(checked: &Checked) -> Vec<Vec<String>> {
    let mut lines = vec![words(&["", "the tool", "hayami bench", "ratio (95 %)", "wanted", ""])];
    for compared in &checked.per_core {
        let (quantity, wanted) = (Quantity::PerClientCpu, wanted(compared.tool));
        let ratio = Ratio::of_pairs(compared.pairs(quantity));
        let outcome = match (ratio, &compared.fault) {
            (Some(ratio), _) if ratio.value >= wanted => "reached",
            (Some(_), _) => "NOT reached",
            (None, Some(fault)) => fault,
            (None, None) => "not measured",
        };
        lines.push(words(&[
            &format!("`{}`", compared.command),
            &middle(compared, |round| &round.theirs, quantity),
            &middle(compared, |round| &round.ours, quantity),
            &ratio.map_or("-".to_owned(), with_interval),
            &format!("≥ {wanted:.2}"),
            outcome,
        ]));
    }
    lines
}

fn words(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

/// The median over the rounds.
fn middle(compared: &Compared, of: fn(&Round) -> &super::Turn, quantity: Quantity) -> String {
    let values = compared.rounds.iter().filter_map(|round| of(round).get(&quantity).copied());
    match spread(values) {
        Some(spread) if quantity == Quantity::ServerCost => format!("{:.2}", spread.median),
        Some(spread) => whole(spread.median),
        None => "-".to_owned(),
    }
}

/// A ratio with its interval, if there were enough rounds for one.
pub(crate) fn with_interval(ratio: Ratio) -> String {
    match ratio.interval {
        Some((low, high)) => format!("{:.2} ({low:.2}–{high:.2})", ratio.value),
        None => format!("{:.2}", ratio.value),
    }
}

fn range(least: f64, most: f64) -> String {
    if least == most { whole(least) } else { format!("{} to {}", whole(least), whole(most)) }
}

/// An integer with thousands separators.
pub(crate) fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if value <= -0.5 { format!("−{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crosscheck::{Tool, Turn};

    fn compared(tool: Tool, theirs: &[f64], ours: &[f64]) -> Compared {
        let turn = |rate: f64| {
            Turn::from([
                (Quantity::Counted, rate * 2.0),
                (Quantity::Served, rate * 2.0 + 40.0),
                (Quantity::Errors, 0.0),
                (Quantity::Rate, rate),
                (Quantity::PerClientCpu, rate * 3.0),
            ])
        };
        let rounds =
            theirs.iter().zip(ours).map(|(theirs, ours)| Round { theirs: turn(*theirs), ours: turn(*ours) });
        Compared {
            tool,
            version: Ok("1".to_owned()),
            command: format!("{} -c1", tool.name()),
            native: "hayami bench -c 1".to_owned(),
            rounds: rounds.collect(),
            under_way: 100,
            fault: None,
        }
    }

    #[test]
    fn the_section_says_who_counted_what_and_whether_they_agree() {
        let checked = Checked {
            agreement: vec![compared(Tool::Wrk, &[1000.0, 1000.0], &[1000.0, 1000.0])],
            per_core: vec![
                compared(Tool::Wrk, &[1000.0, 1000.0], &[1100.0, 1100.0]),
                compared(Tool::Ab, &[1000.0], &[2500.0]),
            ],
        };
        let text = section(&checked);
        let rows: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for expected in [
            "| `wrk -c1` | responses/s | 1,000 | 1,000 | 1.00 (1.00–1.00) | no difference shown |",
            "- `wrk -c1`: of 8,160 requests that the server took in all rounds, wrk counted 40 fewer a round, `hayami bench` 40; up to 100 may be under way. Errors: 0 and 0.",
            "| `wrk -c1` | 3,000 | 3,300 | 1.10 (1.10–1.10) | ≥ 1.20 | NOT reached |",
            "| `ab -c1` | 3,000 | 7,500 | 2.50 | ≥ 2.00 | reached |",
        ] {
            assert!(rows.iter().any(|row| row == expected), "{expected}\n{rows:#?}");
        }
    }

    #[test]
    fn a_tool_that_is_missing_is_named_with_the_reason() {
        let missing = Compared {
            version: Err("wrk: not there".to_owned()),
            fault: Some("wrk: not there".to_owned()),
            ..compared(Tool::Wrk, &[], &[])
        };
        let checked = Checked { agreement: vec![missing.clone()], per_core: vec![missing] };
        assert_eq!(section(&checked).matches("wrk: not there").count(), 2);
    }

    #[test]
    fn thousands_are_apart_and_signs_stay() {
        for (value, expected) in
            [(0.0, "0"), (999.4, "999"), (1000.0, "1,000"), (1_234_567.0, "1,234,567"), (-1500.0, "−1,500")]
        {
            assert_eq!(whole(value), expected);
        }
    }
}
