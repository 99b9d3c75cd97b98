//! What one value must be to another: times in order, names that exist, nodes that can be reached,
//! loads that end.
mod group;

use tidegate::bottleneck::MOST_STEPS;
use tidegate::{Link, Span};

use super::medium::Capacity;
use super::model::*;
use super::read::fits;
use super::ways::ManagedLink;
use crate::problem::Place;
use crate::reader::{Node, Origin, Reader, TomlValue, name_of};
use crate::spec::{QueueSpec, SAME_LABEL, twice};

/// The most flows of a scenario.
const FLOW_LIMIT: u64 = 1_000_000;
/// The most points of a series.
const POINT_LIMIT: u64 = 100_000;
/// The most packets of one replication: days of work.
const PACKET_LIMIT: f64 = 1e10;

/// Adds to the reader's problems what is inconsistent in `scenario`, which was read from `root`.
pub(crate) fn consistent(reader: &mut Reader<'_>, root: &Node, scenario: &mut Scenario) {
    let mut look = ConsistencyCheck { reader, root };
    if let Network::Graph(graph) = &mut scenario.network {
        look.graph(graph);
    }
    look.run(&scenario.run);
    look.media(scenario);
    look.names(&scenario.groups);
    for (index, group) in scenario.groups.iter().enumerate() {
        group::consistent(&mut look, scenario, group, index);
    }
    look.compare(scenario);
    if look.reader.problems.is_empty() {
        look.queues(scenario);
        look.load(scenario);
    }
}

/// Adds to the reader's problems why flows of `scenario` cannot have their places and routes.
pub(crate) fn laid_out(reader: &mut Reader<'_>, root: &Node, scenario: &mut Scenario) {
    let mut look = ConsistencyCheck { reader, root };
    if let Network::Graph(graph) = &mut scenario.network {
        look.graph(graph);
    }
    look.names(&scenario.groups);
    for (index, group) in scenario.groups.iter().enumerate() {
        group::laid_out(&mut look, scenario, group, index);
    }
}

struct ConsistencyCheck<'r, 'd> {
    reader: &'r mut Reader<'d>,
    root: &'r Node,
}

impl ConsistencyCheck<'_, '_> {
    fn refuse(&mut self, path: &str, why: impl Into<String>) {
        let (origin, value) = locate(self.root, path);
        self.reader.problem(origin, path, &value, why);
    }

    fn run(&mut self, run: &RunSettings) {
        if run.warmup >= run.duration {
            self.refuse("run.warmup", format!("must be less than run.duration, {}", run.duration));
        }
        if run.duration.as_nanos() / run.series.as_nanos().max(1) > POINT_LIMIT {
            self.points(run);
        }
    }

    /// Where `path` is written: the links of a chain stand in `[network]`.
    fn written(&self, path: &str) -> String {
        match path.strip_prefix("link.").and_then(|rest| rest.split_once('.')) {
            Some((_, key)) if find(self.root, "link").is_none() => format!("network.{key}"),
            _ => path.into(),
        }
    }

    /// A walk must begin between its ends and take no more steps than can be kept.
    fn media(&mut self, scenario: &Scenario) {
        let mut seen = vec![];
        for of in scenario.media() {
            let Capacity::Walk(walk) = &of.medium.capacity else { continue };
            let (path, rate) = (self.written(&(scenario.path(&of) + ".capacity")), of.rate);
            // The links of a chain are all as it says.
            if seen.contains(&path) {
                continue;
            }
            seen.push(path.clone());
            if !(walk.least..=walk.most).contains(&rate) {
                self.refuse(
                    &path,
                    format!("the walk begins at the rate, {rate}, and must reach it"),
                );
            }
            let (steps, end) = (walk.steps(scenario.run.duration), scenario.run.duration);
            if steps >= MOST_STEPS as u64 {
                let why = format!("makes {steps} steps in {end}; fewer than {MOST_STEPS} can be");
                self.refuse(&path, why);
            }
        }
    }

    /// Too many points. Either of two values may be the cause and the other a default, so both are
    /// named with where they come from.
    fn points(&mut self, run: &RunSettings) {
        let points = run.duration.as_nanos() / run.series.as_nanos().max(1);
        let least = Span::from_nanos(run.duration.as_nanos().div_ceil(POINT_LIMIT));
        let [series, duration] =
            ["run.series", "run.duration"].map(|path| find(self.root, path).map(|found| found.0));
        let said = |origin: Option<Origin>| match origin.map(|origin| self.reader.doc.place(origin))
        {
            None => " (the default)".into(),
            Some(Place::Line { line, .. }) => format!(" (line {line})"),
            Some(Place::Set(_) | Place::File(_)) => " (by --set)".to_string(),
        };
        let why = format!(
            "{} makes {points} points of run.duration = {}{}; at most {POINT_LIMIT} can be: \
             series = \"{least}\" or more, or a shorter duration",
            if series.is_none() { "this default" } else { "this" },
            run.duration,
            said(duration),
        );
        let origin = series.or(duration).unwrap_or(locate(self.root, "run.series").0);
        self.reader.problem(origin, "run.series", &run.series.to_string(), why);
    }

    fn names(&mut self, groups: &[Group]) {
        for (i, group) in groups.iter().enumerate() {
            if groups[..i].iter().any(|g| g.name == group.name) {
                let (origin, value) = locate(self.root, &format!("group.#{}.name", i + 1));
                self.reader.problem(
                    origin,
                    "group.name",
                    &value,
                    "two groups cannot have the same name",
                );
            }
        }
        let flows: u64 = groups.iter().map(|g| g.count as u64).sum();
        if flows > FLOW_LIMIT && groups.iter().all(|g| g.count as u64 <= FLOW_LIMIT) {
            self.refuse(
                "group",
                format!("the groups have {flows} flows together; at most {FLOW_LIMIT} can be"),
            );
        }
    }

    fn graph(&mut self, graph: &mut Graph) {
        for (i, link) in graph.links.iter().enumerate() {
            if link.from == link.to && !link.from.is_empty() {
                self.refuse(&format!("link.{}.to", i + 1), "a link cannot end where it begins");
            }
            if link.watch && link.limit.is_none() {
                let why = "a link without limit never drops and has no queue to watch";
                self.refuse(&format!("link.{}.watch", i + 1), why);
            }
            if link.queue.is_some() && link.limit.is_none() {
                self.refuse(&format!("link.{}.queue", i + 1), "a link with a queue needs a limit");
            }
        }
        let watched: Vec<usize> =
            (0..graph.links.len()).filter(|&i| graph.links[i].watch).collect();
        match watched.as_slice() {
            [_] => {}
            [] => match graph.links.iter_mut().find(|l| l.limit.is_some()) {
                Some(link) => link.watch = true,
                None => self.refuse("link", "one link at least must have a limit, and so a queue"),
            },
            [_, second, ..] => {
                self.refuse(&format!("link.{}.watch", second + 1), "only one link can be watched");
            }
        }
    }

    /// Queues to compare need labels that tell them apart, and a watched link that takes them.
    fn compare(&mut self, scenario: &mut Scenario) {
        if let Some(index) = twice(&scenario.compare) {
            let (origin, value) = locate(self.root, &format!("compare.queues.{}", index + 1));
            self.reader.problem(origin, "compare.queues", &value, SAME_LABEL);
        }
        let Network::Graph(graph) = &scenario.network else { return };
        let Some(i) = graph.links.iter().position(|l| l.watch && l.queue.is_some()) else { return };
        let field = format!("link.{}.queue", i + 1);
        let (origin, _) = locate(self.root, &field);
        scenario.watched_queue = Some(self.reader.doc.place(origin));
        if !scenario.compare.is_empty() {
            let why = format!(
                "{OWN_QUEUE}, so the queues of [compare] would never be tried: {OWN_QUEUE_REMEDY}"
            );
            self.refuse(&field, why);
        }
    }

    /// Every queue must exist and be possible on its link.
    fn queues(&mut self, scenario: &Scenario) {
        let bottleneck = scenario.bottleneck();
        if let Err(error) = Link::new(bottleneck.rate, bottleneck.limit, bottleneck.mean_packet) {
            let managed = scenario.managed();
            let watched = managed.iter().find(|link| link.watched);
            let table = watched.map_or("network", |link| &link.path);
            let path = self.written(&format!("{table}.{}", error.field));
            return self.refuse(&path, error.why);
        }
        self.queue("queue", &scenario.queue, &bottleneck);
        for (i, spec) in scenario.compare.iter().enumerate() {
            self.queue(&format!("compare.queues.{}", i + 1), spec, &bottleneck);
        }
        // That of a dumbbell's way there is looked at.
        let dumbbell = matches!(scenario.network, Network::Dumbbell(..)) as usize;
        for ManagedLink { link, queue, path, .. } in scenario.managed().into_iter().skip(dumbbell) {
            match (Link::new(link.rate, link.limit, link.mean_packet), queue) {
                (Err(error), _) => {
                    let path = self.written(&format!("{path}.{}", error.field));
                    self.refuse(&path, error.why);
                }
                (Ok(line), Some(spec)) => {
                    let path = self.written(&format!("{path}.queue"));
                    self.queue(&path, spec, &line);
                }
                (Ok(line), None) => self.queue("queue", &scenario.queue, &line),
            }
        }
    }

    fn queue(&mut self, path: &str, spec: &QueueSpec, link: &Link) {
        if let Err(error) = spec.possible(link) {
            let key = if error.field == "queue" { "name" } else { error.field.as_str() };
            let (mut origin, _) = locate(self.root, path);
            if let Some((inner, _)) = find(self.root, &format!("{path}.{key}")) {
                origin = inner;
            }
            let field = if error.field == "queue" {
                path.to_string()
            } else {
                format!("{path}.{}", error.field)
            };
            self.reader.problem(origin, &field, &error.value, error.why);
        }
    }

    /// Packets must fit the queues, and there must not be more of them than anyone would wait for.
    fn load(&mut self, scenario: &Scenario) {
        let seconds = scenario.run.duration.as_secs();
        let limit = scenario.bottleneck().limit;
        let mut packets = 0.0;
        for group in &scenario.groups {
            let demand =
                group.demand(scenario.run.duration).map_or(0.0, |rate| rate.as_bps() as f64);
            let (len, offered) = (group.source.packet().get(), demand * group.count as f64);
            if !fits(limit, len) {
                let why = format!("the queue's limit, {limit}, is less than one packet");
                self.refuse(&format!("group.{}.packet", group.name), why);
            }
            packets += offered * seconds / (len * 8) as f64;
        }
        let bottleneck = scenario.bottleneck();
        packets += bottleneck.packets_per_second() * seconds;
        if packets > PACKET_LIMIT {
            let why = format!(
                "this makes about {packets:.1e} packets; at most {PACKET_LIMIT:.0e} are simulated"
            );
            self.refuse("run.duration", why);
        }
    }
}

/// Where the value at `path` stands and what it is; for a value that is not written, where it would
/// stand.
fn locate(root: &Node, path: &str) -> (Origin, String) {
    if let Some(found) = find(root, path) {
        return found;
    }
    let mut parent = path;
    while let Some((up, _)) = parent.rsplit_once('.') {
        parent = up;
        if let Some((origin, _)) = find(root, parent) {
            return (origin, String::new());
        }
    }
    (root.origin, String::new())
}

/// The value at `path`; elements of lists by `#` and number, by number, or by name.
fn find(root: &Node, path: &str) -> Option<(Origin, String)> {
    let mut node = root;
    for step in path.split('.') {
        node = match &node.kind {
            TomlValue::Table(entries) => &entries.iter().find(|e| e.key == step)?.node,
            TomlValue::List(items) => {
                let number = step.strip_prefix('#').unwrap_or(step).parse::<usize>().ok();
                match number {
                    Some(n) => items.get(n.checked_sub(1)?)?,
                    None => items.iter().find(|item| name_of(item) == Some(step))?,
                }
            }
            _ => return None,
        };
    }
    Some((node.origin, node.shown()))
}
