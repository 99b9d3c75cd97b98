//! What a reader of a scenario would work out by hand: products of rate and delay, shares, loads.
use std::fmt;

use tidegate::catalog::AnyConfig;
use tidegate::{Bytes, ConfigError, Link, Rate, Seed, Size, Span};

use crate::plan::Plan;
use crate::problem::{Place, Problem, Problems};
use crate::scenario::{Scenario, Source};
use crate::spec::QueueSpec;
use crate::stats;

/// Simulator events for each packet and link it crosses, measured on the shipped scenarios.
const EVENTS_PER_HOP: f64 = 1.0;
/// Seconds for one event on one core, measured on a two-core virtual machine of 2026.
const SECONDS_PER_EVENT: f64 = 60e-9;

/// What follows from a scenario. [`Display`](fmt::Display) writes it as text.
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
    /// Rate times the mean base RTT over the flows: what the link itself holds.
    pub bdp: Bytes,
    /// Least and greatest base RTT (empty queues, one packet's times on the wire included) over the flows.
    pub base_rtt: (Span, Span),
    /// What each group asks for and what it would get if all were fair.
    pub groups: Vec<GroupCheck>,
    /// The queues on this link.
    pub queues: Vec<QueueCheck>,
    /// Simulator events of one replication, estimated.
    pub events: f64,
    /// Time for all replications of all queues on this machine, in seconds, estimated.
    pub wall_s: f64,
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
}

/// Derives what follows from `scenario` with `queues` (the scenario's own when empty), for its first seed.
///
/// # Errors
/// A queue that does not exist, or whose parameters cannot be on this link.
pub fn check(scenario: &Scenario, queues: &[QueueSpec]) -> Result<Check, Problems> {
    let link = scenario.bottleneck();
    let own = [scenario.queue.clone()];
    let queues = if queues.is_empty() { &own[..] } else { queues };
    QueueSpec::distinct(queues).map_err(|(spec, error)| refused(spec, error))?;
    let rows = queues.iter().map(|spec| queue_check(spec, &link)).collect::<Result<Vec<_>, _>>()?;
    let plan = Plan::new(scenario, Seed::new(scenario.run.seed));
    let shares = plan.fair_shares(scenario);
    let rtts = base_rtts(scenario, &plan);
    let groups = group_checks(scenario, &plan, &shares, &rtts);
    let mean_rtt = rtts.iter().map(|rtt| rtt.as_secs()).sum::<f64>() / rtts.len().max(1) as f64;
    let events = events(scenario, &plan, &shares);
    let cells = queues.len() as f64 * scenario.run.seeds as f64;
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get()) as f64;
    Ok(Check {
        scenario: scenario.name.clone(),
        flows: scenario.flows(),
        rate: link.rate,
        limit: link.limit,
        limit_packets: link.limit_packets(),
        limit_delay: link.rate.time_to_send(Bytes::new(link.limit.in_bytes(link.mean_packet))),
        bdp: Bytes::new((link.rate.as_bps() as f64 / 8.0 * mean_rtt) as u64),
        base_rtt: spread(rtts.iter().copied()),
        groups,
        queues: rows,
        events,
        wall_s: events * SECONDS_PER_EVENT * (cells / cores.min(cells)).ceil(),
    })
}

/// A queue that was refused, as a problem of the command line rather than of a file.
pub(crate) fn refused(spec: &QueueSpec, error: ConfigError) -> Problems {
    let place = Place::File(format!("queue {spec}"));
    Problems::one(Problem { place, field: error.field, value: error.value, why: error.why })
}

fn queue_check(spec: &QueueSpec, link: &Link) -> Result<QueueCheck, Problems> {
    let config = crate::scenario::possible(spec, link).map_err(|error| refused(spec, error))?;
    Ok(QueueCheck {
        label: spec.label(),
        name: spec.name.clone(),
        preset: spec.preset().into(),
        params: values(&config),
        state_bytes: config.state_bytes(link),
    })
}

/// Every parameter with its value as text.
pub(crate) fn values(config: &AnyConfig) -> Vec<(String, String)> {
    config.values().into_iter().map(|(param, value)| (param.name.to_string(), value)).collect()
}

fn base_rtts(scenario: &Scenario, plan: &Plan) -> Vec<Span> {
    let mut routes = plan.routes();
    let lengths = scenario.groups.iter().map(|group| match &group.source {
        Source::Tcp(tcp) => (tcp.packet, tcp.ack),
        Source::Cbr(cbr) => (cbr.packet, Bytes::new(40)), // nobody answers it; as if somebody did
    });
    let lengths: Vec<_> = lengths.collect();
    let rtt = |flow: &crate::plan::Flow| {
        let (there, back) = lengths[flow.group as usize];
        routes.base_rtt(flow, there, back)
    };
    plan.flows.iter().map(rtt).collect()
}

fn group_checks(scenario: &Scenario, plan: &Plan, shares: &[f64], rtts: &[Span]) -> Vec<GroupCheck> {
    let check = |(index, group): (usize, &crate::scenario::Group)| {
        let members = || plan.flows.iter().enumerate().filter(move |(_, f)| f.group as usize == index).map(|(i, _)| i);
        let share = stats::mean(&members().map(|i| shares[i]).collect::<Vec<_>>()).unwrap_or(0.0);
        let offered = match &group.source {
            Source::Tcp(_) => None,
            Source::Cbr(cbr) => Some(Rate::from_bps(cbr.rate.as_bps().saturating_mul(group.count as u64))),
        };
        GroupCheck {
            name: group.name.clone(),
            count: group.count,
            offered,
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
fn events(scenario: &Scenario, plan: &Plan, shares: &[f64]) -> f64 {
    let mut routes = plan.routes();
    let seconds = scenario.run.duration.as_secs();
    let packets = |(flow, share): (&crate::plan::Flow, &f64)| {
        let hops = routes.path(flow.from, flow.to).len() as f64;
        match &scenario.groups[flow.group as usize].source {
            Source::Tcp(tcp) => 2.0 * hops * share * seconds / tcp.packet.bits() as f64,
            Source::Cbr(cbr) => hops * cbr.rate.as_bps() as f64 * seconds / cbr.packet.bits() as f64,
        }
    };
    plan.flows.iter().zip(shares).map(packets).sum::<f64>() * EVENTS_PER_HOP
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} flows over {}", self.scenario, self.flows, self.rate)?;
        let range = |(low, high): (Span, Span)| match low == high {
            true => milli(low),
            false => format!("{} to {}", milli(low), milli(high)),
        };
        let packets = self.bdp.get() as f64 * self.limit_packets / self.limit_bytes().max(1.0);
        writeln!(f, "  base RTT        {}", range(self.base_rtt))?;
        writeln!(f, "  bandwidth-delay {} ({packets:.0} packets)", self.bdp)?;
        let (limit, drain) = (self.limit, milli(self.limit_delay));
        writeln!(
            f,
            "  queue limit     {limit} = {drain} = {:.1} × bandwidth-delay",
            self.limit_packets / packets.max(1e-9)
        )?;
        writeln!(f, "  groups")?;
        for group in &self.groups {
            let offered = group.offered.map_or_else(|| "all it gets".into(), |rate| format!("offers {}", mega(rate)));
            let (name, count, share) = (&group.name, group.count, mega(group.fair_share));
            writeln!(
                f,
                "    {name}: {count} flows, {offered}, fair share {share} each, RTT {}",
                range(group.base_rtt)
            )?;
        }
        writeln!(f, "  queues")?;
        for queue in &self.queues {
            let params: Vec<_> = queue.params.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            let params = if params.is_empty() { "no parameters".into() } else { params.join(", ") };
            writeln!(
                f,
                "    {} ({}/{}): {} of state; {params}",
                queue.label,
                queue.name,
                queue.preset,
                Bytes::new(queue.state_bytes)
            )?;
        }
        write!(f, "  about {:.1} million events a replication, {:.1} s for everything", self.events / 1e6, self.wall_s)
    }
}

impl Check {
    fn limit_bytes(&self) -> f64 {
        self.rate.as_bps() as f64 / 8.0 * self.limit_delay.as_secs()
    }
}

fn milli(span: Span) -> String {
    format!("{:.1} ms", span.as_millis())
}

fn mega(rate: Rate) -> String {
    format!("{:.3} Mbit/s", rate.as_bps() as f64 / 1e6)
}
