//! Which flow keys offenders forge.
use std::collections::BTreeSet;
use std::sync::Arc;

use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::{Link, Packet, Seed};
use tidegate_packet::{Ends, FlowHasher, FlowKey};
use tidegate_sim::{Forge as SimForge, ForgedKeys};

use super::network::{mean_packet, queue_dice};
use super::{GroupLayout, SeedPlan};
use crate::scenario::{Forge, Group, Scenario};

/// The most keys that one group has found to collide with users', and how many it tries.
const COLLISIONS: usize = 1024;
const TRIES: usize = 4_000_000;
/// Of prefixes up to so many bits there are so few that each is a flow of its own.
const FEW: u8 = 16;

/// What the flows of each group of `plan` forge; `watched` is the queue at the watched link, if it
/// is of the catalog.
pub(crate) fn forged(
    scenario: &Scenario,
    plan: &SeedPlan,
    seed: Seed,
    watched: Option<&AnyConfig>,
) -> Vec<Option<SimForge>> {
    let hasher = FlowHasher::seeded(scenario.run.flow_key.0, seed);
    let of = |(index, group): (usize, &Group)| {
        let (forge, keep) = group.source.forges()?;
        let layout = GroupLayout { scenario, group, index: index as u32, seed, hasher: &hasher };
        let keys = match forge {
            Forge::Off => None,
            Forge::Random => forged_sources(&hasher),
            Forge::Ports => forged_ports(&hasher),
            Forge::Of(number) => Some(among(made_up(&layout, number))),
            Forge::Victims => Some(among(victims(scenario, plan))),
            Forge::Colliding => Some(colliding(&layout, plan, watched)),
        };
        keys.map(|keys| SimForge { keys, keep })
    };
    scenario.groups.iter().enumerate().map(of).collect()
}

/// The keys of users' flows: of those that heed losses.
fn victims(scenario: &Scenario, plan: &SeedPlan) -> Vec<u64> {
    let user = |group: u32| scenario.groups[group as usize].source.heeds_loss();
    let users = plan.flows.iter().filter(|flow| user(flow.group));
    users.map(|flow| flow.key).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Keys that the watched queue puts to users' places: all places of each are those of some user.
/// The same dice build the same queue, which is what an attacker can do who knows its secret at the
/// start. A queue that has no places for flows has no collisions either: there any key is as good.
fn colliding(layout: &GroupLayout<'_>, plan: &SeedPlan, watched: Option<&AnyConfig>) -> ForgedKeys {
    let Some(twin) = watched.and_then(|config| Twin::new(layout, plan, config)) else {
        return ForgedKeys::Fresh;
    };
    let mut places = vec![];
    let taken = twin.all_places(victims(layout.scenario, plan));
    if taken.is_empty() {
        return ForgedKeys::Fresh;
    }
    let mut dice = layout.dice("collide", 0);
    let tried = (0..TRIES).map(|_| dice.bits());
    let hits = tried.filter(|key| {
        twin.places(*key, &mut places);
        places.iter().all(|place| taken.contains(place))
    });
    let keys: Vec<u64> = hits.take(COLLISIONS).collect();
    if keys.is_empty() { ForgedKeys::Fresh } else { among(keys) }
}

/// The watched queue as it will be.
struct Twin {
    queue: AnyQueue,
    /// How many of its places make a set: within one it chooses a place that is free.
    ways: usize,
}

impl Twin {
    fn new(layout: &GroupLayout<'_>, plan: &SeedPlan, config: &AnyConfig) -> Option<Twin> {
        let wire = &plan.wires[plan.watched as usize];
        let mean_packet = mean_packet(layout.scenario);
        let link = Link { rate: wire.rate, limit: wire.limit?, mean_packet };
        let ways = config.hash_table().map_or(1, |table| table.ways as usize);
        let dice = queue_dice(plan, plan.watched as usize, layout.seed);
        Some(Twin { queue: config.build(link, dice).ok()?, ways })
    }

    /// The places of all flows `keys`.
    fn all_places(&self, keys: Vec<u64>) -> BTreeSet<usize> {
        let mut places = vec![];
        let of = |key| {
            self.places(key, &mut places);
            places.clone()
        };
        keys.into_iter().flat_map(of).collect()
    }

    /// Makes `to` the sets of places where the empty queue puts the flow `key`, or counts it: one
    /// on each level; none where there are no places.
    fn places(&self, key: u64, to: &mut Vec<usize>) {
        to.clear();
        let packet = Packet::new(key, 1000);
        match &self.queue {
            AnyQueue::FqCodel(queue) => to.push(queue.queue_of(key)),
            AnyQueue::FqPie(queue) => to.push(queue.queue_of(key)),
            AnyQueue::Cake(queue) => to.push(queue.queue_of(&packet)),
            AnyQueue::Sfq(queue) => to.push(queue.bin_of(&packet)),
            AnyQueue::SfqRed(queue) => to.push(queue.bin_of(key)),
            AnyQueue::Drr(queue) => to.push(queue.class_of(&packet)),
            AnyQueue::Wfq(queue) => to.push(queue.class_of(&packet)),
            AnyQueue::Ewfq(queue) => to.push(queue.class_of(&packet)),
            AnyQueue::BcPqp(queue) => to.push(queue.policy().class_of(&packet)),
            AnyQueue::Sfb(queue) => to.extend(queue.policy().places_of(key)),
            AnyQueue::Sfred(queue) => to.extend(queue.policy().places_of(key)),
            AnyQueue::Hhf(queue) => to.extend(queue.places_of(key)),
            AnyQueue::Afq(queue) => to.extend(queue.places_of(key)),
            AnyQueue::Tide(queue) => to.extend(queue.rule().places_of(&packet)),
            _ => {}
        }
        to.iter_mut().for_each(|place| *place /= self.ways);
    }
}

fn among(keys: Vec<u64>) -> ForgedKeys {
    ForgedKeys::Among(Arc::from(keys))
}

/// What forged sources come to as flow keys; none where the key does not look at the source.
fn forged_sources(hasher: &FlowHasher) -> Option<ForgedKeys> {
    match hasher.key() {
        FlowKey::Destination => None,
        FlowKey::SourcePrefix(bits) if bits <= FEW => {
            let address = |prefix: u64| (prefix << (32 - bits as u32)) as u32;
            let of = |prefix| hasher.hash(&Ends::simulated(address(prefix), 0, 0, 0));
            Some(among((0..1u64 << bits).map(of).collect()))
        }
        _ => Some(ForgedKeys::Fresh),
    }
}

/// What new connections of one host come to as flow keys; none where the key does not look at
/// ports.
fn forged_ports(hasher: &FlowHasher) -> Option<ForgedKeys> {
    matches!(hasher.key(), FlowKey::FiveTuple).then_some(ForgedKeys::FreshOfOneHost)
}

/// The keys of `number` made-up source addresses to one server.
fn made_up(layout: &GroupLayout<'_>, number: u32) -> Vec<u64> {
    let mut dice = layout.dice("made up", 0);
    let mut ends = || Ends::simulated(dice.bits() as u32, 0x0b00_0001, 1024, 5001);
    (0..number).map(|_| layout.hasher.hash(&ends())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::catalog;
    use tidegate::units::{Rate, Size};

    const CROWD: &str = "[network]\nrate = \"10 Mbit/s\"\nlimit = \"125 kB\"\n\
        [[group]]\nname = \"users\"\nsource = \"sack\"\ncount = 10\n\
        [[group]]\nname = \"flood\"\nsource = \"cbr\"\nrate = \"1 Mbit/s\"\nforge = \"colliding\"\n";

    #[test]
    fn who_knows_the_secret_takes_users_places_alone() {
        let scenario = Scenario::parse(CROWD.as_bytes(), "s.toml", &[]).unwrap();
        let seed = Seed::new(3);
        let plan = SeedPlan::new(&scenario, seed);
        let hasher = FlowHasher::seeded(scenario.run.flow_key.0, seed);
        let group = &scenario.groups[1];
        let layout = GroupLayout { scenario: &scenario, group, index: 1, seed, hasher: &hasher };
        let link = Link {
            rate: Rate::from_bps(10_000_000),
            limit: Size::Bytes(125_000),
            mean_packet: mean_packet(&scenario),
        };
        for (name, set, levels) in [
            ("sfb", None, 2),
            ("sfred", None, 2),
            ("bc_pqp", None, 1),
            ("drr", None, 1),
            ("sfq", None, 1),
            // With as many as they have by default, no flow collides in all.
            ("hhf", Some(("counters", "32")), 4),
            ("afq", Some(("counters", "32")), 2),
            ("tide", Some(("cells", "32")), 4),
        ] {
            let mut config = catalog::config(name, None, &link).unwrap();
            if let Some((param, value)) = set {
                config.set(param, value).unwrap();
            }
            let twin = Twin::new(&layout, &plan, &config).unwrap();
            let users = twin.all_places(victims(&scenario, &plan));
            let mut places = vec![];
            let Some(SimForge { keys: ForgedKeys::Among(keys), .. }) =
                &forged(&scenario, &plan, seed, Some(&config))[1]
            else {
                panic!("{name}: nothing collides");
            };
            assert!(keys.len() > 20, "{name}: {}", keys.len());
            for key in keys.iter() {
                twin.places(*key, &mut places);
                assert!(
                    places.len() >= levels && places.iter().all(|p| users.contains(p)),
                    "{name}"
                );
            }
        }
    }
}
