//! Who feeds each link, and which links several streams of one port enter.
use std::collections::{BTreeMap, BTreeSet};

use tidegate::Span;

use super::merge_point::{BRANCHES, MergePoint};
use super::network::Network;
use crate::sources::Source;

/// Who feeds a link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Feed {
    Nobody,
    /// The sender of one flow, whose way begins here.
    Sender,
    /// What comes out of this link.
    One(u32),
    Several,
}

/// When a flow is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Answers {
    /// Never.
    None,
    /// As soon as a packet comes.
    AtOnce,
    /// Also at other times.
    Delayed,
}

impl Answers {
    pub(super) fn to(source: &Source) -> Answers {
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
pub(super) struct LinkPair {
    pub(super) there: Vec<u32>,
    pub(super) back: Vec<u32>,
    pub(super) answers: Answers,
    /// How many flows go this way.
    pub(super) flows: u32,
    /// Whether the first of them can run ahead. It is one connection from its start to its stop, or
    /// an open loop. Only its own timers and what comes back to it change its state, and nobody
    /// reads its window. Where there are more flows, none of them runs ahead.
    pub(super) plain: bool,
}

/// What comes out of a port over links that are fed in order and as fast as the port's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) port: u32,
    /// The delays since, with the port's.
    pub(super) length: u64,
}

impl LinkPair {
    /// The stream in which a packet, or its answer, enters each link of the way there and back.
    pub(super) fn streams<Q>(
        &self,
        network: &Network<Q>,
        feeds: &[Feed],
        ports: &[u32],
    ) -> Vec<Option<Stream>> {
        let peak = |port: u32| network.peak(ports[port as usize]);
        let mut stream: Option<Stream> = None;
        let mut enter = |link: u32| {
            let enters = stream;
            let spec = &network.links[link as usize];
            let delay = spec.delay.as_nanos().max(1);
            stream = match (ports.binary_search(&link), feeds[link as usize]) {
                (Ok(_), _) if network.reorders(link) => None,
                (Ok(port), _) => Some(Stream { port: port as u32, length: delay }),
                (Err(_), Feed::One(_)) => stream
                    .filter(|s| spec.rate >= peak(s.port))
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

/// The links that only packets from one port enter, in few enough branches.
pub(super) fn merge_points(
    links: &[LinkPair],
    streams: &[Vec<Option<Stream>>],
    feeds: &[Feed],
    ports: &[u32],
) -> Vec<MergePoint> {
    let mut entries: BTreeMap<u32, Option<(u32, BTreeSet<u64>)>> = BTreeMap::new();
    for (LinkPair { there, back, .. }, streams) in links.iter().zip(streams) {
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
pub(super) fn feeds<Q>(network: &Network<Q>, links: &[LinkPair]) -> Vec<Feed> {
    let mut feeds = vec![Feed::Nobody; network.links.len()];
    // What comes out of a link that reorders is in no order that is known ahead.
    let out_of = |link: u32| if network.reorders(link) { Feed::Several } else { Feed::One(link) };
    let mut feed = |link: u32, from: Feed| {
        let slot = &mut feeds[link as usize];
        *slot = match (*slot, from) {
            (Feed::Nobody, from) => from,
            (Feed::One(known), Feed::One(one)) if known == one => from,
            _ => Feed::Several,
        };
    };
    for LinkPair { there, back, answers, flows, .. } in links {
        // Senders act each at times of its own, in no order with another's.
        let mut from = if *flows == 1 { Feed::Sender } else { Feed::Several };
        for &link in there {
            feed(link, from);
            from = out_of(link);
        }
        if *answers == Answers::Delayed {
            from = Feed::Several; // an acknowledgement that has waited sets out by a timer
        }
        for &link in back {
            feed(link, from);
            from = out_of(link);
        }
    }
    feeds
}
