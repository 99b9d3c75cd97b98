//! A direction of a gate's file: its rate, its queue, its classes, and who counts as an offender.
use tidegate::Rate;
use tidegate::config::{Params, Value};
use tidegate_gateway::path::sort::Class;
use tidegate_gateway::run::way::Way;
use tidegate_gateway::watch::offenders::OffenderRules;
use tidegate_lab::QueueSpec;
use tidegate_lab::reader::{Node, Table};

use super::fields::GateFileReader;
use super::keys::{ClassParams, MARKS, OF_CLASS, Priority, WayParams};
use super::link::WantedDirection;

impl GateFileReader<'_> {
    /// The direction in `table`; `None` if something is wrong with it, which is taken down.
    pub fn way(&mut self, table: &Table<'_>) -> Option<Way> {
        let before = self.0.problems.len();
        let mut params = WayParams::default();
        self.0.params_of(table, &mut params, |_| true);
        if table.get("rate").is_none() {
            self.0.missing(table, "rate", &format!("this key is required: a {}", Rate::KIND));
        }
        let queue = match table.get("queue") {
            Some(node) => self.0.queue(node, &table.field("queue")),
            None => {
                self.0.missing(
                    table,
                    "queue",
                    "this key is required: a queue, as in queue = \"sfb\"",
                );
                QueueSpec::named("drop_tail")
            }
        };
        let wanted = WantedDirection {
            rate: params.rate,
            limit: table.get("limit").map(|_| params.limit),
            mean_packet: params.mean_packet,
            queue,
            flow_key: self.parsed(table, "flow_key").unwrap_or_default(),
            rehash: self.parsed(table, "rehash"),
            overhead: self.parsed(table, "overhead").unwrap_or_default(),
            classes: self.classes(table),
            allowed: self.all(table, "allow"),
            offenders: self.offenders(table),
        };
        if self.0.problems.len() > before {
            return None;
        }
        wanted.way().map_err(|error| self.refuse(table, error)).ok()
    }

    fn offenders(&mut self, table: &Table<'_>) -> OffenderRules {
        let mut rules = OffenderRules::default();
        let Some(node) = table.get("offenders") else { return rules };
        let path = format!("{}.", table.field("offenders"));
        let table = self.0.table(node, &path);
        self.0.known(&table, "`offenders`", OffenderRules::PARAMS, &[]);
        self.0.params_of(&table, &mut rules, |_| true);
        if let Err(error) = rules.consistent() {
            self.0.refuse_key(&table, &error.field, error.why);
        }
        rules
    }

    fn classes(&mut self, table: &Table<'_>) -> Vec<Class> {
        let Some(node) = table.get("class") else { return vec![] };
        let path = table.field("class");
        let nodes = self.0.tables(node, &path);
        let classes: Vec<Class> = (1..)
            .zip(nodes)
            .map(|(number, node)| self.class(node, &format!("{path}.{number}.")))
            .collect();
        for (at, class) in classes.iter().enumerate() {
            if !class.name.is_empty() && classes[..at].iter().any(|other| other.name == class.name)
            {
                let why = "two classes of a direction cannot have the same name";
                self.0.problem(nodes[at].origin, &format!("{path}.name"), &class.name, why);
            }
        }
        classes
    }

    fn class(&mut self, node: &Node, path: &str) -> Class {
        let table = self.0.table(node, path);
        for entry in table.entries {
            if !MARKS.contains(&entry.key.as_str()) {
                let mut alone = table;
                alone.entries = std::slice::from_ref(entry);
                self.0.only(&alone, "a [[class]]", &OF_CLASS);
                continue;
            }
            let why = "no such key: a firewall's mark is set after frames were taken from the \
                       interface and is not in them; use `dscp`, or the `priority` in a VLAN tag";
            self.0.problem(entry.key_origin, &table.field(&entry.key), "", why);
        }
        if table.get("name").is_none() {
            self.0.missing(&table, "name", "this key is required: what to call the class");
        }
        let mut params = ClassParams::default();
        self.0.params_of(&table, &mut params, |_| true);
        Class {
            name: self.0.name(&table, "name"),
            weight: params.weight,
            prefixes: self.all(&table, "prefix"),
            dscp: self.all(&table, "dscp"),
            priorities: self.all::<Priority>(&table, "priority").into_iter().map(|p| p.0).collect(),
        }
    }
}
