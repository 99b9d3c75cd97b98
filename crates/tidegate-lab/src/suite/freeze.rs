//! The cells of a suite as data that another simulator can read: JSON, a cell a line, every
//! default spelled out.
use serde_json::{Map, Value, json};
use tidegate_report::fair::STARVED;

use super::attack::period;
use super::book::{Cell, Suite};
use crate::reader::{Document, Kind, Node};

/// The cells, one a line, in order. Each has the resolved scenario, without the queue: every queue
/// meets it.
pub fn cells(suite: &Suite) -> String {
    suite.cells.iter().map(|cell| format!("{}\n", line(suite, cell))).collect()
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
