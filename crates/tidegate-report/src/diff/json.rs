//! Two results beside each other, as JSON.
use serde_json::{Map, Value, json};

use super::{Diff, DiffRow, Likeness};
use crate::Figure;

/// The form's name and version.
const SCHEMA: &str = "tidegate.diff/1";

impl Diff {
    /// All figures, those that differ first; the results are called `names`.
    pub fn to_json(&self, names: [&str; 2]) -> String {
        let figures: Vec<Value> = self.rows.iter().map(|row| self.figure(row)).collect();
        let certain = self.count(Likeness::Certain);
        let value = json!({
            "schema": SCHEMA,
            "a": names[0],
            "b": names[1],
            "queues": self.queues,
            "summary": {
                "figures": self.rows.len(),
                "tested": self.tested(),
                "differ": certain + self.count(Likeness::Differs),
                "differ_by_holm": certain,
                "same": self.count(Likeness::Same),
                "without_interval": self.count(Likeness::Unknown),
                "alone_a": self.alone[0],
                "alone_b": self.alone[1],
                "one_sided": self.one_sided,
            },
            "figures": figures,
        });
        format!("{value:#}")
    }

    fn figure(&self, row: &DiffRow) -> Value {
        let keys = self.keys.iter().zip(&row.place);
        let place: Map<String, Value> =
            keys.map(|(key, value)| (key.clone(), value.clone().into())).collect();
        let bare = Figure::exact(row.b.mean() - row.a.mean());
        let verdict = match row.verdict {
            Likeness::Certain => "differs by Holm's correction",
            Likeness::Differs => "differs",
            Likeness::Unknown => "no interval",
            Likeness::Alike => "alike",
            Likeness::Same => "same",
        };
        json!({
            "place": place,
            "metric": row.metric.name,
            "unit": row.metric.unit,
            "a": row.a,
            "b": row.b,
            "difference": row.compared.map(|compared| compared.difference).or(bare),
            "chance": row.chance(),
            "paired": row.compared.map(|compared| compared.paired),
            "verdict": verdict,
        })
    }
}
