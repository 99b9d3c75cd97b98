//! Which way each flow's packets go, and which of their hops need an event.
//!
//! A link that cannot drop is *fed in order* if everything that enters it comes out of one other
//! link. The times of its packets then follow from that link's, whenever they are computed, and
//! its packets need no event. The same holds for a receiver whose acknowledgements enter such a
//! link, unless some of them wait. Where several streams meet, and at a queue, each packet needs an
//! event. It does not where all the streams come out of one port, in few enough lengths
//! ([`MergePoint`]).
//!
//! A connection, or an open-loop source, may be the *sole user* of the first link of its way. All
//! that happens to its sender then comes from itself, so it is computed ahead of everything else.
//! Only what comes out of that link needs events. A sender whose window another flow follows does
//! not run ahead, nor does that flow: it reads the window of its own time.
use std::collections::BTreeMap;

use tidegate::ConfigError;

use super::feeds::{Answers, Feed, LinkPair, Stream, feeds, merge_points};
use super::merge_point::MergePoint;
use super::paths::Finder;
use crate::event::queue::{NEVER, NONE};
use crate::net::flight::Flight;
use crate::net::ids::FlowId;
use crate::net::network::Network;
use crate::sources::Source;

/// What a packet does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub kind: StepKind,
    index: u32,
}

/// The kinds of a step. Those before [`StepKind::Enter`] need no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StepKind {
    /// Enter a link that is fed in order.
    Follow,
    /// Reach a receiver that answers nothing, or into a link that is fed in order or where streams
    /// of one port meet.
    Reach,
    /// Come back to a sender that is the sole user of its first link.
    Home,
    /// Enter a link where streams of one port meet.
    Join,
    /// Enter a link that several streams enter.
    Enter,
    /// Join a queue.
    Queue,
    /// Reach a receiver that answers into another link that several streams enter, or at times of
    /// its own.
    Meet,
    /// Come back to the sender.
    Return,
}

impl Step {
    fn new(kind: StepKind, index: u32) -> Step {
        Step { kind, index }
    }

    /// The link, or for [`StepKind::Queue`] the port, or for [`StepKind::Join`] the branch among
    /// those of all.
    #[inline]
    pub fn index(self) -> usize {
        self.index as usize
    }

    /// Whether it can be taken at once, without an event.
    #[inline]
    pub fn is_free(self) -> bool {
        self.kind < StepKind::Enter
    }
}

/// Where a flow's ways begin in [`Routes::steps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowWays {
    /// From sender to receiver.
    pub there: u32,
    /// And back; for a flow that answers nothing, 0.
    pub back: u32,
    /// Whether its sender is the sole user of its first link on the first link.
    pub sole_user: bool,
}

/// All routes.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    /// Ways, one after the other; each ends at a receiver or a sender.
    pub steps: Vec<Step>,
    /// Each flow's.
    pub ways: Vec<FlowWays>,
    /// Each port's least latency, from the start of a transmission to the next thing that needs an
    /// event, or to the next [`StepKind::Join`]; `NEVER` if
    /// nothing ever does.
    pub lookahead: Vec<u64>,
    /// The link of each port, in the order of links.
    pub ports: Vec<u32>,
    /// Whether any packet needs an event at the far end of each link.
    pub events: Vec<bool>,
    /// Where streams of one port meet, in the order of ports.
    pub merge_points: Vec<MergePoint>,
    /// The merge point and the branch there that each [`StepKind::Join`] means.
    pub branches: Vec<(u32, u32)>,
    /// The link that leads to each step of the way, `NONE` for none: the order of simultaneous
    /// packets.
    pub via: Vec<u32>,
    /// The port whose queue all that needs an event at the far end of each link joins, if it is
    /// the same.
    pub sink_ports: Vec<Option<u32>>,
}

/// The number of each branch, by its link and the length of the stream that takes it.
type Branches = BTreeMap<(u32, u64), u32>;

/// All branches, as [`Routes::branches`] has them, and their numbers.
fn branches(merge_points: &[MergePoint]) -> (Vec<(u32, u32)>, Branches) {
    let (mut branches, mut numbers) = (Vec::new(), Branches::new());
    for (i, merge_point) in merge_points.iter().enumerate() {
        for (j, &length) in merge_point.lengths.iter().enumerate() {
            numbers.insert((merge_point.link, length), branches.len() as u32);
            branches.push((i as u32, j as u32));
        }
    }
    (branches, numbers)
}

/// Tells which step a hop is.
struct Hops<'a> {
    feeds: &'a [Feed],
    ports: &'a [u32],
    branches: Branches,
}

impl Hops<'_> {
    /// The step onto `link` of a packet that is part of `stream`.
    fn at(&self, link: u32, stream: Option<Stream>) -> Step {
        match self.ports.binary_search(&link) {
            Ok(port) => Step::new(StepKind::Queue, port as u32),
            Err(_) if matches!(self.feeds[link as usize], Feed::One(_)) => {
                Step::new(StepKind::Follow, link)
            }
            Err(_) => match stream.and_then(|s| self.branches.get(&(link, s.length))) {
                Some(&branch) => Step::new(StepKind::Join, branch),
                None => Step::new(StepKind::Enter, link),
            },
        }
    }
}

impl Routes {
    /// Finds every flow's way.
    ///
    /// # Errors
    /// A flow between whose ends there is no way.
    pub fn find<Q>(network: &Network<Q>) -> Result<Routes, ConfigError> {
        let mut finder = Finder::new(network);
        let mut pairs: BTreeMap<(u32, u32, Answers), usize> = BTreeMap::new();
        let mut links: Vec<LinkPair> = Vec::new();
        let followed = network.followed();
        let mut which = Vec::with_capacity(network.flows.len());
        for (i, flow) in network.flows.iter().enumerate() {
            let answers = Answers::to(&flow.source);
            let known = pairs.entry((flow.from.0, flow.to.0, answers)).or_insert(links.len());
            if *known == links.len() {
                let way = |finder: &mut Finder, from: u32, to: u32| {
                    finder.way(from, to).ok_or_else(|| {
                        let ends = format!(
                            "{} -> {}",
                            network.nodes[from as usize], network.nodes[to as usize]
                        );
                        ConfigError::new(
                            format!("flow {i}: ends"),
                            ends,
                            "there is no way from the one to the other",
                        )
                    })
                };
                let there = way(&mut finder, flow.from.0, flow.to.0)?;
                let back = match answers {
                    Answers::None => Vec::new(),
                    _ => way(&mut finder, flow.to.0, flow.from.0)?,
                };
                let again =
                    network.again.get(&FlowId(i as u32)).is_some_and(|periods| !periods.is_empty());
                let plain = match &flow.source {
                    Source::Following(_) => false,
                    Source::Tcp(_) => !again && !followed.contains(&FlowId(i as u32)),
                    _ => answers == Answers::None,
                };
                links.push(LinkPair { there, back, answers, flows: 0, plain });
            }
            links[*known].flows += 1;
            which.push(*known);
        }
        let ports: Vec<u32> = (0..network.links.len() as u32)
            .filter(|&l| network.links[l as usize].queue.is_some())
            .collect();
        Ok(Routes::lay(network, &links, &which, ports))
    }

    /// Classifies every hop and writes the ways down.
    fn lay<Q>(
        network: &Network<Q>,
        links: &[LinkPair],
        which: &[usize],
        ports: Vec<u32>,
    ) -> Routes {
        let feeds = feeds(network, links);
        let in_order = |way: &[u32]| way.last().is_none_or(|&link| !network.reorders(link));
        let streams: Vec<Vec<Option<Stream>>> =
            links.iter().map(|l| l.streams(network, &feeds, &ports)).collect();
        let merge_points = merge_points(links, &streams, &feeds, &ports);
        let (branches, numbers) = branches(&merge_points);
        let hops = Hops { feeds: &feeds, ports: &ports, branches: numbers };
        let step = |link: u32, stream: Option<Stream>| hops.at(link, stream);
        let (mut steps, mut via) = (Vec::new(), Vec::new());
        let mut ways = Vec::with_capacity(links.len());
        for (LinkPair { there, back, plain, .. }, streams) in links.iter().zip(&streams) {
            let (streams, returns) = streams.split_at(there.len());
            // It is the sole user of its first link if what it sends then waits for an event: else
            // it would be worked out to its end at once.
            let sole_user = *plain
                && in_order(back)
                && matches!(
                    there[..],
                    [first, next, ..] if step(first, streams[0]).kind == StepKind::Enter
                        && feeds[first as usize] == Feed::Sender
                        && !step(next, streams[1]).is_free()
                );
            let begin = steps.len() as u32;
            steps.extend(there.iter().zip(streams).map(|(&l, &s)| step(l, s)));
            let free =
                in_order(there) && back.first().is_none_or(|&l| step(l, returns[0]).is_free());
            steps.push(Step::new(if free { StepKind::Reach } else { StepKind::Meet }, 0));
            let turn = steps.len() as u32;
            via.extend([NONE].iter().chain(there));
            if !back.is_empty() {
                steps.extend(back.iter().zip(returns).map(|(&l, &s)| step(l, s)));
                steps.push(Step::new(if sole_user { StepKind::Home } else { StepKind::Return }, 0));
                via.extend(there.last().into_iter().chain(back));
            }
            let back = if back.is_empty() { 0 } else { turn };
            ways.push(FlowWays { there: begin, back, sole_user });
        }
        let mut routes = Routes {
            steps,
            ways: which.iter().map(|&w| ways[w]).collect(),
            lookahead: vec![NEVER; ports.len()],
            ports,
            merge_points,
            branches,
            via,
            events: vec![false; network.links.len()],
            sink_ports: vec![None; network.links.len()],
        };
        routes.find_events();
        routes.look_ahead(network, &ways);
        routes
    }

    /// The merge point that a [`StepKind::Join`] means.
    pub fn merge_point(&self, step: Step) -> &MergePoint {
        &self.merge_points[self.branches[step.index()].0 as usize]
    }

    /// Whether `a` takes its step before `b` does: of simultaneous packets that out of the link of
    /// lower number.
    #[inline(always)]
    pub fn earlier(&self, a: &Flight, b: &Flight) -> bool {
        a.time < b.time || a.time == b.time && self.via[a.hop as usize] < self.via[b.hop as usize]
    }

    /// Works out [`Routes::events`] and [`Routes::sink_ports`].
    fn find_events(&mut self) {
        for pair in self.steps.windows(2) {
            let link = match pair[0].kind {
                StepKind::Follow | StepKind::Enter => pair[0].index(),
                StepKind::Queue => self.ports[pair[0].index()] as usize,
                StepKind::Join => self.merge_point(pair[0]).link as usize,
                StepKind::Reach | StepKind::Home | StepKind::Meet | StepKind::Return => continue,
            };
            if pair[1].is_free() {
                continue;
            }
            let sink_port = (pair[1].kind == StepKind::Queue).then_some(pair[1].index);
            let alike = !self.events[link] || sink_port == self.sink_ports[link];
            self.sink_ports[link] = if alike { sink_port } else { None };
            self.events[link] = true;
        }
    }

    /// Works out [`Routes::lookahead`].
    fn look_ahead<Q>(&mut self, network: &Network<Q>, ways: &[FlowWays]) {
        let delay = |link: usize| network.links[link].delay.as_nanos().max(1);
        let mut each = |begin: u32, answered: bool| {
            for (i, step) in self.steps[begin as usize..].iter().enumerate() {
                match step.kind {
                    StepKind::Reach | StepKind::Home | StepKind::Meet | StepKind::Return => break,
                    StepKind::Queue => {
                        let port = step.index();
                        let mut latency = delay(self.ports[port] as usize);
                        for next in &self.steps[begin as usize + i + 1..] {
                            match next.kind {
                                StepKind::Follow => latency += delay(next.index()),
                                // The way back is written down behind the way there.
                                StepKind::Reach if answered => {}
                                StepKind::Reach => latency = NEVER,
                                _ => break,
                            }
                            if latency == NEVER {
                                break;
                            }
                        }
                        self.lookahead[port] = self.lookahead[port].min(latency);
                    }
                    StepKind::Follow | StepKind::Join | StepKind::Enter => {}
                }
            }
        };
        for way in ways {
            let answered = way.back != 0;
            each(way.there, answered);
            if answered {
                each(way.back, answered);
            }
        }
    }
}
