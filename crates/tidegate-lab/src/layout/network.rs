//! From a laid-out scenario to the simulator's network.
use tidegate::{Bytes, ConfigError, Link, Rate, Rng, Seed, Span};
use tidegate_sim as sim;

use super::SeedPlan;
use crate::scenario::{Following, Medium, Network, Scenario, Source, lower_following, lowered};

/// The network of `plan`, its managed links with queues that `queue` builds: asked in order, with
/// the number of each among them.
///
/// # Errors
/// A queue that cannot be built.
pub(crate) fn network<Q>(
    scenario: &Scenario,
    plan: &SeedPlan,
    seed: Seed,
    forged: &[Option<sim::Forge>],
    queue: impl Fn(usize, Link, Rng) -> Result<Q, ConfigError>,
) -> Result<sim::Network<Q>, ConfigError> {
    let mut network = sim::Network::new();
    let name = |node: u32| plan.nodes.get(node as usize).map_or("", String::as_str);
    let nodes: Vec<sim::NodeId> =
        (0..plan.node_count).map(|node| network.node(name(node))).collect();
    let mean_packet = mean_packet(scenario);
    let mut managed = 0;
    for (index, wire) in plan.wires.iter().enumerate() {
        let (from, to) = (nodes[wire.from as usize], nodes[wire.to as usize]);
        let Some(limit) = wire.limit else {
            // Links that cannot drop have no figures, and so need no name.
            network.link("", from, to, wire.rate, wire.delay);
            continue;
        };
        let link = Link { rate: wire.rate, limit, mean_packet };
        let queue = queue(managed, link, queue_dice(plan, index, seed))?;
        managed += 1;
        let id = network.queue(label(plan, index), (from, to), wire.rate, wire.delay, queue);
        network.limit(id, limit);
        if let Some(medium) = &wire.medium {
            network.medium(id, (**medium).clone());
        }
    }
    let groups: Vec<_> = scenario.groups.iter().map(|group| network.group(&group.name)).collect();
    let sources: Vec<_> = scenario.groups.iter().map(|group| lowered(&group.source)).collect();
    let mut within = vec![0; groups.len()];
    for flow in &plan.flows {
        let index = within[flow.group as usize];
        within[flow.group as usize] += 1;
        let id = network.flow(sim::Flow {
            group: groups[flow.group as usize],
            from: nodes[flow.from as usize],
            to: nodes[flow.to as usize],
            key: flow.key,
            class: scenario.groups[flow.group as usize].class.of(index),
            start: flow.start,
            stop: flow.stop,
            source: match own_source(scenario, flow.group as usize, index) {
                Some(source) => source,
                None => with_data(&sources[flow.group as usize], flow.data),
            },
        });
        network.dscp(id, scenario.groups[flow.group as usize].dscp as u8);
        if let Some(Some(forge)) = forged.get(flow.group as usize) {
            network.forge(id, forge.clone());
        }
        if !flow.again.is_empty() {
            network.again(id, flow.again.clone());
        }
    }
    Ok(network)
}

/// The source of flow `index` of the group number `group`, if each flow has another.
fn own_source(scenario: &Scenario, group: usize, index: usize) -> Option<sim::Source> {
    let group = &scenario.groups[group];
    match &group.source {
        Source::Replay(_, arrivals) => {
            let arrivals = arrivals.of(index, group.count as usize);
            Some(sim::Source::Replay(tidegate_sim::sources::Replay { arrivals }))
        }
        Source::Following(source) => following(scenario, source, index),
        _ => None,
    }
}

/// The source of flow `index` of a group that follows another one. Flows are in the order of
/// groups.
fn following(scenario: &Scenario, source: &Following, index: usize) -> Option<sim::Source> {
    let groups = &scenario.groups;
    let place = groups.iter().position(|group| group.name == source.follows.0)?;
    let (before, target) = (&groups[..place], &groups[place]);
    let first: u32 = before.iter().map(|group| group.count).sum();
    let follows = sim::FlowId::nth(first + index as u32 % target.count);
    Some(sim::Source::Following(lower_following(source, follows, target.source.packet())))
}

/// What a link of `rate` does besides up to `end`, as the simulator has it; `None` for nothing.
pub(super) fn medium(
    medium: &Medium,
    rate: Rate,
    end: Span,
    dice: impl FnOnce() -> Rng,
) -> Option<Box<sim::Medium>> {
    let mut besides = sim::Medium::default();
    besides.capacity = medium.capacity.over(rate, end, dice);
    besides.loss = medium.loss.0;
    let law = &medium.jitter.law;
    if law.most() != Some(0) {
        besides.jitter = Some(sim::Jitter { law: law.clone(), reorder: medium.reorder });
    }
    besides.bleach = medium.bleach;
    (besides != sim::Medium::default()).then(|| Box::new(besides))
}

/// What the queue at wire number `index` is called, after its nodes.
fn label(plan: &SeedPlan, index: usize) -> String {
    let name = |node: u32| plan.nodes.get(node as usize).map_or("", String::as_str);
    let wire = &plan.wires[index];
    format!("{}->{}", name(wire.from), name(wire.to))
}

/// The dice of that queue: by its number, since two links may lie between the same nodes.
pub(super) fn queue_dice(plan: &SeedPlan, index: usize, seed: Seed) -> Rng {
    seed.stream(&format!("queue {index} {}", label(plan, index)))
}

pub(super) fn mean_packet(scenario: &Scenario) -> Bytes {
    match &scenario.network {
        Network::Dumbbell(dumbbell, _) => dumbbell.mean_packet,
        Network::Graph(graph) => graph.mean_packet,
    }
}

/// `source` with so much to send, rounded up to whole packets.
fn with_data(source: &sim::Source, data: Option<Bytes>) -> sim::Source {
    match (source.clone(), data) {
        (sim::Source::Tcp(tcp), Some(data)) => {
            let segments = data.get().div_ceil(tcp.segment.get()).clamp(1, u32::MAX as u64 - 2);
            sim::Source::Tcp(sim::Tcp { data: Some(segments as u32), ..tcp })
        }
        (source, _) => source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attackers_follow_the_flows_of_a_group_in_turn() {
        let text = "[network]\nrate = \"10 Mbit/s\"\nlimit = \"9 packets\"\n\
            [[group]]\nname = \"attack\"\nsource = \"following\"\nfollows = \"users\"\ncount = 5\n\
            rate = \"1 Mbit/s\"\nwindow = \"3 kB\"\n\
            [[group]]\nname = \"others\"\nsource = \"cbr\"\nrate = \"1 kbit/s\"\ncount = 3\n\
            [[group]]\nname = \"users\"\nsource = \"sack\"\npacket = \"500 B\"\ncount = 2\n";
        let scenario = Scenario::parse(text.as_bytes(), "s.toml", &[]).unwrap();
        let seed = Seed::new(1);
        let plan = SeedPlan::new(&scenario, seed);
        let network = network(&scenario, &plan, seed, &[], |_, _, _| Ok(())).unwrap();
        network.check().unwrap();
        let follows = |flow: &sim::Flow| match &flow.source {
            sim::Source::Following(source) => Some((source.follows.index(), source.window)),
            _ => None,
        };
        let follows: Vec<_> = network.flows().iter().filter_map(follows).collect();
        assert_eq!(follows, [8, 9, 8, 9, 8].map(|flow| (flow, 6.0)));
    }
}
