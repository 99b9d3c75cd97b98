//! A scenario laid out for one seed: every host, link and flow, with the dice rolled that belong to
//! the traffic.
mod calls;
mod forge;
mod lives;
mod load;
mod network;
mod round_trip;
mod routes;
mod shares;
mod wire;

use std::collections::{BTreeMap, BTreeSet};

use tidegate::{Bytes, Rate, Rng, Seed, Span, Time};
use tidegate_packet::{Ends, FlowHasher};
use tidegate_sim::FairShare;
use tidegate_sim::sources::Period;

use self::calls::Calls;
pub(crate) use self::forge::forged;
use self::lives::lives;
pub(crate) use self::load::Load;
pub use self::load::overloads;
pub(crate) use self::network::network;
pub(crate) use self::round_trip::{base_round_trips, mean_round_trip};
use self::routes::ShortestRoutes;
use self::shares::{FlowDemand, max_min};
pub(crate) use self::wire::DirectedLink;
use crate::scenario::{
    Connection, Data, Dumbbell, Graph, Group, Metrics, Network, Scenario, Source, Start, Tcp, Ways,
    When,
};

/// What a drawn delay is clipped to, where the distribution has no bound of its own.
const ACCESS_DELAY_LIMIT: Span = Span::from_millis(100_000);

/// A flow.
#[derive(Clone, Debug)]
pub(crate) struct PlannedFlow {
    pub group: u32,
    pub from: u32,
    pub to: u32,
    /// The keyed hash that queues see.
    pub key: u64,
    pub start: Time,
    pub stop: Time,
    /// When it is active once more after that.
    pub again: Vec<Period>,
    /// How much each of its connections sends; `None` for no end, or what its source says.
    pub data: Option<Bytes>,
}

/// A scenario laid out for one seed.
#[derive(Clone, Debug)]
pub(crate) struct SeedPlan {
    /// Nodes that have a name; hosts come after them and have none.
    pub nodes: Vec<String>,
    pub node_count: u32,
    pub wires: Vec<DirectedLink>,
    pub flows: Vec<PlannedFlow>,
    /// The watched link, whose figures are reported.
    pub watched: u32,
}

impl SeedPlan {
    /// Lays out `scenario` for `seed`.
    pub fn new(scenario: &Scenario, seed: Seed) -> SeedPlan {
        let mut plan = match &scenario.network {
            Network::Dumbbell(dumbbell, ways) => SeedPlan::dumbbell(dumbbell, ways),
            Network::Graph(graph) => SeedPlan::graph(graph),
        };
        plan.settle(scenario, seed);
        let hasher = FlowHasher::seeded(scenario.run.flow_key.0, seed);
        let mut numbers = AddressNumbers { client: 0x0a00_0000, server: 0x0b00_0000 };
        for (index, group) in scenario.groups.iter().enumerate() {
            let layout =
                GroupLayout { scenario, group, index: index as u32, seed, hasher: &hasher };
            plan.group(&layout, &mut numbers);
        }
        plan
    }

    fn dumbbell(d: &Dumbbell, ways: &Ways) -> SeedPlan {
        let there = DirectedLink::new((0, 1), (d.rate, d.delay), Some(d.limit));
        let wires = vec![there.clone(), SeedPlan::back(&there, ways)];
        let nodes = vec!["left".to_string(), "right".to_string()];
        SeedPlan { nodes, node_count: 2, wires, flows: vec![], watched: 0 }
    }

    /// The way back of `there`.
    fn back(there: &DirectedLink, ways: &Ways) -> DirectedLink {
        let ends = (there.to, there.from);
        match &ways.back {
            Some(back) => DirectedLink::new(ends, (back.rate, back.delay), back.limit),
            None => DirectedLink::new(ends, (there.rate, there.delay), None),
        }
    }

    /// Draws what the links of the network's description do besides. Two wires stand for each of
    /// them, before those of hosts.
    fn settle(&mut self, scenario: &Scenario, seed: Seed) {
        for of in scenario.media() {
            let index = 2 * of.place + of.is_back as usize;
            let dice = || seed.stream(&format!("link {index} rate"));
            self.wires[index].medium =
                network::medium(of.medium, of.rate, scenario.run.duration, dice);
        }
    }

    fn graph(g: &Graph) -> SeedPlan {
        let mut nodes: Vec<String> = vec![];
        let mut node = |name: &str| {
            let known = nodes.iter().position(|n| n == name);
            known.unwrap_or_else(|| {
                nodes.push(name.into());
                nodes.len() - 1
            }) as u32
        };
        let mut wires = vec![];
        let mut watched = 0;
        for link in &g.links {
            let (from, to) = (node(&link.from), node(&link.to));
            if link.watch {
                watched = wires.len() as u32;
            }
            let there = DirectedLink::new((from, to), (link.rate, link.delay), link.limit);
            let back = SeedPlan::back(&there, &link.ways);
            wires.extend([there, back]);
        }
        let node_count = nodes.len() as u32;
        SeedPlan { nodes, node_count, wires, flows: vec![], watched }
    }

    /// Adds a group's hosts and flows.
    fn group(&mut self, layout: &GroupLayout<'_>, numbers: &mut AddressNumbers) {
        let group = layout.group;
        numbers.next_site();
        let clients: Vec<ClientHost> = (0..group.hosts)
            .map(|host| {
                let mut dice = layout.dice("host", host);
                let at = self.pick(&group.from, 0, &mut dice);
                let access = layout.access(host, &mut dice);
                (self.host(access, at), access, numbers.client())
            })
            .collect();
        let mut periods = layout.periods();
        for index in 0..group.count {
            let mut dice = layout.dice("flow", index);
            let host = index % group.hosts;
            let (from, access, client) = clients[host as usize];
            let at = self.pick(&group.to, 1, &mut dice);
            let to = self.host(access, at);
            let connection = index / group.hosts;
            let (start, stop, again) = periods(index, &mut dice);
            let ends = Ends::simulated(client, numbers.server(), 1024 + connection as u16, 5001);
            let key = layout.hasher.hash(&ends);
            let data = layout.data(index);
            self.flows.push(PlannedFlow {
                group: layout.index,
                from,
                to,
                key,
                start,
                stop,
                again,
                data,
            });
        }
    }

    /// One of the named nodes, drawn from `dice`; in a dumbbell, where none is named, the router
    /// `side`.
    fn pick(&self, names: &[String], side: u32, dice: &mut Rng) -> u32 {
        let name = match names {
            [] => return side,
            [only] => only,
            several => &several[dice.below(several.len() as u64) as usize],
        };
        self.nodes.iter().position(|n| n == name).expect("a scenario's nodes were checked") as u32
    }

    /// A host at node `at` behind an access link both ways, or the node itself when there is none.
    fn host(&mut self, access: Option<(Rate, Span)>, at: u32) -> u32 {
        let Some((rate, delay)) = access else { return at };
        let host = self.node_count;
        self.node_count += 1;
        let [up, down] =
            [(host, at), (at, host)].map(|ends| DirectedLink::new(ends, (rate, delay), None));
        self.wires.extend([up, down]);
        host
    }

    /// The routes between the flows' ends.
    pub fn routes(&self) -> ShortestRoutes<'_> {
        ShortestRoutes::new(self)
    }

    /// How many users the flow key makes of the flows that `which` names.
    pub fn users(&self, which: impl Fn(&PlannedFlow) -> bool) -> usize {
        let mine = self.flows.iter().filter(|flow| which(flow));
        mine.map(|flow| flow.key).collect::<BTreeSet<_>>().len()
    }

    /// The max-min fair rate of each flow in bit/s, the demand of fixed-rate sources and every link
    /// counted. What the flow key makes one flow has one share, split evenly among its
    /// connections.
    pub fn fair_shares(&self, scenario: &Scenario) -> Vec<f64> {
        self.shares_by(scenario, |_| 1.0)
    }

    /// The same, where a flow of group number g counts as `weight(g)` users.
    pub fn shares_by(&self, scenario: &Scenario, weight: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut routes = self.routes();
        let paths: Vec<Vec<u32>> =
            self.flows.iter().map(|flow| routes.path(flow.from, flow.to)).collect();
        let window = [scenario.run.warmup, scenario.run.duration].map(|at| Time::ZERO + at);
        let capacity: Vec<f64> = self.wires.iter().map(|wire| wire.mean_rate(window)).collect();
        let mut of_key: BTreeMap<u64, u32> = BTreeMap::new();
        for flow in &self.flows {
            *of_key.entry(flow.key).or_default() += 1;
        }
        let demands: Vec<f64> = (scenario.groups.iter())
            .map(|group| {
                group
                    .demand(scenario.run.duration)
                    .map_or(f64::INFINITY, |rate| rate.as_bps() as f64)
            })
            .collect();
        let claims: Vec<FlowDemand<'_>> = self
            .flows
            .iter()
            .zip(&paths)
            .map(|(flow, path)| FlowDemand {
                path,
                demand: demands[flow.group as usize],
                weight: weight(flow.group as usize) / of_key[&flow.key] as f64,
            })
            .collect();
        max_min(&capacity, &claims)
    }

    /// What the idle way of each flow takes, if RFC 7928's metrics are asked for.
    pub fn idle_ways(&self, scenario: &Scenario) -> Vec<[Span; 2]> {
        if scenario.run.metrics == Metrics::Usual {
            return vec![];
        }
        let mut routes = self.routes();
        self.flows.iter().map(|flow| routes.idle(flow)).collect()
    }

    /// What each flow could have, its fair share in bit/s being in `shares`.
    pub fn entitlements(&self, scenario: &Scenario, shares: &[f64]) -> Vec<FairShare> {
        let (from, to) = (Time::ZERO + scenario.run.warmup, Time::ZERO + scenario.run.duration);
        let entitled = |(flow, &rate): (&PlannedFlow, &f64)| {
            let sends = scenario.groups[flow.group as usize].source.always_sends();
            let runs = flow.start <= from && flow.stop >= to && flow.data.is_none();
            FairShare { rate, throughout: sends && runs }
        };
        self.flows.iter().zip(shares).map(entitled).collect()
    }
}

/// A client host: its node, its access link (`None` for the node itself), its address.
type ClientHost = (u32, Option<(Rate, Span)>, u32);

/// What a group's layout depends on.
struct GroupLayout<'a> {
    scenario: &'a Scenario,
    group: &'a Group,
    index: u32,
    seed: Seed,
    hasher: &'a FlowHasher,
}

impl GroupLayout<'_> {
    /// Dice by the group's name, so that another group before it changes nothing.
    fn dice(&self, what: &str, index: u32) -> Rng {
        self.seed.stream(&format!("{what} {} {index}", self.group.name))
    }

    /// How much flow `index` sends.
    fn data(&self, index: u32) -> Option<Bytes> {
        match &self.group.source {
            Source::Tcp(Connection { tcp: Tcp { data: Data::Amount(drawn), .. }, .. })
            | Source::Finite(Connection { tcp: Tcp { data: Data::Amount(drawn), .. }, .. }) => {
                Some(Bytes::new(drawn.law.draw(&mut self.dice("data", index), index as u64)))
            }
            _ => None,
        }
    }

    /// When each flow is active, asked in the order of flows: its first period and those after it.
    fn periods(&self) -> impl FnMut(u32, &mut Rng) -> (Time, Time, Vec<Period>) {
        let mut starts = self.starts();
        let mut lines = self.calls();
        let (group, end) = (self.group, Time::ZERO + self.scenario.run.duration);
        move |index, dice| {
            let mut periods = match group.when() {
                When::Start => {
                    let stop = group.stop.map_or(Time::MAX, |stop| Time::ZERO + stop);
                    return (Time::ZERO + starts(index, dice), stop, vec![]);
                }
                When::Active => group.active.times(),
                When::Calls => std::mem::take(&mut lines[index as usize]),
                When::Lives => {
                    let stop = group.stop.map_or(end, |stop| end.min(Time::ZERO + stop));
                    lives(&group.source, (Time::ZERO + starts(index, dice), stop), index, dice)
                }
            };
            if periods.is_empty() {
                return (Time::MAX, Time::MAX, periods);
            }
            let (start, stop) = periods.remove(0);
            (start, stop, periods)
        }
    }

    /// When each line of a group that takes calls is busy; none for other groups.
    fn calls(&self) -> Vec<Vec<Period>> {
        let (Source::Voip(voip), When::Calls) = (&self.group.source, self.group.when()) else {
            return vec![];
        };
        let mut dice = self.seed.stream(&format!("calls {}", self.group.name));
        let end = Time::ZERO + self.scenario.run.duration;
        Calls::new(voip.erlangs, &voip.call.law, self.group.count, end, &mut dice).lines
    }

    /// When each flow starts, asked in the order of flows.
    fn starts(&self) -> impl FnMut(u32, &mut Rng) -> Span {
        let group = self.group;
        let mut gaps = self.seed.stream(&format!("start {}", group.name));
        let mut last = Span::ZERO;
        move |index, dice| match &group.start {
            Start::Each(drawn) => Span::from_nanos(drawn.law.draw(dice, index as u64)),
            Start::Every(drawn) => {
                last += Span::from_nanos(drawn.law.draw(&mut gaps, index as u64));
                last
            }
        }
    }

    /// The access link of client host `host` and of the receivers of its flows; none in a graph
    /// unless asked for.
    fn access(&self, host: u32, dice: &mut Rng) -> Option<(Rate, Span)> {
        let base = match &self.scenario.network {
            Network::Dumbbell(dumbbell, _) => dumbbell.clone(),
            Network::Graph(_)
                if self.group.access_rate.is_empty() && self.group.access_delay.is_none() =>
            {
                return None;
            }
            Network::Graph(_) => Dumbbell::default(),
        };
        let rates = &self.group.access_rate;
        let rate =
            if rates.is_empty() { base.access_rate } else { rates[host as usize % rates.len()] };
        let delay = self.group.access_delay.as_ref().map_or(base.access_delay, |drawn| {
            Span::from_nanos(drawn.law.draw(dice, host as u64).min(ACCESS_DELAY_LIMIT.as_nanos()))
        });
        Some((rate, delay))
    }
}

/// Made-up addresses: clients from 10.0.0.0, servers from 11.0.0.0; each group begins at a new /24.
struct AddressNumbers {
    client: u32,
    server: u32,
}

impl AddressNumbers {
    fn next_site(&mut self) {
        self.client = self.client.next_multiple_of(256);
        self.server = self.server.next_multiple_of(256);
    }

    fn client(&mut self) -> u32 {
        self.client += 1;
        self.client
    }

    fn server(&mut self) -> u32 {
        self.server += 1;
        self.server
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(start: &str, count: u32) -> Vec<f64> {
        let text = format!(
            "[network]\nrate = \"10 Mbit/s\"\nlimit = \"9 packets\"\n\
             [[group]]\nname = \"g\"\nsource = \"cbr\"\n\
             rate = \"1 kbit/s\"\ncount = {count}\nstart = {start}\n"
        );
        let scenario = Scenario::parse(text.as_bytes(), "s.toml", &[]).unwrap();
        SeedPlan::new(&scenario, Seed::new(3))
            .flows
            .iter()
            .map(|flow| flow.start.as_secs())
            .collect()
    }

    #[test]
    fn starts_are_dealt_out_or_follow_one_another() {
        assert_eq!(starts("[\"1 s\", \"2 s\"]", 3), [1.0, 2.0, 1.0]);
        assert_eq!(starts("\"every(500 ms)\"", 3), [0.5, 1.0, 1.5]);
        assert_eq!(starts("[\"3 s\"]", 2), [3.0, 3.0]);
        let poisson = starts("\"every(exponential(10 ms))\"", 10_000);
        assert!(poisson.is_sorted());
        // The last of 10^4 arrivals of mean 10 ms: 100 s, deviation 1 s.
        assert!((poisson[9999] - 100.0).abs() < 4.9, "{}", poisson[9999]);
        // An arrival more shifts nobody.
        assert_eq!(starts("\"every(exponential(10 ms))\"", 10_001)[..10_000], poisson);
    }
}
