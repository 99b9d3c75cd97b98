//! What the values of one group must be to each other, to its source and to the network.
use tidegate::Span;
use tidegate_sim::sources::tcp::EcnUse;

use super::super::connection::Connection;
use super::super::demand::When;
use super::super::forge::Forge;
use super::super::lowered::lowered;
use super::super::model::*;
use super::super::sources::Source;
use super::super::tcp::{Acks, Data, Tcp};
use super::{ConsistencyCheck, find, locate};

/// The most connections of one host: what its ports tell apart.
const CONNECTION_LIMIT: u32 = 60_000;
/// The most calls of one group.
const CALL_LIMIT: f64 = 1e7;

/// Refuses what is inconsistent in `group`, the scenario's group number `index`.
pub(super) fn consistent(
    look: &mut ConsistencyCheck<'_, '_>,
    scenario: &Scenario,
    group: &Group,
    index: usize,
) {
    let mut one = OneGroup { look, scenario, group, index };
    let (first, last) = group.start.range();
    let last = last.unwrap_or(first);
    let by_start = matches!(group.when(), When::Start | When::Lives);
    one.hosts();
    if by_start {
        one.start(last);
    }
    one.params();
    one.times();
    one.source();
    one.calls();
    one.lives();
    if by_start {
        one.stop(last);
    }
    one.ends();
}

/// Refuses what keeps the flows of `group` from having a place and a route.
pub(super) fn laid_out(
    look: &mut ConsistencyCheck<'_, '_>,
    scenario: &Scenario,
    group: &Group,
    index: usize,
) {
    let mut one = OneGroup { look, scenario, group, index };
    one.hosts();
    one.ends();
}

struct OneGroup<'l, 'r, 'd> {
    look: &'l mut ConsistencyCheck<'r, 'd>,
    scenario: &'l Scenario,
    group: &'l Group,
    index: usize,
}

impl OneGroup<'_, '_, '_> {
    /// Where `key` stands: by number, since names may be the mistake.
    fn at(&self, key: &str) -> String {
        format!("group.#{}.{key}", self.index + 1)
    }

    fn is_written(&self, key: &str) -> bool {
        find(self.look.root, &self.at(key)).is_some()
    }

    fn refuse(&mut self, key: &str, why: impl Into<String>) {
        let (origin, value) = locate(self.look.root, &self.at(key));
        let field = format!("group.{}.{key}", self.group.name);
        self.look.reader.problem(origin, &field, &value, why);
    }

    fn hosts(&mut self) {
        if self.group.hosts > self.group.count {
            self.refuse(
                "hosts",
                format!("cannot be more than the flows, count = {}", self.group.count),
            );
        } else if self.group.count.div_ceil(self.group.hosts) > CONNECTION_LIMIT {
            self.refuse(
                "hosts",
                format!(
                    "a host has at most {CONNECTION_LIMIT} connections; count = {}",
                    self.group.count
                ),
            );
        }
    }

    fn start(&mut self, last: Span) {
        if last >= self.scenario.run.duration {
            self.refuse(
                "start",
                format!("must be before the end, run.duration = {}", self.scenario.run.duration),
            );
        }
    }

    /// The simulator has the last word on a source's parameters among themselves.
    fn params(&mut self) {
        if let Err(error) = lowered(&self.group.source).check() {
            let key = match error.field.as_str() {
                // A call is on while its caller talks.
                "on" if matches!(self.group.source, Source::Voip(_)) => "talk",
                "segment" => "packet",
                "receiver_window" => "window",
                "flavor" => "loss_recovery",
                other => other,
            };
            self.refuse(key, format!("{}: {}", error.value, error.why));
        }
    }

    /// What these keys would say, something else says.
    fn times(&mut self) {
        let (others, why): (&[&str], _) = match self.group.when() {
            When::Start => (&[], ""),
            When::Active => (
                &["start", "stop"],
                "cannot be given beside active, which says when the flows start and stop",
            ),
            When::Lives => (
                &["active"],
                "cannot be given beside on and off, which say when the flows are active",
            ),
            When::Calls => (
                &["start", "stop", "active"],
                "cannot be given beside erlangs: calls come and go by themselves",
            ),
        };
        for key in others {
            if self.is_written(key) {
                self.refuse(key, why);
            }
        }
    }

    fn source(&mut self) {
        let group = self.group;
        let endless = |connection: &Connection| connection.tcp.data == Data::Endless;
        if matches!(&group.source, Source::Finite(connection) if endless(connection)) {
            self.refuse(
                "data",
                "must be an amount, as in \"5 MB\"; what never ends is source = \"newreno\"",
            );
        }
        if matches!(group.source, Source::Tfrc(_)) && group.active.count() > 1 {
            self.refuse("active", "a tfrc flow has one period only; it cannot start again");
        }
        self.follows();
        self.forge();
        self.receiver();
        if let Source::Replay(_, arrivals) = &group.source
            && group.count as usize > arrivals.flows.len()
        {
            self.refuse(
                "count",
                format!("is more than the capture's flows, {}", arrivals.flows.len()),
            );
        }
    }

    /// Who follows a window needs a group that has one.
    fn follows(&mut self) {
        let Source::Following(source) = &self.group.source else { return };
        let name = &source.follows.0;
        let groups = &self.scenario.groups;
        let Some(target) = groups.iter().find(|group| group.name == *name) else {
            let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
            let near = crate::nearest::did_you_mean(name, &names).unwrap_or_default();
            return self.refuse("follows", format!("there is no group `{name}`{near}"));
        };
        if *name == self.group.name {
            self.refuse("follows", "a group cannot follow itself");
        } else if target.source.tcp().is_none() || !target.source.heeds_loss() {
            let what = target.source.name();
            let why =
                format!("must be a group of TCP with a congestion window; `{name}` is {what}");
            self.refuse("follows", why);
        }
    }

    /// A receiver that hides marks needs marks, and only one that multiplies acknowledgements needs
    /// a number of them.
    fn receiver(&mut self) {
        let Some(tcp) = self.group.source.tcp() else { return };
        if tcp.receiver == Acks::HideMarks && tcp.ecn == EcnUse::Off {
            self.refuse("receiver", "hides marks, which no packet here can bear: set ecn = \"on\"");
        }
        let plain = matches!(tcp.receiver, Acks::Honest | Acks::HideMarks);
        if plain && tcp.receiver_acks != Tcp::default().receiver_acks {
            let why = "is for a receiver that divides, repeats or anticipates acknowledgements";
            self.refuse("receiver_acks", why);
        }
    }

    /// Who forges users' keys needs users, and who forges none has none to change.
    fn forge(&mut self) {
        let Some((forge, keep)) = self.group.source.forges() else { return };
        let users = self.scenario.groups.iter().any(|group| group.source.heeds_loss());
        if matches!(forge, Forge::Victims | Forge::Colliding) && !users {
            self.refuse("forge", "there is nobody to forge: no group heeds losses");
        }
        if forge == Forge::Off && keep > Span::ZERO {
            self.refuse("new_key", "says nothing without forge");
        }
    }

    /// Voice makes no more calls than can be simulated.
    fn calls(&mut self) {
        let Source::Voip(voip) = &self.group.source else { return };
        let mean = voip.call.law.mean() / 1e9;
        let calls = voip.erlangs * (1.0 + self.scenario.run.duration.as_secs() / mean);
        if mean.is_infinite() && voip.erlangs > 0.0 {
            self.refuse("call", "has no mean, so that no rate of calls makes so many at a time");
        } else if calls > CALL_LIMIT {
            self.refuse(
                "erlangs",
                format!("makes about {calls:.1e} calls; at most {CALL_LIMIT:.0e} can be"),
            );
        }
    }

    /// Flows that come and go make no more connections than can be simulated.
    fn lives(&mut self) {
        let Source::Unresponsive(lives, _) = &self.group.source else { return };
        let mean = (lives.on.law.mean() + lives.off.law.mean()) / 1e9;
        let times = self.group.count as f64 * self.scenario.run.duration.as_secs() / mean;
        if times > CALL_LIMIT {
            self.refuse(
                "on",
                format!("makes about {times:.1e} connections; at most {CALL_LIMIT:.0e} can be"),
            );
        }
    }

    fn stop(&mut self, last: Span) {
        if let Some(stop) = self.group.stop.filter(|stop| *stop <= last) {
            self.refuse("stop", format!("{stop} is not after the start, {last}"));
        }
    }

    fn ends(&mut self) {
        let group = self.group;
        match &self.scenario.network {
            Network::Dumbbell(..) => {
                for key in ["from", "to"].into_iter().filter(|key| !ends(group, key).is_empty()) {
                    let why = "is for [network] kind = \"graph\"; in a dumbbell flows go from left \
                               to right";
                    self.refuse(key, why);
                }
            }
            Network::Graph(graph) => {
                for (key, why) in route_problems(graph, group) {
                    self.refuse(key, why);
                }
            }
        }
    }
}

fn ends<'g>(group: &'g Group, key: &str) -> &'g [String] {
    if key == "from" { &group.from } else { &group.to }
}

/// What is wrong with the ends of a group's flows, by key.
fn route_problems(graph: &Graph, group: &Group) -> Vec<(&'static str, String)> {
    let nodes: Vec<&str> =
        graph.links.iter().flat_map(|l| [l.from.as_str(), l.to.as_str()]).collect();
    let mut found = vec![];
    for key in ["from", "to"] {
        let names = ends(group, key);
        if names.is_empty() {
            found.push((key, "this key is required in a graph: a node or a list of nodes".into()));
        }
        for name in names.iter().filter(|name| !nodes.contains(&name.as_str())) {
            let near = crate::nearest::did_you_mean(name, &nodes).unwrap_or_default();
            found.push((key, format!("no link ends at a node `{name}`{near}")));
        }
    }
    if !found.is_empty() {
        return found;
    }
    if let Some(both) = group.from.iter().find(|name| group.to.contains(name)) {
        return vec![(
            "to",
            format!("`{both}` is in from and in to; a flow cannot end where it begins"),
        )];
    }
    let Some(reached) = group.from.first().map(|start| component(graph, start)) else {
        return found;
    };
    let outside =
        |names: &[String]| names.iter().find(|name| !reached.contains(&name.as_str())).cloned();
    match (outside(&group.from), outside(&group.to)) {
        (Some(name), _) => {
            vec![("from", format!("no links lead from `{name}` to the other nodes named"))]
        }
        (_, Some(name)) => {
            vec![("to", format!("no links lead from `{}` to `{name}`", group.from[0]))]
        }
        _ => found,
    }
}

/// The nodes that can be reached from `start`.
fn component<'g>(graph: &'g Graph, start: &'g str) -> Vec<&'g str> {
    let mut reached = vec![start];
    let mut next = 0;
    while next < reached.len() {
        let here = reached[next];
        next += 1;
        for link in &graph.links {
            for (a, b) in [(&link.from, &link.to), (&link.to, &link.from)] {
                if a == here && !reached.contains(&b.as_str()) {
                    reached.push(b);
                }
            }
        }
    }
    reached
}
