//! Which flow keys offenders forge.
use std::collections::BTreeSet;
use std::sync::Arc;

use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::{Link, Packet, Seed};
use tidegate_packet::{Ends, FlowHasher, FlowKey};
use tidegate_sim::{Forge as SimForge, ForgedKeys};

use super::network::{mean_packet, queue_dice};
use super::{Layout, SeedPlan};
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
        let layout = Layout { scenario, group, index: index as u32, seed, hasher: &hasher };
        let keys = match forge {
            Forge::Off => None,
            Forge::Random => forged_sources(&hasher),
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

/// Keys that the watched queue puts to users'. The same dice build the same queue, which is what an
/// attacker can do who knows its secret. A queue that has no places for flows has no collisions
/// either: there any key is as good.
fn colliding(layout: &Layout<'_>, plan: &SeedPlan, watched: Option<&AnyConfig>) -> ForgedKeys {
    let Some((queue, ways)) = watched.and_then(|config| twin(layout, plan, config)) else {
        return ForgedKeys::Fresh;
    };
    let set = |key: u64| place(&queue, key).map(|place| place / ways);
    let taken: BTreeSet<usize> =
        victims(layout.scenario, plan).into_iter().filter_map(set).collect();
    if taken.is_empty() {
        return ForgedKeys::Fresh;
    }
    let mut dice = layout.dice("collide", 0);
    let tried = (0..TRIES).map(|_| dice.bits());
    let hits = tried.filter(|key| set(*key).is_some_and(|set| taken.contains(&set)));
    let keys: Vec<u64> = hits.take(COLLISIONS).collect();
    if keys.is_empty() { ForgedKeys::Fresh } else { among(keys) }
}

/// The watched queue as it will be, and how many of its places make a set.
fn twin(layout: &Layout<'_>, plan: &SeedPlan, config: &AnyConfig) -> Option<(AnyQueue, usize)> {
    let wire = &plan.wires[plan.watched as usize];
    let mean_packet = mean_packet(layout.scenario);
    let link = Link { rate: wire.rate, limit: wire.limit?, mean_packet };
    let ways = config.hash_table().map_or(1, |table| table.ways as usize);
    let dice = queue_dice(plan, plan.watched as usize, layout.seed);
    Some((config.build(link, dice).ok()?, ways))
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

/// The keys of `number` made-up source addresses to one server.
fn made_up(layout: &Layout<'_>, number: u32) -> Vec<u64> {
    let mut dice = layout.dice("made up", 0);
    let mut ends = || Ends::simulated(dice.bits() as u32, 0x0b00_0001, 1024, 5001);
    (0..number).map(|_| layout.hasher.hash(&ends())).collect()
}

/// Where an empty queue puts the flow `key`; `None` where there are no places.
fn place(queue: &AnyQueue, key: u64) -> Option<usize> {
    let packet = Packet::new(key, 1000);
    match queue {
        AnyQueue::FqCodel(queue) => Some(queue.queue_of(key)),
        AnyQueue::FqPie(queue) => Some(queue.queue_of(key)),
        AnyQueue::Cake(queue) => Some(queue.queue_of(&packet)),
        AnyQueue::Sfq(queue) => Some(queue.bin_of(&packet)),
        AnyQueue::SfqRed(queue) => Some(queue.bin_of(key)),
        AnyQueue::Drr(queue) => Some(queue.class_of(&packet)),
        AnyQueue::Wfq(queue) => Some(queue.class_of(&packet)),
        AnyQueue::Ewfq(queue) => Some(queue.class_of(&packet)),
        _ => None,
    }
}
