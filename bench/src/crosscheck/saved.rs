//! The results of the cross-check as JSON, written and read back, so that the page can be generated from them.

use serde_json::{Map, Value, json};

use super::{Checked, Compared, Quantity, Round, Tool, Turn};

/// The results as JSON; the caller adds command and machine.
pub(crate) fn save(checked: &Checked) -> Value {
    let all = |compared: &[Compared]| compared.iter().map(save_compared).collect::<Vec<_>>();
    json!({ "agreement": all(&checked.agreement), "per_core": all(&checked.per_core) })
}

fn save_compared(compared: &Compared) -> Value {
    let rounds = compared
        .rounds
        .iter()
        .map(|round| json!({ "theirs": save_turn(&round.theirs), "ours": save_turn(&round.ours) }));
    json!({
        "tool": compared.tool.name(),
        "version": compared.version.as_ref().ok(),
        "missing": compared.version.as_ref().err(),
        "command": compared.command,
        "native": compared.native,
        "rounds": rounds.collect::<Vec<_>>(),
        "under_way": compared.under_way,
        "fault": compared.fault,
    })
}

fn save_turn(turn: &Turn) -> Value {
    let figures = turn.iter().map(|(quantity, value)| (quantity.heading().to_owned(), json!(value)));
    Value::Object(figures.collect::<Map<_, _>>())
}

/// Reads what [`save`] wrote; `None` if the format is unexpected.
pub(crate) fn load(value: &Value) -> Option<Checked> {
    let all =
        |name: &str| -> Option<Vec<_>> { value.get(name)?.as_array()?.iter().map(load_compared).collect() };
    Some(Checked { agreement: all("agreement")?, per_core: all("per_core")? })
}

fn load_compared(value: &Value) -> Option<Compared> {
    let text = |name: &str| Some(value.get(name)?.as_str()?.to_owned());
    let round = |round: &Value| {
        Some(Round { theirs: load_turn(round.get("theirs")?)?, ours: load_turn(round.get("ours")?)? })
    };
    Some(Compared {
        tool: Tool::named(&text("tool")?)?,
        version: match text("version") {
            Some(version) => Ok(version),
            None => Err(text("missing")?),
        },
        command: text("command")?,
        native: text("native")?,
        rounds: value.get("rounds")?.as_array()?.iter().map(round).collect::<Option<_>>()?,
        under_way: value.get("under_way")?.as_u64()?,
        fault: text("fault"),
    })
}

fn load_turn(value: &Value) -> Option<Turn> {
    let figures = value.as_object()?;
    let known = Quantity::ALL.into_iter();
    Some(known.filter_map(|quantity| Some((quantity, figures.get(quantity.heading())?.as_f64()?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_is_read_again() {
        let turn = |rate| Turn::from([(Quantity::Rate, rate), (Quantity::Served, 7.0)]);
        let compared = Compared {
            tool: Tool::Ab,
            version: Ok("ab 2".to_owned()),
            command: "ab -c 1".to_owned(),
            native: "hayami bench -c 1".to_owned(),
            rounds: vec![Round { theirs: turn(1.25), ours: turn(2.5) }],
            under_way: 3,
            fault: None,
        };
        let missing = Compared {
            version: Err("wrk: not there".to_owned()),
            fault: Some("wrk: not there".to_owned()),
            tool: Tool::Wrk,
            rounds: Vec::new(),
            ..compared.clone()
        };
        let checked = Checked { agreement: vec![compared.clone(), missing], per_core: vec![compared] };
        let text = save(&checked).to_string();
        assert_eq!(load(&serde_json::from_str(&text).unwrap()), Some(checked));
        assert_eq!(load(&json!({ "agreement": [] })), None);
    }
}
