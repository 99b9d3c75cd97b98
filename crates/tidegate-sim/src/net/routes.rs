//! Which way each flow's packets go, and which of their hops need an event.
//!
//! A link that cannot drop is *fed in order* if everything that enters it comes out of one other
//! link: then its packets' times follow one after the other from that link's, whenever those are
//! worked out, and its packets need no event. The same holds for a receiver whose acknowledgements
//! enter such a link, unless some of them wait and set out at a time of their own. Where several
//! streams meet, and at a queue, each packet needs an event, so that they are handled in the
//! order of time; but not where all of the streams come out of one port, in few enough lengths
//! ([`MergePoint`]).
//!
//! A connection that shares the first link of its way with nobody, or a source that is not
//! answered, is *alone on its first link* there: all that happens to its sender comes from itself,
//! so that it too can be worked out ahead of the time of everything else, and only what comes out
//! of that link needs events.
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use tidegate::{ConfigError, Span};

use crate::net::flight::Flight;
use crate::net::network::{FlowId, Network};
use crate::sources::Source;

/// Most branches of a merge point: who is first of them is found by looking at all.
pub(crate) const BRANCHES: usize = 8;

/// What a packet does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub kind: Kind,
    index: u32,
}

/// The kinds of a step. Those before [`Kind::Enter`] need no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
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
    fn new(kind: Kind, index: u32) -> Step {
        Step { kind, index }
    }

    /// The link, or for [`Kind::Queue`] the port, or for [`Kind::Join`] the branch among those of
    /// all.
    #[inline]
    pub fn index(self) -> usize {
        self.index as usize
    }

    /// Whether it can be taken at once, without an event.
    #[inline]
    pub fn is_free(self) -> bool {
        self.kind < Kind::Enter
    }
}

/// Where a flow's ways begin in [`Routes::steps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// From sender to receiver.
    pub there: u32,
    /// And back; for a flow that answers nothing, 0.
    pub back: u32,
    /// Whether its sender is the sole user of its first link on the first link.
    pub sole_user: bool,
}

/// A link that several streams enter, all of which come out of the same port over links that are
/// fed in order and as fast as the port's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MergePoint {
    /// The link.
    pub link: u32,
    /// The port.
    pub port: u32,
    /// How long it takes along each branch, transmission times aside: no two the same.
    pub lengths: Vec<u64>,
}

/// All routes.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    /// Ways, one after the other; each ends at a receiver or a sender.
    pub steps: Vec<Step>,
    /// Each flow's.
    pub ways: Vec<Way>,
    /// Each port's least latency, from the start of a transmission to the next thing that needs an
    /// event, or to the next [`Kind::Join`]; u64::MAX if
    /// nothing ever does.
    pub lookahead: Vec<u64>,
    /// The link of each port, in the order of links.
    pub ports: Vec<u32>,
    /// Whether any packet needs an event at the far end of each link.
    pub events: Vec<bool>,
    /// Where streams of one port meet, in the order of ports.
    pub merge_points: Vec<MergePoint>,
    /// The merge point and the branch there that each [`Kind::Join`] means.
    pub branches: Vec<(u32, u32)>,
    /// The link out of which one comes to each step of the way, `u32::MAX` for none: the order of
    /// simultaneous packets.
    pub via: Vec<u32>,
    /// The port whose queue all that needs an event at the far end of each link joins, if it is
    /// the same.
    pub sink_ports: Vec<Option<u32>>,
}

/// Who feeds a link.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feed {
    Nobody,
    /// The sender of one flow, whose way begins here.
    Sender,
    /// What comes out of this link.
    One(u32),
    Several,
}

/// When a flow is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Answers {
    /// Never.
    None,
    /// As soon as a packet comes.
    AtOnce,
    /// Also at other times.
    Delayed,
}

impl Answers {
    fn to(source: &Source) -> Answers {
        match source.tcp() {
            Some(tcp) if tcp.delayed_ack > Span::ZERO => Answers::Delayed,
            // A report goes by a timer, too.
            None if source.is_answered() => Answers::Delayed,
            _ if source.is_answered() => Answers::AtOnce,
            _ => Answers::None,
        }
    }
}

/// The links between a pair of nodes: there and, if it is answered, back.
#[derive(Debug)]
struct Links {
    there: Vec<u32>,
    back: Vec<u32>,
    answers: Answers,
    /// How many flows go this way.
    flows: u32,
    /// Nothing but what comes back to it and its own timers happens to the first of them, which is
    /// one connection from its start to its stop or is open loop.
    plain: bool,
}

/// What comes out of a port over links that are fed in order and as fast as the port's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stream {
    port: u32,
    /// The delays since, with the port's.
    length: u64,
}

impl Links {
    /// The stream in which a packet, or its answer, enters each link of the way there and back.
    fn streams<Q>(
        &self,
        network: &Network<Q>,
        feeds: &[Feed],
        ports: &[u32],
    ) -> Vec<Option<Stream>> {
        let mut stream: Option<Stream> = None;
        let mut enter = |link: u32| {
            let enters = stream;
            let spec = &network.links[link as usize];
            let delay = spec.delay.as_nanos().max(1);
            stream = match (ports.binary_search(&link), feeds[link as usize]) {
                (Ok(port), _) => Some(Stream { port: port as u32, length: delay }),
                (Err(_), Feed::One(_)) => stream
                    .filter(|s| spec.rate >= network.links[ports[s.port as usize] as usize].rate)
                    .map(|s| Stream { length: s.length + delay, ..s }),
                _ => None,
            };
            enters
        };
        let mut enters: Vec<Option<Stream>> = self.there.iter().map(|&link| enter(link)).collect();
        // An acknowledgement that has waited is in no stream; but then the links behind are not fed
        // in order either.
        let answers = self.answers;
        enters.extend(self.back.iter().enumerate().map(|(i, &link)| {
            let stream = enter(link);
            stream.filter(|_| i > 0 || answers == Answers::AtOnce)
        }));
        enters
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
        let mut links: Vec<Links> = Vec::new();
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
                let plain =
                    answers == Answers::None || matches!(flow.source, Source::Tcp(_)) && !again;
                links.push(Links { there, back, answers, flows: 0, plain });
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
    fn lay<Q>(network: &Network<Q>, links: &[Links], which: &[usize], ports: Vec<u32>) -> Routes {
        let feeds = feeds(network.links.len(), links);
        let streams: Vec<Vec<Option<Stream>>> =
            links.iter().map(|l| l.streams(network, &feeds, &ports)).collect();
        let merge_points = merge_points(links, &streams, &feeds, &ports);
        let mut branches = Vec::new();
        let mut branch = BTreeMap::new();
        for (i, merge_point) in merge_points.iter().enumerate() {
            for (j, &length) in merge_point.lengths.iter().enumerate() {
                branch.insert((merge_point.link, length), branches.len() as u32);
                branches.push((i as u32, j as u32));
            }
        }
        let step = |link: u32, stream: Option<Stream>| match ports.binary_search(&link) {
            Ok(port) => Step::new(Kind::Queue, port as u32),
            Err(_) if matches!(feeds[link as usize], Feed::One(_)) => Step::new(Kind::Follow, link),
            Err(_) => match stream.and_then(|s| branch.get(&(link, s.length))) {
                Some(&branch) => Step::new(Kind::Join, branch),
                None => Step::new(Kind::Enter, link),
            },
        };
        let (mut steps, mut via) = (Vec::new(), Vec::new());
        let mut ways = Vec::with_capacity(links.len());
        for (Links { there, back, plain, .. }, streams) in links.iter().zip(&streams) {
            let (streams, returns) = streams.split_at(there.len());
            // It is the sole user of its first link if what it sends then waits for an event: else
            // it would be worked out to its end at once.
            let sole_user = *plain
                && matches!(there[..], [first, next, ..] if step(first, streams[0]).kind == Kind::Enter
                    && feeds[first as usize] == Feed::Sender && !step(next, streams[1]).is_free());
            let begin = steps.len() as u32;
            steps.extend(there.iter().zip(streams).map(|(&l, &s)| step(l, s)));
            let free = back.first().is_none_or(|&l| step(l, returns[0]).is_free());
            steps.push(Step::new(if free { Kind::Reach } else { Kind::Meet }, 0));
            let turn = steps.len() as u32;
            via.extend([u32::MAX].iter().chain(there));
            if !back.is_empty() {
                steps.extend(back.iter().zip(returns).map(|(&l, &s)| step(l, s)));
                steps.push(Step::new(if sole_user { Kind::Home } else { Kind::Return }, 0));
                via.extend(there.last().into_iter().chain(back));
            }
            ways.push(Way {
                there: begin,
                back: if back.is_empty() { 0 } else { turn },
                sole_user,
            });
        }
        let mut routes = Routes {
            steps,
            ways: which.iter().map(|&w| ways[w]).collect(),
            lookahead: vec![u64::MAX; ports.len()],
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

    /// The merge point that a [`Kind::Join`] means.
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
                Kind::Follow | Kind::Enter => pair[0].index(),
                Kind::Queue => self.ports[pair[0].index()] as usize,
                Kind::Join => self.merge_point(pair[0]).link as usize,
                Kind::Reach | Kind::Home | Kind::Meet | Kind::Return => continue,
            };
            if pair[1].is_free() {
                continue;
            }
            let sink_port = (pair[1].kind == Kind::Queue).then_some(pair[1].index);
            let alike = !self.events[link] || sink_port == self.sink_ports[link];
            self.sink_ports[link] = if alike { sink_port } else { None };
            self.events[link] = true;
        }
    }

    /// Works out [`Routes::lookahead`].
    fn look_ahead<Q>(&mut self, network: &Network<Q>, ways: &[Way]) {
        let delay = |link: usize| network.links[link].delay.as_nanos().max(1);
        let mut each = |begin: u32, answered: bool| {
            for (i, step) in self.steps[begin as usize..].iter().enumerate() {
                match step.kind {
                    Kind::Reach | Kind::Home | Kind::Meet | Kind::Return => break,
                    Kind::Queue => {
                        let port = step.index();
                        let mut latency = delay(self.ports[port] as usize);
                        for next in &self.steps[begin as usize + i + 1..] {
                            match next.kind {
                                Kind::Follow => latency += delay(next.index()),
                                // The way back is written down behind the way there.
                                Kind::Reach if answered => {}
                                Kind::Reach => latency = u64::MAX,
                                _ => break,
                            }
                            if latency == u64::MAX {
                                break;
                            }
                        }
                        self.lookahead[port] = self.lookahead[port].min(latency);
                    }
                    Kind::Follow | Kind::Join | Kind::Enter => {}
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

/// The links of which all that enters comes out of one port, in few enough branches.
fn merge_points(
    links: &[Links],
    streams: &[Vec<Option<Stream>>],
    feeds: &[Feed],
    ports: &[u32],
) -> Vec<MergePoint> {
    let mut entries: BTreeMap<u32, Option<(u32, BTreeSet<u64>)>> = BTreeMap::new();
    for (Links { there, back, .. }, streams) in links.iter().zip(streams) {
        for (&link, stream) in there.iter().chain(back).zip(streams) {
            if ports.binary_search(&link).is_ok() || matches!(feeds[link as usize], Feed::One(_)) {
                continue;
            }
            let known =
                entries.entry(link).or_insert_with(|| stream.map(|s| (s.port, BTreeSet::new())));
            match (&mut *known, stream) {
                (Some((port, lengths)), Some(stream)) if *port == stream.port => {
                    _ = lengths.insert(stream.length)
                }
                _ => *known = None,
            }
        }
    }
    let known = entries.into_iter().filter_map(|(link, known)| Some((link, known?)));
    let few = known.filter(|(_, (_, lengths))| lengths.len() <= BRANCHES);
    let merge_point = |(link, (port, lengths)): (_, (_, BTreeSet<u64>))| MergePoint {
        link,
        port,
        lengths: lengths.into_iter().collect(),
    };
    let mut merge_points: Vec<MergePoint> = few.map(merge_point).collect();
    merge_points.sort_by_key(|merge_point| merge_point.port);
    merge_points
}

/// Who feeds each link.
fn feeds(count: usize, links: &[Links]) -> Vec<Feed> {
    let mut feeds = vec![Feed::Nobody; count];
    let mut feed = |link: u32, from: Feed| {
        let slot = &mut feeds[link as usize];
        *slot = match (*slot, from) {
            (Feed::Nobody, from) => from,
            (Feed::One(known), Feed::One(one)) if known == one => from,
            _ => Feed::Several,
        };
    };
    for Links { there, back, answers, flows, .. } in links {
        // Senders act each at times of its own, in no order with another's.
        let mut from = if *flows == 1 { Feed::Sender } else { Feed::Several };
        for &link in there {
            feed(link, from);
            from = Feed::One(link);
        }
        if *answers == Answers::Delayed {
            from = Feed::Several; // an acknowledgement that has waited sets out by a timer
        }
        for &link in back {
            feed(link, from);
            from = Feed::One(link);
        }
    }
    feeds
}

/// Finds shortest ways, and remembers the trees of those found so far.
struct Finder {
    /// The links out of each node, in the order of links.
    out: Vec<Vec<u32>>,
    /// Where each link ends, and its delay.
    ends: Vec<(u32, u32, u64)>,
    trees: BTreeMap<u32, Vec<u32>>,
}

const NONE: u32 = u32::MAX;

impl Finder {
    fn new<Q>(network: &Network<Q>) -> Finder {
        let mut out = vec![Vec::new(); network.nodes.len()];
        for (i, link) in network.links.iter().enumerate() {
            out[link.from.index()].push(i as u32);
        }
        let ends = network.links.iter().map(|l| (l.from.0, l.to.0, l.delay.as_nanos())).collect();
        Finder { out, ends, trees: BTreeMap::new() }
    }

    /// The links from `from` to `to`.
    fn way(&mut self, from: u32, to: u32) -> Option<Vec<u32>> {
        let mut way = Vec::new();
        let mut root = from;
        // A node with one link out, such as a host, has no choice to make; so one tree serves all
        // hosts of a node.
        if let [only] = self.out[from as usize][..] {
            way.push(only);
            root = self.ends[only as usize].1;
            if root == to {
                return Some(way);
            }
        }
        let first = way.len();
        let (out, ends) = (&self.out, &self.ends);
        let tree = self.trees.entry(root).or_insert_with(|| tree(out, ends, root));
        let mut at = to;
        while at != root {
            let link = tree[at as usize];
            if link == NONE {
                return None;
            }
            way.push(link);
            at = self.ends[link as usize].0;
        }
        way[first..].reverse();
        Some(way)
    }
}

/// By which link one comes to each node on the shortest way from `root`: fewest hops, least delay,
/// first declared.
fn tree(out: &[Vec<u32>], ends: &[(u32, u32, u64)], root: u32) -> Vec<u32> {
    let mut via = vec![NONE; out.len()];
    let mut cost = vec![(u64::MAX, u64::MAX); out.len()];
    let mut queue = BinaryHeap::new();
    cost[root as usize] = (0, 0);
    queue.push(Reverse(((0, 0), root)));
    while let Some(Reverse((here, node))) = queue.pop() {
        if here > cost[node as usize] {
            continue;
        }
        for &link in &out[node as usize] {
            let (_, to, delay) = ends[link as usize];
            let there = (here.0 + 1, here.1 + delay);
            if (there, link) < (cost[to as usize], via[to as usize]) && to != root {
                if there < cost[to as usize] {
                    queue.push(Reverse((there, to)));
                }
                cost[to as usize] = there;
                via[to as usize] = link;
            }
        }
    }
    via
}
