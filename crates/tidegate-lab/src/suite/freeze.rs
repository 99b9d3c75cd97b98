//! The cells of a suite as data that another simulator can read: JSON, a cell a line, every
//! default spelled out.
use serde_json::{Map, Value, json};
use tidegate_report::fair::STARVED;

use super::CELLS;
use super::attack::period;
use super::book::{Cell, Suite};
use crate::reader::{Document, Kind, Node};

/// The cells, one a line, in order. Each has the resolved scenario, without the queue: every queue
/// meets it.
pub fn cells(suite: &Suite) -> String {
    suite.cells.iter().map(|cell| format!("{}\n", line(suite, cell))).collect()
}

/// Whether the cells are those in `kept`, the text of a suite's cells when it was frozen. They may
/// say more by now, as scenarios have got more keys since, but nothing else.
///
/// # Errors
/// What differs.
pub fn unchanged(suite: &Suite, kept: Option<&str>) -> Result<(), String> {
    let Some(kept) = kept else {
        return Err(format!("a frozen suite has its cells beside it, in {CELLS}"));
    };
    if kept.lines().count() != suite.cells.len() {
        let (now, then) = (suite.cells.len(), kept.lines().count());
        return Err(format!("it has {now} cells, and {CELLS} has {then}: {NEWER}"));
    }
    for (cell, kept) in suite.cells.iter().zip(kept.lines()) {
        let kept = serde_json::from_str(kept).unwrap_or_default();
        if !says(&line(suite, cell), &kept) {
            let (test, name) = (&suite.tests[cell.test].id, &cell.name);
            return Err(format!("cell `{name}` of {test} is not that of {CELLS}: {NEWER}"));
        }
    }
    Ok(())
}

const NEWER: &str = "what is frozen changes only with a new `version`";

/// Whether `now` says all that `kept` says; a table may have more keys.
fn says(now: &Value, kept: &Value) -> bool {
    match (now, kept) {
        (Value::Object(now), Value::Object(kept)) => {
            kept.iter().all(|(key, kept)| now.get(key).is_some_and(|now| says(now, kept)))
        }
        (Value::Array(now), Value::Array(kept)) => {
            now.len() == kept.len() && now.iter().zip(kept).all(|(now, kept)| says(now, kept))
        }
        _ => now == kept,
    }
}

fn line(suite: &Suite, cell: &Cell) -> Value {
    let text = cell.full.resolved();
    let document = Document { file: "cell", text: &text, sets: &[] };
    let root = document.read().map(|root| value(&root)).unwrap_or_default();
    let mut scenario = match root {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    for ours in ["queue", "compare", "title", "description"] {
        scenario.remove(ours);
    }
    let attack = period(&cell.full, &cell.roles).ok().filter(|_| cell.timed);
    let mut line = json!({
        "suite": suite.name, "version": suite.version,
        "test": suite.tests[cell.test].id, "cell": cell.name,
        "users": cell.roles.users, "light": cell.roles.light, "attackers": cell.roles.attackers,
        "attack_s": attack.map(|(from, to)| [from.as_secs(), to.as_secs()]),
        "bound": cell.bound, "starved_below": STARVED, "seeds": suite.seeds,
        "scenario": scenario,
    });
    if let Some(target) = cell.target {
        line["target_s"] = json!(target.as_secs());
    }
    line
}

/// A value of a scenario; quantities stay texts with their units, as the scenario has them.
fn value(node: &Node) -> Value {
    match &node.kind {
        Kind::Text(text) | Kind::Bare(text) | Kind::Large(text) => Value::from(text.as_str()),
        Kind::Whole(whole) => Value::from(*whole),
        Kind::Number(number) => Value::from(*number),
        Kind::Flag(flag) => Value::from(*flag),
        Kind::List(items) => items.iter().map(value).collect(),
        Kind::Table(entries) => {
            let pairs = entries.iter().map(|entry| (entry.key.clone(), value(&entry.node)));
            Value::Object(pairs.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frozen_cell_may_say_more_and_nothing_else() {
        let json = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
        let kept = json(r#"{"a": 1, "group": [{"b": "2 s"}]}"#);
        assert!(says(&json(r#"{"a": 1, "group": [{"b": "2 s", "c": 0}], "d": 1}"#), &kept));
        for other in [
            r#"{"a": 2, "group": [{"b": "2 s"}]}"#,
            r#"{"a": 1, "group": [{"b": "3 s"}]}"#,
            r#"{"a": 1, "group": [{"b": "2 s"}, {}]}"#,
            r#"{"group": [{"b": "2 s"}]}"#,
        ] {
            assert!(!says(&json(other), &kept), "{other}");
        }
    }
}
