//! The names in a study: what is used, and what stands for one thing only.
use crate::reader::{Origin, Reader};
use crate::study::axis::{Axis, Setting, quantity};
use crate::study::rows;
use crate::study::substitute::names;

use super::StudyDraft;

/// Columns of the tables that no replication has.
const LEADS: [&str; 4] = ["cell", "scenario", "queue", "seeds"];

impl Reader<'_> {
    /// Refuses variables that neither a queue nor `[set]` nor an axis names.
    pub(super) fn unused(&mut self, draft: &StudyDraft) {
        let texts = |setting: &Setting| -> Vec<String> {
            setting.values.iter().map(|(text, _)| text.clone()).collect()
        };
        let varied = draft.axes.iter().flat_map(|axis| &axis.settings);
        let set: Vec<String> = draft
            .set
            .iter()
            .chain(varied.filter(|setting| setting.path.is_some()))
            .flat_map(texts)
            .collect();
        let used = |name: &str| {
            draft.queues.iter().any(|(queue, _)| names(queue).contains(&name))
                || set.iter().any(|text| has_word(text, name))
        };
        for setting in draft.axes.iter().flat_map(|axis| &axis.settings) {
            if setting.path.is_none() && !used(&setting.column) {
                let why = "nothing uses this axis: name a path, as in network.rate = […], or use \
                           the name in [set] or in a queue, as in {name}";
                self.problem(at(setting), &format!("axes.{}", setting.column), "", why);
            }
        }
    }

    /// Refuses what is set twice, and names that stand for something else already.
    pub(super) fn clashes(&mut self, draft: &StudyDraft) {
        let mut known: Vec<&str> = vec![];
        for (name, setting) in draft.axes.iter().flat_map(Axis::names) {
            let field = format!("axes.{name}");
            let fixed = |set: &&Setting| set.path.is_some() && set.path == setting.path;
            if known.contains(&name) {
                self.problem(at(setting), &field, "", "another axis varies this, too");
            } else if let Some(set) = draft.set.iter().find(fixed) {
                let why = "is an axis, too; leave out one of the two";
                self.problem(at(set), &format!("set.{}", set.column), "", why);
            }
            if let Some(why) = taken(name) {
                self.problem(at(setting), &field, "", format!("{why}; choose another name"));
            }
            known.push(name);
        }
        let varied = draft.axes.iter().flat_map(|axis| &axis.settings);
        for setting in draft.set.iter().chain(varied) {
            if let Some("run.seed" | "run.seeds") = setting.path.as_deref() {
                let why = "a study says this by its own keys `seed` and `seeds`";
                self.problem(at(setting), &setting.column, "", why);
            }
        }
    }
}

/// Where the first value of `setting` stands.
fn at(setting: &Setting) -> Origin {
    setting.values[0].1
}

fn has_word(text: &str, name: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-')))
        .any(|word| word == name)
}

/// What the name of a variable stands for already.
fn taken(name: &str) -> Option<&'static str> {
    let column = || {
        let stored = rows::groups().columns.into_iter().chain(rows::flows().columns);
        LEADS.contains(&name) || stored.skip(1).any(|column| column.name == name)
    };
    match name {
        "rtt" => Some("is the base round trip in expressions"),
        "bdp" => Some("is the bandwidth-delay product in expressions"),
        _ if quantity(&format!("1 {name}")).or(quantity(&format!("1 {name}/s"))).is_some() => {
            Some("is a unit")
        }
        _ if column() => Some("is a column of the tables"),
        _ => None,
    }
}
