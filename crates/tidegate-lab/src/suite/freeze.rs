//! The cells of a suite as data that another simulator can read: JSON, a cell a line, every
//! default spelled out.
use std::path::Path;

use serde_json::{Value, json};
use tidegate_report::fair::STARVED;

use super::CELLS;
use super::attack::period;
use super::book::{Suite, SuiteCell};
use crate::reader::{Node, TomlDocument, TomlValue};
use crate::scenario::Scenario;

/// The cells, one a line, in order. Each has the resolved scenario, without the queue: every queue
/// meets it.
pub fn cells(suite: &Suite) -> String {
    suite.cells.iter().map(|cell| format!("{}\n", line(suite, cell))).collect()
}

/// Whether the cells are those in `kept`, the text of a suite's cells when it was frozen. Keys that
/// scenarios have got since then must have their defaults.
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
        let file = Path::new(&suite.file).with_file_name(&cell.file);
        if !is_same(line(suite, cell), kept, &file.display().to_string()) {
            let (test, name) = (&suite.tests[cell.test].id, &cell.name);
            return Err(format!("cell `{name}` of {test} is not that of {CELLS}: {NEWER}"));
        }
    }
    Ok(())
}

const NEWER: &str = "what is frozen changes only with a new `version`";

/// Whether two lines are of the same cell, whose scenario stands in `file`. A scenario that was
/// kept may lack keys of today: it is read again, and must spell out what the cell's does. So no
/// key that is left out by default, as `network.loss`, can be added to a cell that was kept without
/// it.
fn is_same(mut now: Value, mut kept: Value, file: &str) -> bool {
    if now == kept {
        return true;
    }
    let [now_is, kept_is] =
        [&mut now, &mut kept].map(|line| line.get_mut("scenario").map(Value::take));
    now == kept && now_is.is_some() && kept_is.and_then(|kept| again(&kept, file)) == now_is
}

/// A scenario that was kept, with the defaults of today; none if it is no scenario any more.
fn again(kept: &Value, file: &str) -> Option<Value> {
    let keys = kept.as_object()?.iter();
    let text: String =
        keys.map(|(key, value)| format!("{} = {}\n", json!(key), toml(value))).collect();
    Some(spelled_out(&Scenario::parse(text.as_bytes(), file, &[]).ok()?))
}

/// JSON as TOML in one line. Texts and numbers are written alike in both.
fn toml(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", "))
        }
        Value::Object(keys) => {
            let pairs = keys.iter().map(|(key, value)| format!("{} = {}", json!(key), toml(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}

fn line(suite: &Suite, cell: &SuiteCell) -> Value {
    let attack = period(&cell.full, &cell.roles).ok().filter(|_| cell.timed);
    let mut line = json!({
        "suite": suite.name, "version": suite.version,
        "test": suite.tests[cell.test].id, "cell": cell.name,
        "users": cell.roles.users, "light": cell.roles.light, "attackers": cell.roles.attackers,
        "attack_s": attack.map(|(from, to)| [from.as_secs(), to.as_secs()]),
        "bound": cell.bound, "starved_below": STARVED, "seeds": suite.seeds,
        "scenario": spelled_out(&cell.full),
    });
    // Only where they are said, so that lines without them stay as they were published.
    if let Some(target) = cell.target {
        line["target_s"] = json!(target.as_secs());
    }
    if let Some(users) = cell.roles.count_as {
        line["count_as"] = json!(users);
    }
    line
}

/// All of a scenario that is every queue's.
fn spelled_out(scenario: &Scenario) -> Value {
    let text = scenario.resolved();
    let document = TomlDocument { file: "cell", text: &text, sets: &[] };
    let mut root = document.read().map(|root| value(&root)).unwrap_or_default();
    if let Value::Object(keys) = &mut root {
        for ours in ["queue", "compare", "title", "description"] {
            keys.remove(ours);
        }
    }
    root
}

/// A value of a scenario; quantities stay texts with their units, as the scenario has them.
fn value(node: &Node) -> Value {
    match &node.kind {
        TomlValue::Text(text) | TomlValue::Bare(text) | TomlValue::Large(text) => {
            Value::from(text.as_str())
        }
        TomlValue::Whole(whole) => Value::from(*whole),
        TomlValue::Number(number) => Value::from(*number),
        TomlValue::Flag(flag) => Value::from(*flag),
        TomlValue::List(items) => items.iter().map(value).collect(),
        TomlValue::Table(entries) => {
            let pairs = entries.iter().map(|entry| (entry.key.clone(), value(&entry.node)));
            Value::Object(pairs.collect())
        }
    }
}
