//! The description of a network: nodes, links and groups of flows.
//! [`Simulation`](crate::Simulation) runs it.
use std::collections::{BTreeMap, BTreeSet};

use tidegate::bottleneck::Capacity;
use tidegate::{Asks, ConfigError, Rate, Size, Span, Time, catalog::AnyQueue};

use super::forge::Forge;
use super::ids::{FlowId, GroupId, LinkId, NodeId};
use super::medium::Medium;
use crate::sources::{Period, Source, check_periods};

/// The most nodes, links or flows of one network: ten million.
pub const MOST: usize = 10_000_000;

/// A network: nodes, directed links with or without a queue, and flows in groups.
///
/// Routes are static and shortest: fewest hops, then least delay, then the link declared first.
#[derive(Clone, Debug)]
pub struct Network<Q = AnyQueue> {
    pub(crate) nodes: Vec<String>,
    pub(crate) links: Vec<LinkSpec<Q>>,
    pub(crate) groups: Vec<String>,
    pub(crate) flows: Vec<Flow>,
    /// When flows are active once more after their stop.
    pub(crate) again: BTreeMap<FlowId, Vec<Period>>,
    /// What links behind a queue do besides.
    pub(crate) media: BTreeMap<LinkId, Medium>,
    /// What flow keys a flow's packets bear in place of its own.
    pub(crate) forged: BTreeMap<FlowId, Forge>,
    pub(crate) asks: Asks,
    pub(crate) dscp: BTreeMap<FlowId, u8>,
    /// What each flow could have; none if that is not known.
    pub(crate) fair_shares: Vec<FairShare>,
    /// What each flow's idle way takes a packet of no length, and one of 64 KiB.
    pub(crate) idle: Vec<[Span; 2]>,
}

/// A directed link.
#[derive(Clone, Debug)]
pub struct LinkSpec<Q> {
    /// Its name; names the queue's figures in the outcome.
    pub name: String,
    /// Where it begins.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// Its rate, above zero.
    pub rate: Rate,
    /// Its propagation delay. Less than one nanosecond counts as one, so that an effect always
    /// follows its cause.
    pub delay: Span,
    /// The queue before it. A link without a queue holds all packets and drops none.
    pub queue: Option<Q>,
    /// The limit of the queue, if the time during which it is nearly full is to be measured.
    pub limit: Option<Size>,
}

/// A flow: who sends what to whom, and when.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The group it is counted in.
    pub group: GroupId,
    /// The sender's node.
    pub from: NodeId,
    /// The receiver's node, another one.
    pub to: NodeId,
    /// What queues see as [`Packet::flow`](tidegate::Packet::flow), of data and acknowledgements
    /// alike. Flows may share one.
    pub key: u64,
    /// What queues see as [`Packet::class`](tidegate::Packet::class), of data and acknowledgements
    /// alike.
    pub class: u16,
    /// When it starts.
    pub start: Time,
    /// When its sender stops, [`Time::MAX`] for never. A packet due at that very time is not sent.
    pub stop: Time,
    /// What sends.
    pub source: Source,
}

/// What a flow could have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FairShare {
    /// Its fair share of the links on its way, in bit/s.
    pub rate: f64,
    /// Whether it has something to send throughout the measured time.
    pub throughout: bool,
}

impl<Q> Default for Network<Q> {
    fn default() -> Self {
        Network::new()
    }
}

impl<Q> Network<Q> {
    /// A network of nothing.
    pub const fn new() -> Network<Q> {
        Network {
            nodes: Vec::new(),
            links: Vec::new(),
            groups: Vec::new(),
            flows: Vec::new(),
            again: BTreeMap::new(),
            media: BTreeMap::new(),
            forged: BTreeMap::new(),
            asks: Asks::NOTHING,
            dscp: BTreeMap::new(),
            fair_shares: vec![],
            idle: vec![],
        }
    }

    /// Adds a node.
    pub fn node(&mut self, name: impl Into<String>) -> NodeId {
        self.nodes.push(name.into());
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds a link that cannot drop.
    pub fn link(
        &mut self,
        name: impl Into<String>,
        from: NodeId,
        to: NodeId,
        rate: Rate,
        delay: Span,
    ) -> LinkId {
        self.add(LinkSpec { name: name.into(), from, to, rate, delay, queue: None, limit: None })
    }

    /// Adds a link behind `queue`.
    pub fn queue(
        &mut self,
        name: impl Into<String>,
        (from, to): (NodeId, NodeId),
        rate: Rate,
        delay: Span,
        queue: Q,
    ) -> LinkId {
        self.add(LinkSpec {
            name: name.into(),
            from,
            to,
            rate,
            delay,
            queue: Some(queue),
            limit: None,
        })
    }

    /// Sets the limit of the queue of `link`, so that the time during which it is nearly full is
    /// measured.
    pub fn limit(&mut self, link: LinkId, limit: Size) {
        self.links[link.index()].limit = Some(limit);
    }

    /// Says what `link`, which is behind a queue, does besides carrying packets at its rate.
    pub fn medium(&mut self, link: LinkId, medium: Medium) {
        self.media.insert(link, medium);
    }

    /// Adds a link as described.
    pub fn add(&mut self, link: LinkSpec<Q>) -> LinkId {
        self.links.push(link);
        LinkId(self.links.len() as u32 - 1)
    }

    /// Adds a link that cannot drop in each direction, named `a->b` and `b->a` after its nodes.
    pub fn duplex(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Span) -> (LinkId, LinkId) {
        let name =
            |x: NodeId, y: NodeId| format!("{}->{}", self.nodes[x.index()], self.nodes[y.index()]);
        let (there, back) = (name(a, b), name(b, a));
        (self.link(there, a, b, rate, delay), self.link(back, b, a, rate, delay))
    }

    /// Adds a group of flows.
    pub fn group(&mut self, name: impl Into<String>) -> GroupId {
        self.groups.push(name.into());
        GroupId(self.groups.len() as u32 - 1)
    }

    /// Adds a flow.
    pub fn flow(&mut self, flow: Flow) -> FlowId {
        self.flows.push(flow);
        FlowId(self.flows.len() as u32 - 1)
    }

    /// Says what each flow could have, for figures that compare this with what it gets.
    pub fn fair_shares(&mut self, shares: Vec<FairShare>) {
        self.fair_shares = shares;
    }

    /// Measures the variation of delays, start-up times and runs of losses (RFC 7928 §2). `idle` is
    /// what the way of each flow takes a packet of no length and one of 65536 bytes when nothing
    /// waits.
    pub fn idle_ways(&mut self, idle: Vec<[Span; 2]>) {
        self.idle = idle;
    }

    /// Makes `flow` active again in each of `periods`, in order, after its stop. Its source starts
    /// anew, with a new connection. Packets of the old connection that are still in flight count
    /// for nothing.
    pub fn again(&mut self, flow: FlowId, periods: Vec<Period>) {
        self.again.insert(flow, periods);
    }

    /// Some queue asks for hosts (the nodes from which and to which a packet goes), code points or
    /// acknowledgements (of TCP); without this, packets have none of them.
    pub fn ask(&mut self, asks: Asks) {
        self.asks.hosts |= asks.hosts;
        self.asks.dscp |= asks.dscp;
        self.asks.acks |= asks.acks;
    }

    /// The packets of `flow` and their acknowledgements have the DiffServ code point `dscp`, which
    /// is 0 otherwise.
    pub fn dscp(&mut self, flow: FlowId, dscp: u8) {
        if dscp > 0 {
            self.dscp.insert(flow, dscp);
        }
    }

    /// Makes the packets of `flow`, whose source is not answered, bear forged flow keys.
    pub fn forge(&mut self, flow: FlowId, forge: Forge) {
        self.forged.insert(flow, forge);
    }

    /// The links in the order in which they were added.
    pub fn links(&self) -> &[LinkSpec<Q>] {
        &self.links
    }

    /// The flows in the order in which they were added.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Whether some link loses packets behind its queue.
    pub(crate) fn loses(&self) -> bool {
        self.media.values().any(|medium| medium.loss.is_some())
    }

    /// Whether packets may overtake one another on `link`.
    pub(crate) fn reorders(&self, link: u32) -> bool {
        self.media.get(&LinkId(link)).is_some_and(Medium::reorders)
    }

    /// The greatest rate of `link`: of a trace without a bound.
    pub(crate) fn peak(&self, link: u32) -> Rate {
        match self.media.get(&LinkId(link)).and_then(|medium| medium.capacity.as_ref()) {
            None => self.links[link as usize].rate,
            Some(Capacity::Steps(steps)) => steps.peak(),
            Some(_) => Rate::from_bps(u64::MAX),
        }
    }

    /// Checks that it can be run.
    ///
    /// # Errors
    /// Names the link or the flow, the field, its value and the bound.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (what, count) in
            [("nodes", self.nodes.len()), ("links", self.links.len()), ("flows", self.flows.len())]
        {
            if count > MOST {
                return Err(ConfigError::new(what, count, format!("must be at most {MOST}")));
            }
        }
        self.links.iter().try_for_each(|link| self.check_link(link))?;
        self.media.iter().try_for_each(|(link, medium)| self.check_medium(*link, medium))?;
        self.flows.iter().enumerate().try_for_each(|(i, flow)| self.check_flow(i, flow))
    }

    fn check_link(&self, link: &LinkSpec<Q>) -> Result<(), ConfigError> {
        let field = |name: &str| format!("link {}: {name}", link.name);
        let known = |node: NodeId| node.index() < self.nodes.len();
        if !known(link.from) || !known(link.to) || link.from == link.to {
            let ends = format!("{} -> {}", link.from.0, link.to.0);
            return Err(ConfigError::new(field("ends"), ends, "must be two nodes of this network"));
        }
        if link.rate.as_bps() == 0 || link.rate.as_bps() > 1_000_000_000_000_000 {
            return Err(ConfigError::new(
                field("rate"),
                link.rate,
                "must lie above 0 bit/s, up to 1 Pbit/s",
            ));
        }
        if link.delay > Span::from_secs(3600.0) {
            return Err(ConfigError::new(field("delay"), link.delay, "must be at most an hour"));
        }
        Ok(())
    }

    fn check_medium(&self, link: LinkId, medium: &Medium) -> Result<(), ConfigError> {
        let Some(spec) = self.links.get(link.index()) else {
            return Err(ConfigError::new("medium", link.0, "must be of a link of this network"));
        };
        if spec.queue.is_none() {
            let field = format!("link {}: medium", spec.name);
            return Err(ConfigError::new(field, "set", "must be of a link behind a queue"));
        }
        medium.check(|name| format!("link {}: {name}", spec.name))
    }

    fn check_flow(&self, index: usize, flow: &Flow) -> Result<(), ConfigError> {
        let field = |name: &str| format!("flow {index}: {name}");
        let known = |node: NodeId| node.index() < self.nodes.len();
        if !known(flow.from) || !known(flow.to) || flow.from == flow.to {
            let ends = format!("{} -> {}", flow.from.0, flow.to.0);
            return Err(ConfigError::new(field("ends"), ends, "must be two nodes of this network"));
        }
        if flow.group.index() >= self.groups.len() {
            return Err(ConfigError::new(
                field("group"),
                flow.group.0,
                "must be a group of this network",
            ));
        }
        if let Some(again) = self.again.get(&FlowId(index as u32)) {
            check_periods(&field("again"), again, flow.stop)?;
            if matches!(flow.source, Source::Tfrc(_)) {
                return Err(ConfigError::new(
                    field("again"),
                    again.len(),
                    "a TFRC flow cannot start again",
                ));
            }
        }
        if let Some(forge) = self.forged.get(&FlowId(index as u32)) {
            forge.check().map_err(|e| ConfigError { field: field(&e.field), ..e })?;
            if flow.source.is_answered() {
                let why = "a flow that is answered cannot forge its key";
                return Err(ConfigError::new(field("keys"), flow.key, why));
            }
        }
        flow.source.check().map_err(|e| ConfigError { field: field(&e.field), ..e })?;
        let follows = flow.source.follows();
        follows.map_or(Ok(()), |target| self.check_followed(field("follows"), target))
    }

    fn check_followed(&self, field: String, target: FlowId) -> Result<(), ConfigError> {
        let source = self.flows.get(target.index()).map(|flow| &flow.source);
        if source.is_some_and(|source| source.tcp().is_some()) {
            return Ok(());
        }
        Err(ConfigError::new(field, target.0, "must be a flow of this network that uses TCP"))
    }

    /// The flows whose windows others follow.
    pub(crate) fn followed(&self) -> BTreeSet<FlowId> {
        self.flows.iter().filter_map(|flow| flow.source.follows()).collect()
    }
}
