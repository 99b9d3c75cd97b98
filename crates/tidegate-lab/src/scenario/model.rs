//! What a scenario says, as values.
use tidegate::config::Value;
use tidegate::units::UnitError;
use tidegate::{Bytes, Link, Rate, Size, Span, choices, params};
use tidegate_packet::FlowKey;

use super::classes::Classes;
use super::drawn::{Drawn, Start};
use super::medium::{Capacity, Ways};
use super::periods::Periods;
use super::sources::Source;
use crate::problem::{Place, Problem, Problems};
use crate::spec::QueueSpec;

/// Why no other queue can be tried at a watched link with a queue of its own.
pub(super) const OWN_QUEUE: &str = "the watched link keeps its own queue";
/// What to do about it.
pub(super) const OWN_QUEUE_REMEDY: &str = "remove this key, or set watch = true at another link";

/// An experiment: who sends over which links through which queue, for how long, how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its short name: the file's, without directory and ending.
    pub name: String,
    /// One line for the head of a report.
    pub title: String,
    /// More, if there is more to say.
    pub description: String,
    /// Duration, seeds and what is recorded.
    pub run: RunSettings,
    /// The links.
    pub network: Network,
    /// The queue at every managed link that names none of its own.
    pub queue: QueueSpec,
    /// The queues that `compare` sets side by side when it is given none.
    pub compare: Vec<QueueSpec>,
    /// Groups of flows, in order.
    pub groups: Vec<Group>,
    /// Where the watched link's own queue stands, if it has one. No other queue can then be tried
    /// there.
    pub watched_queue: Option<Place>,
}

params! {
    /// `[run]`: duration, seeds and what is recorded.
    pub struct RunSettings {
        /// Simulated time of each replication.
        duration: Span = Span::from_millis(60_000), "T", 1_000_000 ..= 1_000_000_000_000_000u64;
        /// Time at the start that does not count; less than `duration`.
        warmup: Span = Span::from_millis(10_000), "", 0 ..= 1_000_000_000_000_000u64;
        /// Number of replications; they take the seeds `seed`, `seed` + 1, and so on.
        seeds: u32 = 5, "R", 1 ..= 10_000;
        /// First seed.
        seed: u64 = 1, "", 0 ..= 4_000_000_000_000_000u64;
        /// Grid of the recorded series; `duration / series` is at most 100000 points.
        series: Span = Span::from_millis(100), "", 100_000 ..= 1_000_000_000_000_000u64;
        /// Windows over which each flow's rates are compared (their coefficient of variation), from
        /// the end of the warm-up.
        rate_window: Span = Span::from_millis(1000), "tau", 1_000_000 ..= 1_000_000_000_000_000u64;
        /// Which packets are one flow to the queue.
        flow_key: FlowKeyParam = FlowKeyParam(FlowKey::FiveTuple), "", 0 ..= 0;
        /// Which metrics of groups are taken. They are the usual ones, or the rest of RFC 7928 §2
        /// besides: variation of delays, start-up, whole pages, runs of losses, rates and losses
        /// over time.
        metrics: Metrics = Metrics::Usual, "", 0 ..= 0;
    }
}

choices! {
    /// Which metrics are taken.
    pub enum Metrics {
        /// Those that cost nothing.
        Usual = "usual",
        /// Those of RFC 7928 §2 besides.
        Rfc7928 = "rfc7928",
    }
}

/// [`FlowKey`] as a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowKeyParam(pub FlowKey);

/// The links.
#[derive(Clone, Debug, PartialEq)]
pub enum Network {
    /// Two routers with one managed link between them; every host has an access link of its own.
    Dumbbell(Dumbbell, Box<Ways>),
    /// Any links between named nodes.
    Graph(Graph),
}

impl Default for Network {
    fn default() -> Network {
        Network::Dumbbell(Dumbbell::default(), Box::default())
    }
}

params! {
    /// `[network] kind = "dumbbell"`.
    pub struct Dumbbell {
        /// Rate of the bottleneck; required.
        rate: Rate = Rate::from_bps(10_000_000), "C", 1_000 ..= 1_000_000_000_000u64;
        /// One-way delay of the bottleneck.
        delay: Span = Span::from_millis(10), "", 0 ..= 100_000_000_000u64;
        /// How much may wait in the queue; at least one packet. Required.
        limit: Size = Size::Packets(100), "", 1 ..= 1_000_000_000_000u64;
        /// The usual length of a packet, which turns bytes into packets and back.
        mean_packet: Bytes = Bytes::new(1000), "", 40 ..= 65_535;
        /// Rate of each host's access link.
        access_rate: Rate = Rate::from_bps(100_000_000), "", 1_000 ..= 1_000_000_000_000u64;
        /// One-way delay of each host's access link.
        access_delay: Span = Span::from_millis(2), "", 0 ..= 100_000_000_000u64;
    }
}

/// `[network] kind = "graph"` with its `[[link]]`s.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// The usual length of a packet.
    pub mean_packet: Bytes,
    /// The links, in order; the nodes are their ends.
    pub links: Vec<GraphLink>,
}

/// `[[link]]`: a link both ways. Only the direction `from` → `to` can have a managed queue.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphLink {
    /// One end.
    pub from: String,
    /// The other end.
    pub to: String,
    /// Rate, each way.
    pub rate: Rate,
    /// One-way delay.
    pub delay: Span,
    /// With a limit, `from` → `to` has a managed queue; without, it never drops.
    pub limit: Option<Size>,
    /// The queue here, if not the scenario's.
    pub queue: Option<QueueSpec>,
    /// Whether its figures are the ones reported. Exactly one managed link is watched.
    pub watch: bool,
    /// What it does besides, and its way back.
    pub ways: Ways,
}

/// `[[group]]`: flows of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name in results.
    pub name: String,
    /// Number of flows.
    pub count: u32,
    /// Number of client hosts that the flows spread over.
    pub hosts: u32,
    /// The classes that queues with classes see.
    pub class: Classes,
    /// The DiffServ code point that queues with tins see.
    pub dscp: u32,
    /// When a flow starts.
    pub start: Start,
    /// When it stops, if before the end.
    pub stop: Option<Span>,
    /// When its flows are active, in place of start and stop; none for that.
    pub active: Periods,
    /// Rates of the hosts' access links, dealt out in turn; empty for the network's (dumbbell) or
    /// none (graph).
    pub access_rate: Vec<Rate>,
    /// Delays of the hosts' access links; `None` for the network's (dumbbell) or none (graph).
    pub access_delay: Option<Drawn<Span>>,
    /// Nodes (graph) that flows come from, one picked at random for each host.
    pub from: Vec<String>,
    /// Nodes (graph) that flows go to, one picked at random for each flow.
    pub to: Vec<String>,
    /// What they send.
    pub source: Source,
}

params! {
    /// What every `[[group]]` has, whatever it sends.
    pub struct GroupParams {
        /// Number of flows; at most 1000000 over all groups.
        count: u32 = 1, "", 1 ..= 1_000_000;
        /// Number of client hosts that the flows spread over; by default as many as flows.
        hosts: u32 = 1, "", 1 ..= 1_000_000;
        /// The class of its packets, for queues with classes, or a list of classes dealt out to its
        /// flows in turn; by default the
        /// group's place, from 0.
        class: Classes = Classes::one(0), "", 0 ..= 65_535;
        /// The DiffServ code point of its packets, for queues that look at it.
        dscp: u32 = 0, "", 0 ..= 63;
        /// When each flow starts: a time, a list of times dealt out in turn, a distribution, or
        /// `every(TIME)` for one flow
        /// after the other with such times between them.
        start: Start = Start::default(), "", 0 ..= 1_000_000_000_000_000u64;
        /// Delays of the hosts' access links, on both sides: a time, a list dealt out to the hosts
        /// in turn, or a distribution;
        /// by default the network's.
        access_delay: Drawn<Span> = Drawn::always(Span::ZERO), "", 0 ..= 100_000_000_000u64;
        /// When the flows are active, in place of `start` and `stop`: a list of periods, as in ["10
        /// s..30 s", "50 s.."].
        active: Periods = Periods::default(), "", 0 ..= 1_000_000_000_000_000u64;
        /// When the flows stop; by default they do not.
        stop: Span = Span::ZERO, "", 0 ..= 1_000_000_000_000_000u64;
    }
}

impl Value for FlowKeyParam {
    const KIND: &'static str = "flow key";
    fn read(text: &str) -> Result<Self, UnitError> {
        text.parse().map(FlowKeyParam)
    }
    fn write(&self) -> String {
        self.0.to_string()
    }
    fn magnitude(&self) -> f64 {
        0.0
    }
    fn write_bound(_: f64) -> String {
        "five-tuple | source | destination | pair | source-prefix/N".into()
    }
}

impl Scenario {
    /// The number of flows.
    pub fn flows(&self) -> u64 {
        self.groups.iter().map(|g| g.count as u64).sum()
    }

    /// What captures and traces hold, as a text that differs where they do. The scenario itself
    /// knows them by their files' names.
    pub(crate) fn read_from_files(&self) -> String {
        let mut text = String::new();
        for group in &self.groups {
            if let Source::Replay(_, arrivals) = &group.source {
                text += &format!("{:x} ", arrivals.fingerprint);
            }
        }
        for of in self.media() {
            if let Capacity::Trace(_, trace) = &of.medium.capacity {
                text += &format!("{trace:?} ");
            }
        }
        text
    }

    /// The seeds of the replications, in order.
    pub fn seeds(&self) -> Vec<u64> {
        (0..self.run.seeds as u64).map(|i| self.run.seed + i).collect()
    }

    /// The queue at the watched link when none is tried in its place: the link's own, or else the
    /// scenario's.
    pub fn own_queue(&self) -> &QueueSpec {
        let own = match &self.network {
            Network::Dumbbell(..) => None,
            Network::Graph(graph) => {
                graph.links.iter().find(|l| l.watch).and_then(|l| l.queue.as_ref())
            }
        };
        own.unwrap_or(&self.queue)
    }

    /// This scenario with `queue` as its queue.
    ///
    /// # Errors
    /// The watched link has a queue of its own.
    pub fn with_queue(self, queue: QueueSpec) -> Result<Scenario, Problems> {
        self.open_to(std::slice::from_ref(&queue))?;
        Ok(Scenario { queue, ..self })
    }

    /// This scenario with `queues` to compare.
    ///
    /// # Errors
    /// Two of them have the same label; the watched link has a queue of its own.
    pub fn with_compare(self, queues: Vec<QueueSpec>) -> Result<Scenario, Problems> {
        self.open_to(&queues)?;
        Ok(Scenario { compare: queues, ..self })
    }

    /// Whether `queues` can be tried, one after the other, at the watched link.
    ///
    /// # Errors
    /// Two of them have the same label; the watched link has a queue of its own.
    pub fn open_to(&self, queues: &[QueueSpec]) -> Result<(), Problems> {
        QueueSpec::distinct(queues).map_err(|(spec, error)| spec.refused(error))?;
        let (Some(place), Some(first)) = (&self.watched_queue, queues.first()) else {
            return Ok(());
        };
        let why = format!("{OWN_QUEUE}, so `{first}` would never be tried: {OWN_QUEUE_REMEDY}");
        let field = "link.queue".into();
        let value = self.own_queue().to_string();
        Err(Problems::one(Problem { place: place.clone(), field, value, why }))
    }

    /// The watched link, whose queue and figures are reported.
    pub fn bottleneck(&self) -> Link {
        let (rate, limit, mean_packet) = match &self.network {
            Network::Dumbbell(d, _) => (d.rate, d.limit, d.mean_packet),
            Network::Graph(g) => {
                let link = g.links.iter().find(|l| l.watch).expect("a scenario has a watched link");
                (link.rate, link.limit.expect("a watched link is managed"), g.mean_packet)
            }
        };
        Link { rate, limit, mean_packet }
    }
}
