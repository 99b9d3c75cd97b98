//! Values of a scenario that are derived from others: what the names in their expressions stand
//! for.
mod tree;

use std::ops::Range;

use tidegate::config::Params;
use tidegate::{Seed, Size, Span};

use self::tree::{below, keys, node, put};
use crate::layout::{SeedPlan, base_round_trips, mean_round_trip};
use crate::nearest::did_you_mean;
use crate::problem::Problem;
use crate::reader::{
    Dimension, Expression, ExpressionFault, Node, Origin, Reader, Request, TomlDocument, UnitValue,
    Unknown, WantedKind, cut, scalar,
};
use crate::scenario::{Chain, Dumbbell, GroupParams, Network, RunSettings, Scenario, consistent};

/// How many values may be derived one from the other.
const CHAIN_LIMIT: usize = 32;
/// The keys that `rtt` depends on, in whatever table.
const ROUND_TRIP: [&str; 12] = [
    "rate",
    "delay",
    "access_rate",
    "access_delay",
    "hops",
    "watch",
    "count",
    "hosts",
    "packet",
    "ack",
    "report",
    "seed",
];

/// Puts plain values in `root` in place of those that `reader` took down to be derived; whether
/// there were any, and all could be. `scenario` was read with defaults in their place.
pub(super) fn settle(reader: &mut Reader<'_>, root: &mut Node, scenario: &Scenario) -> bool {
    let requests = reader.derived.take().unwrap_or_default();
    if requests.is_empty() {
        return false;
    }
    let mut found = vec![];
    let mut expressions = vec![];
    for request in &requests {
        match Expression::parse(request.text()) {
            Ok(expression) => expressions.push(expression),
            Err(fault) => found.push(problem(reader.doc, request, Some(&fault))),
        }
    }
    // What is derived from a wrong value may be called wrong for no fault of its own.
    if !reader.problems.is_empty() || !found.is_empty() {
        reader.problems.append(&mut found);
        return false;
    }
    let mut known = KnownValues {
        doc: reader.doc,
        root,
        scenario,
        requests: &requests,
        expressions: &expressions,
        done: vec![None; requests.len()],
        chain: vec![],
        round_trip: None,
        problems: vec![],
    };
    for index in 0..requests.len() {
        let _ = known.settled(index);
    }
    let (done, mut problems) = (known.done, known.problems);
    reader.problems.append(&mut problems);
    put(root, &requests, &done);
    reader.problems.is_empty()
}

/// The values that are known so far.
struct KnownValues<'k> {
    doc: &'k TomlDocument<'k>,
    root: &'k Node,
    scenario: &'k Scenario,
    requests: &'k [Request],
    expressions: &'k [Expression],
    /// The plain value of each request that was tried; none where it cannot be.
    done: Vec<Option<Option<String>>>,
    /// What is being worked out, the first cause first.
    chain: Vec<String>,
    /// The watched link's rate and the mean base round trip.
    round_trip: Option<(tidegate::Rate, Span)>,
    problems: Vec<Problem>,
}

impl KnownValues<'_> {
    /// The plain value of request `index`.
    fn settled(&mut self, index: usize) -> Result<String, Unknown> {
        let field = &self.requests[index].field;
        if let Some(done) = &self.done[index] {
            return done.clone().ok_or(Unknown::Elsewhere);
        }
        self.enter(field)?;
        let value = self.derived(index);
        self.chain.pop();
        if let Err(Some(fault)) = &value {
            self.problems.push(problem(self.doc, &self.requests[index], Some(fault)));
        }
        self.done[index] = Some(value.ok());
        self.done[index].clone().flatten().ok_or(Unknown::Elsewhere)
    }

    /// Begins to work out `name`.
    fn enter(&mut self, name: &str) -> Result<(), Unknown> {
        let from = self.chain.iter().position(|link| link == name);
        if let Some(from) = from {
            let circle = [&self.chain[from..], &[name.to_string()]].concat().join(" → ");
            return Err(Unknown::Because(format!("is derived from itself: {circle}")));
        }
        if self.chain.len() >= CHAIN_LIMIT {
            let why = format!("more than {CHAIN_LIMIT} values are derived one from the other");
            return Err(Unknown::Because(why));
        }
        self.chain.push(name.into());
        Ok(())
    }

    fn derived(&mut self, index: usize) -> Result<String, Option<ExpressionFault>> {
        let (request, expression) = (&self.requests[index], &self.expressions[index]);
        let mut quantity = expression.value(&mut |name| self.value(name))?;
        let whole = |why| Some(ExpressionFault { at: 0..request.text().len(), why });
        if request.wanted == WantedKind::Length {
            quantity =
                self.length(request, expression, quantity).map_err(|unknown| match unknown {
                    Unknown::Because(why) => whole(why),
                    Unknown::Elsewhere => None,
                })?;
        }
        request.wanted.plain(&quantity).map_err(whole)
    }

    /// `quantity` as the length of a queue: a time at the rate of its link, data in packets unless
    /// bytes are meant.
    fn length(
        &mut self,
        request: &Request,
        expression: &Expression,
        quantity: UnitValue,
    ) -> Result<UnitValue, Unknown> {
        let link = self.link_of(&request.field);
        let data = match quantity.dimension {
            Dimension::TIME => quantity.times(&self.value(&format!("{link}.rate"))?),
            Dimension::DATA => quantity,
            _ => return Ok(quantity),
        };
        // A window counts the packets of its own group, which may be of another length.
        if request.field.starts_with("group.") {
            return Ok(data);
        }
        let limit = format!("{link}.limit");
        let own = TomlDocument { sets: &[], ..*self.doc }.read().ok();
        let in_bytes = own.as_ref().is_some_and(|own| counts_bytes(own, &limit))
            || counts_bytes(self.root, &limit);
        let is_data = &mut |name: &str| {
            !matches!(name, "bdp" | "rtt")
                && self.value(name).is_ok_and(|value| {
                    [Dimension::DATA, Dimension::NUMBER].contains(&value.dimension)
                })
        };
        if in_bytes || expression.counts_bytes(is_data) {
            return Ok(data);
        }
        let packet = self.value("network.mean_packet")?;
        let packets =
            data.over(&packet).map(|number| UnitValue { dimension: Dimension::PACKETS, ..number });
        packets.ok_or_else(|| Unknown::Because("network.mean_packet is zero".into()))
    }

    /// The path of the link to which the queue belongs that `field` is about.
    fn link_of(&self, field: &str) -> String {
        let mut steps = field.split('.');
        let back = if field.contains(".back.") { ".back" } else { "" };
        if let (Some("link"), Some(number)) = (steps.next(), steps.next()) {
            return format!("link.{number}{back}");
        }
        if !back.is_empty() {
            return "network.back".into();
        }
        match &self.scenario.network {
            Network::Graph(graph) if node(self.root, "network.rate").is_none() => {
                let watched = graph.links.iter().position(|link| link.watch);
                let managed = || graph.links.iter().position(|link| link.limit.is_some());
                format!("link.{}", watched.or_else(managed).unwrap_or(0) + 1)
            }
            _ => "network".into(),
        }
    }

    /// What `name` stands for.
    fn value(&mut self, name: &str) -> Result<UnitValue, Unknown> {
        if matches!(name, "bdp" | "rtt") {
            let (rate, rtt) = self.round_trip(name)?;
            let rtt = UnitValue::time(rtt);
            return Ok(if name == "rtt" { rtt } else { rtt.times(&UnitValue::rate(rate)) });
        }
        let Some((node, path)) = node(self.root, name) else { return self.default(name) };
        let Some(text) = scalar(node) else {
            let why = format!("`{name}` is {}; only a single value can stand here", node.what());
            return Err(Unknown::Because(why));
        };
        let request =
            self.requests.iter().position(|r| r.field == path && r.text() == text.as_str());
        match request {
            Some(index) => quantity(name, &self.settled(index)?),
            None => quantity(name, &text),
        }
    }

    /// The default of the key `path`, which is not written.
    fn default(&mut self, path: &str) -> Result<UnitValue, Unknown> {
        let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
        let (value, known) = match table.split('.').collect::<Vec<_>>().as_slice() {
            ["run"] => (RunSettings::default().get(key), names(RunSettings::PARAMS)),
            ["network"] => self.network_default(key),
            // The way back is as the way there where it does not say otherwise.
            [.., "back"] if matches!(key, "rate" | "delay") && node(self.root, table).is_some() => {
                return self.value(&format!("{}.{key}", table.trim_end_matches(".back")));
            }
            ["link", _] if node(self.root, table).is_some() => {
                let line = Dumbbell::default();
                (line.get(key).filter(|_| key == "delay"), vec!["rate", "delay", "limit"])
            }
            ["group", _] if node(self.root, table).is_some() => return self.of_group(table, key),
            ["queue" | "compare", ..] => {
                let why = format!("`{path}` is not written; a preset's value cannot stand here");
                return Err(Unknown::Because(why));
            }
            _ => return Err(Unknown::Because(self.no_table(path))),
        };
        match value {
            Some(text) => quantity(path, &text),
            None => Err(Unknown::Because(no_value(path, key, &known))),
        }
    }

    fn network_default(&self, key: &str) -> (Option<String>, Vec<&'static str>) {
        let known = [names(Dumbbell::PARAMS), names(Chain::PARAMS)].concat();
        let written = |key: &str| node(self.root, &format!("network.{key}"));
        let kind = written("kind").and_then(|(node, _)| scalar(node)).unwrap_or_default();
        let value = match kind.as_str() {
            "graph" => Dumbbell::default().get(key).filter(|_| key == "mean_packet"),
            "chain" | "parking_lot" => Dumbbell::default().get(key).or(Chain::default().get(key)),
            _ => Dumbbell::default().get(key),
        };
        (value, known)
    }

    /// The default of the key of a group.
    fn of_group(&mut self, table: &str, key: &str) -> Result<UnitValue, Unknown> {
        let dumbbell = matches!(self.scenario.network, Network::Dumbbell(..));
        match key {
            "hosts" => return self.value(&format!("{table}.count")),
            "access_rate" | "access_delay" if dumbbell => {
                return self.value(&format!("network.{key}"));
            }
            _ => {}
        }
        let path = format!("{table}.{key}");
        let resolved = self.scenario.resolved();
        let doc = TomlDocument { file: self.doc.file, text: &resolved, sets: &[] };
        let root = doc.read().map_err(|_| Unknown::Elsewhere)?;
        match node(&root, &path).and_then(|(node, _)| scalar(node)) {
            Some(text) => quantity(&path, &text),
            None => {
                let resolved = keys(&root, table);
                let mut known = names(GroupParams::PARAMS);
                known.extend(resolved.iter().map(String::as_str));
                Err(Unknown::Because(no_value(&path, key, &known)))
            }
        }
    }

    /// Why `path` leads nowhere.
    fn no_table(&self, path: &str) -> String {
        let mut tables = ["run", "network", "queue"].map(String::from).to_vec();
        for list in ["group", "link"] {
            tables.extend(keys(self.root, list).iter().map(|name| below(list, name)));
        }
        let known: Vec<&str> = tables.iter().map(String::as_str).collect();
        let table = path.rsplit_once('.').map_or(path, |(table, _)| table);
        let near = did_you_mean(table, &known).unwrap_or_default();
        let hint = if path.contains('-') { "; to subtract, put spaces around the -" } else { "" };
        format!("there is no `{}`{near}{hint}", cut(path, 60))
    }

    /// The watched link's rate and the mean base round trip of the responsive flows.
    fn round_trip(&mut self, name: &str) -> Result<(tidegate::Rate, Span), Unknown> {
        if let Some(known) = self.round_trip {
            return Ok(known);
        }
        self.enter(name)?;
        let matters = |request: &Request| {
            let key = request.field.rsplit('.').next().unwrap_or_default();
            let own = request.field.starts_with("group.") && key == "rate";
            ROUND_TRIP.contains(&key) && !own
        };
        let mut all = Ok(());
        for index in (0..self.requests.len()).filter(|&i| matters(&self.requests[i])) {
            all = all.and(self.settled(index).map(|_| ()));
        }
        let found = all.and_then(|()| self.laid_out());
        self.chain.pop();
        self.round_trip = found.as_ref().ok().copied();
        found
    }

    /// Lays out the flows with what is known.
    fn laid_out(&mut self) -> Result<(tidegate::Rate, Span), Unknown> {
        let mut root = self.root.clone();
        put(&mut root, self.requests, &self.done);
        let mut reader = Reader::deriving(self.doc);
        let mut scenario = reader.scenario(&root, "");
        if reader.problems.is_empty() {
            consistent::laid_out(&mut reader, &root, &mut scenario);
        }
        if !reader.problems.is_empty() {
            self.problems.append(&mut reader.problems);
            return Err(Unknown::Elsewhere);
        }
        // When flows come and go does not matter, and takes time to lay out.
        scenario.run.duration = Span::from_nanos(1);
        let plan = SeedPlan::new(&scenario, Seed::new(scenario.run.seed));
        let all = base_round_trips(&scenario, &plan);
        let rate = plan.wires[plan.watched as usize].rate;
        Ok((rate, mean_round_trip(&scenario, &plan, &all)))
    }
}

fn names(params: &'static [tidegate::config::Param]) -> Vec<&'static str> {
    params.iter().map(|param| param.name).collect()
}

/// Why the key `path` has no value.
fn no_value(path: &str, key: &str, known: &[&str]) -> String {
    if known.contains(&key) {
        return format!("`{path}` is not written and has no default");
    }
    let near = did_you_mean(key, known).unwrap_or_default();
    let hint = if key.contains('-') { "; to subtract, put spaces around the -" } else { "" };
    format!("there is no `{}`{near}{hint}", cut(path, 60))
}

/// The plain `text` of the key `path` as a quantity.
fn quantity(path: &str, text: &str) -> Result<UnitValue, Unknown> {
    UnitValue::plain(text).ok_or_else(|| {
        Unknown::Because(format!("`{path}` is `{}`, which is no quantity", cut(text, 60)))
    })
}

/// Whether the limit at `path` is written in bytes.
fn counts_bytes(root: &Node, path: &str) -> bool {
    let text = node(root, path).and_then(|(node, _)| scalar(node));
    text.is_some_and(|text| matches!(text.parse(), Ok(Size::Bytes(_))))
}

/// What is wrong with `request`: at the part of it that is at fault where it stands in the file.
fn problem(doc: &TomlDocument<'_>, request: &Request, fault: Option<&ExpressionFault>) -> Problem {
    let (text, whole) = (request.text(), 0..request.text().len());
    let (at, why) = fault.map_or((&whole, ""), |fault| (&fault.at, fault.why.as_str()));
    doc.problem(within(doc, request.node.origin, text, at), &request.field, &cut(text, 60), why)
}

/// Where the part `at` of `text` stands, which has its origin at `origin`.
fn within(doc: &TomlDocument<'_>, origin: Origin, text: &str, at: &Range<usize>) -> Origin {
    let Origin::File(start, end) = origin else { return origin };
    // A text with escapes is written otherwise than it reads.
    match doc.text.get(start..end).and_then(|written| written.find(text)) {
        Some(offset) => Origin::File(start + offset + at.start, start + offset + at.end),
        None => origin,
    }
}
