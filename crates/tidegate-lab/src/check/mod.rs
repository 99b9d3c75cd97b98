//! What a reader of a scenario would work out by hand: products of rate and delay, shares, loads.
mod text;

use tidegate::config::Params;
use tidegate::parts::spread::sharing;
use tidegate::{Bytes, Link, Rate, Seed, Size, Span};
use tidegate_report::Overload;

use crate::layout::{Load, PlannedFlow, SeedPlan, base_round_trips, mean_round_trip};
use crate::problem::Problems;
use crate::replication::{BYTES_PER_FLOW_KEPT, stats, values};
use crate::scenario::{Group, ManagedLink, Medium, Network, Scenario, Source};
use crate::spec::QueueSpec;

/// Simulator events for each packet and link it crosses: 0.22 to 0.45 in the shipped scenarios and
/// chan2003's mix.
const EVENTS_PER_HOP: f64 = 0.3;
/// Seconds for one event on one core of a two-core virtual machine of 2026: 76 to 150 ns there.
const SECONDS_PER_EVENT: f64 = 120e-9;
/// Seconds to lay out one flow and to take its figures, on the same machine: 5 to 7 us with 10^4 to
/// 3·10^5 flows.
const SECONDS_PER_FLOW: f64 = 7e-6;
/// Bytes that one flow takes while its replication runs: 4.4 kB with 10^4 to 3·10^5 flows, TCP or
/// not.
const BYTES_PER_FLOW: f64 = 4400.0;
/// Bytes that the program takes without any flow.
const BYTES_TO_BEGIN: f64 = 5e6;

/// What follows from a scenario. [`Display`](std::fmt::Display) writes it as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The scenario's name.
    pub scenario: String,
    /// Number of flows.
    pub flows: u64,
    /// The watched link's rate.
    pub rate: Rate,
    /// Its queue's hard limit.
    pub limit: Size,
    /// The limit in mean packets.
    pub limit_packets: f64,
    /// How long a full queue takes to drain.
    pub limit_delay: Span,
    /// Mean base RTT of the responsive flows, or of all if none is: `rtt` in a scenario.
    pub mean_rtt: Span,
    /// Rate times that: what the path itself holds, and `bdp` in a scenario.
    pub bdp: Bytes,
    /// Least and greatest base RTT (empty queues, one packet's times on the wire included) over
    /// the flows.
    pub base_rtt: (Span, Span),
    /// What each group asks for and what it would get if all were fair.
    pub groups: Vec<GroupCheck>,
    /// Links without a queue that cannot carry what fixed-rate sources offer them.
    pub overloads: Vec<Overload>,
    /// What is left out of the captures that groups replay.
    pub skipped: Vec<String>,
    /// The managed links of a graph; empty for a dumbbell that has the one.
    pub links: Vec<LinkCheck>,
    /// What links do besides carrying packets at their rate: each value that is not the default,
    /// with its path in the scenario.
    pub besides: Vec<(String, String)>,
    /// The queues on the watched link: the one that `run` takes, then those that `compare` takes.
    pub queues: Vec<QueueCheck>,
    /// Simulator events of one replication, estimated.
    pub events: f64,
    /// Replications of all the queues that are compared, or of the one that is run.
    pub replications: u64,
    /// How many of them run at once on this machine.
    pub at_once: u64,
    /// Time for one replication on an idle core, in seconds, estimated.
    pub replication_s: f64,
    /// Time for all replications on this machine, idle, in seconds, estimated.
    pub wall_s: f64,
    /// Memory for the replications that run at once, in bytes, estimated.
    pub memory_bytes: f64,
    /// Memory besides for each flow's figures, if the result has them, in bytes, estimated.
    pub flows_bytes: f64,
}

/// A managed link of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkCheck {
    /// Its ends, as in `A->B`.
    pub name: String,
    /// Its rate.
    pub rate: Rate,
    /// Its queue's hard limit.
    pub limit: Size,
    /// The queue that stays there; `None` for whichever is tried.
    pub queue: Option<String>,
    /// Whether its figures are reported.
    pub watched: bool,
}

/// What follows for one group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupCheck {
    /// Its name.
    pub name: String,
    /// Number of flows.
    pub count: u32,
    /// Offered load of all its flows, for sources with a fixed rate.
    pub offered: Option<Rate>,
    /// What of it can arrive at the queue, or at the flows' ends where they meet none: no more
    /// than the links before carry.
    pub arrives: Option<Rate>,
    /// Least and greatest base RTT over its flows.
    pub base_rtt: (Span, Span),
    /// Max-min fair share of one of its flows (the mean over them), known demands counted.
    pub fair_share: Rate,
}

/// What follows for one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueCheck {
    /// What it is called.
    pub label: String,
    /// Its name in the catalog.
    pub name: String,
    /// Its preset.
    pub preset: String,
    /// Every parameter with its value as text.
    pub params: Vec<(String, String)>,
    /// State besides the waiting packets, in bytes.
    pub state_bytes: u64,
    /// How likely a flow has to share its place while all flows are busy; `None` where the queue
    /// deals no places.
    pub sharing: Option<f64>,
}

/// Derives what follows from `scenario` with `queues` (the scenario's own and those it compares
/// when empty), for its first seed.
///
/// # Errors
/// A queue that does not exist, whose parameters cannot be on this link, or that is there twice; a
/// watched link that keeps its own.
pub fn check(scenario: &Scenario, queues: &[QueueSpec]) -> Result<Check, Problems> {
    let link = scenario.bottleneck();
    scenario.open_to(queues)?;
    let own = scenario.own_queue();
    let tried = match (queues, scenario.compare.as_slice()) {
        ([], []) => std::slice::from_ref(own),
        ([], compared) => compared,
        (given, _) => given,
    };
    let alone = (queues.is_empty() && !tried.contains(own)).then_some(own);
    let rows = alone
        .into_iter()
        .chain(tried)
        .map(|spec| queue_check(spec, &link, scenario.flows()))
        .collect::<Result<Vec<_>, _>>()?;
    let plan = SeedPlan::new(scenario, Seed::new(scenario.run.seed));
    let shares = plan.fair_shares(scenario);
    let rtts = base_round_trips(scenario, &plan);
    let load = Load::of(scenario, &plan);
    let groups = group_checks(scenario, &plan, &shares, &rtts, &load);
    let mean_rtt = mean_round_trip(scenario, &plan, &rtts);
    let events = events(scenario, &plan, &shares);
    let replications = tried.len() as u64 * scenario.run.seeds as u64;
    let at_once = processors().min(replications);
    let flows = scenario.flows() as f64;
    let replication_s = events * SECONDS_PER_EVENT + flows * SECONDS_PER_FLOW;
    let state = rows.iter().map(|row| row.state_bytes).max().unwrap_or(0) as f64;
    Ok(Check {
        scenario: scenario.name.clone(),
        flows: scenario.flows(),
        rate: link.rate,
        limit: link.limit,
        limit_packets: link.limit_packets(),
        limit_delay: link.rate.time_to_send(Bytes::new(link.limit.in_bytes(link.mean_packet))),
        mean_rtt,
        bdp: link.rate.bytes_in(mean_rtt),
        base_rtt: spread(rtts.iter().copied()),
        groups,
        overloads: load.overloads,
        skipped: skipped(scenario),
        links: links(scenario),
        besides: besides(scenario),
        queues: rows,
        events,
        replications,
        at_once,
        replication_s,
        wall_s: replication_s * replications.div_ceil(at_once.max(1)) as f64,
        memory_bytes: BYTES_TO_BEGIN + at_once as f64 * (flows * BYTES_PER_FLOW + state),
        flows_bytes: replications as f64 * flows * BYTES_PER_FLOW_KEPT,
    })
}

/// What is left out of the captures that the groups of `scenario` replay, because its link type
/// cannot be read.
pub fn skipped(scenario: &Scenario) -> Vec<String> {
    let skipped = |group: &Group| match &group.source {
        Source::Replay(_, arrivals) if arrivals.skipped.packets() > 0 => {
            Some(format!("capture of group `{}`: {}", group.name, arrivals.skipped))
        }
        _ => None,
    };
    scenario.groups.iter().filter_map(skipped).collect()
}

/// How many replications this machine runs at once.
fn processors() -> u64 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u64)
}

/// What links do besides carrying packets, where it is not the default.
fn besides(scenario: &Scenario) -> Vec<(String, String)> {
    let usual = Medium::default();
    let mut besides = vec![];
    for of in scenario.media() {
        for param in Medium::PARAMS {
            let value = of.medium.get(param.name).unwrap_or_default();
            if usual.get(param.name).as_ref() != Some(&value) {
                besides.push((format!("{}.{}", scenario.path(&of), param.name), value));
            }
        }
    }
    besides
}

/// The managed links of a network that has more than a dumbbell's one, with the queues that stay
/// there.
fn links(scenario: &Scenario) -> Vec<LinkCheck> {
    let shared = scenario.watched_queue.as_ref().map(|_| &scenario.queue);
    let managed = scenario.managed();
    if matches!(scenario.network, Network::Dumbbell(..)) && managed.len() == 1 {
        return vec![];
    }
    let link = |managed: ManagedLink<'_>| LinkCheck {
        name: managed.name,
        rate: managed.link.rate,
        limit: managed.link.limit,
        queue: managed.queue.or(shared).map(QueueSpec::label),
        watched: managed.watched,
    };
    managed.into_iter().map(link).collect()
}

fn queue_check(spec: &QueueSpec, link: &Link, flows: u64) -> Result<QueueCheck, Problems> {
    let config = spec.possible(link).map_err(|error| spec.refused(error))?;
    Ok(QueueCheck {
        label: spec.label(),
        name: spec.name.clone(),
        preset: spec.preset().into(),
        params: values(&config),
        state_bytes: config.state_bytes(link),
        sharing: config.hash_table().map(|table| sharing(table.buckets, table.ways, flows)),
    })
}

fn group_checks(
    scenario: &Scenario,
    plan: &SeedPlan,
    shares: &[f64],
    rtts: &[Span],
    load: &Load,
) -> Vec<GroupCheck> {
    let check = |(index, group): (usize, &Group)| {
        let members = || {
            plan.flows
                .iter()
                .enumerate()
                .filter(move |(_, f)| f.group as usize == index)
                .map(|(i, _)| i)
        };
        let share = stats::mean(&members().map(|i| shares[i]).collect::<Vec<_>>()).unwrap_or(0.0);
        let all = |rate: Rate| Rate::from_bps(rate.as_bps().saturating_mul(group.count as u64));
        let offered = group.demand(scenario.run.duration).map(all);
        GroupCheck {
            name: group.name.clone(),
            count: group.count,
            offered,
            arrives: offered.map(|_| {
                Rate::from_bps(members().filter_map(|i| load.arrives[i]).sum::<f64>() as u64)
            }),
            base_rtt: spread(members().map(|i| rtts[i])),
            fair_share: Rate::from_bps(share as u64),
        }
    };
    scenario.groups.iter().enumerate().map(check).collect()
}

fn spread(spans: impl Iterator<Item = Span>) -> (Span, Span) {
    spans
        .fold(None, |seen, span| {
            seen.map_or(Some((span, span)), |(a, b): (Span, Span)| Some((a.min(span), b.max(span))))
        })
        .unwrap_or_default()
}

/// Every packet of every flow crosses its links; TCP's share is acknowledged the same way back.
fn events(scenario: &Scenario, plan: &SeedPlan, shares: &[f64]) -> f64 {
    let mut routes = plan.routes();
    let seconds = scenario.run.duration.as_secs();
    let packets = |(flow, share): (&PlannedFlow, &f64)| {
        let hops = routes.path(flow.from, flow.to).len() as f64;
        let group = &scenario.groups[flow.group as usize];
        let bits = match group.demand(scenario.run.duration) {
            None => 2.0 * share,
            Some(rate) => rate.as_bps() as f64,
        };
        hops * bits * seconds / group.source.packet().bits() as f64
    };
    plan.flows.iter().zip(shares).map(packets).sum::<f64>() * EVENTS_PER_HOP
}
