//! Who is who: which senders react to losses, which flood, which come and go.
use tidegate::Span;
use tidegate_packet::Transport;

use super::conversation::{DirectedFlow, TimeGrid};
use super::round_trip::{Halves, KnownBy, USUAL_RTT_MS, fill};
use super::survey::{Loaded, Survey};
use super::window::{LinkLoad, TimeWindow, WindowSent};

/// A sender whose rate varies less, in deviations over the mean, sends at a fixed rate. TCP's rate
/// varies by a fifth even alone; what a capture's clock and a busy machine do to a fixed one is
/// below a tenth.
const STEADY: f64 = 0.15;
/// Of its fair share, what a TCP that lost nothing must send to be held back by the link.
const THIN: f64 = 0.1;
/// A transfer that ended and lasted less than this part of the window is a short one.
const SHORT: f64 = 0.5;
/// Of packets, what a sender must lose for its reaction to be judged.
const LOSES: f64 = 0.01;
/// By so much a sender must exceed what TCP would send at its loss and round trip (mathis1997,
/// √1.5 / √p packets a round trip). Twice is within TCP's own scatter.
const UNFRIENDLY: f64 = 4.0;
/// Packets of the other end, as a part of its own, that are more than a greeting.
const ANSWERED: f64 = 0.02;
/// A connection that sent until so shortly before the window, in s, and did not end, would go on.
const STALLED: f64 = 3.0;
/// Segments that make a connection one that had something to send.
const AT_WORK: u64 = 10;
/// Sizes of stalled transfers are estimates: what exceeds the largest by less is as large.
const LARGER: f64 = 1.25;
/// Packets without which a flow is not worth a word.
const LEAST_PACKETS: u64 = 3;

/// What kind of sender a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SenderKind {
    /// TCP that goes on and heeds losses.
    Long,
    /// A transfer that ended, or would have.
    Short,
    /// It heeds nothing.
    Flood,
    /// It asks for less than the link would give it.
    Thin,
    /// Its packets are encrypted QUIC: it is taken to react.
    Quic,
    /// Datagrams both ways at a rate that varies: nobody can tell whether it reacts. It is taken
    /// to.
    Untold,
}

/// A flow and what it is.
#[derive(Clone, Debug)]
pub(super) struct Judged<'s> {
    pub(super) flow: DirectedFlow<'s>,
    pub(super) kind: SenderKind,
    pub(super) sent: WindowSent,
    /// While it sends, in bit/s.
    pub(super) rate: f64,
    pub(super) round_trip: Option<(Span, KnownBy)>,
}

/// Where the capture was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    /// Before the queue: what is lost was seen.
    Before,
    /// Behind the queue: what is lost was not.
    Behind,
    /// It does not show.
    Unknown,
}

/// Everybody who sends while the link is congested.
#[derive(Clone, Debug)]
pub(super) struct CongestedSenders<'s> {
    pub(super) window: TimeWindow,
    pub(super) spot: Spot,
    pub(super) flows: Vec<Judged<'s>>,
    /// Bytes of each transfer that came to an end soon, before the window too, from least to most.
    pub(super) sizes: Vec<u64>,
    /// Requests for a connection that were never answered.
    pub(super) unanswered: u64,
}

/// Judges everybody in `loaded` within `window`, or the part of it in which there is a flood.
pub(super) fn judge<'s>(
    survey: &Survey,
    loaded: &Loaded<'s>,
    load: &LinkLoad,
    window: TimeWindow,
    rate: f64,
) -> CongestedSenders<'s> {
    let court = Court::new(loaded, load.grid, window, rate);
    let first = court.everybody(loaded);
    let steady = |j: &&Judged<'_>| j.kind == SenderKind::Flood && j.sent.duty() > 0.85;
    let floods: Vec<_> =
        first.iter().filter(steady).filter_map(|j| Some((j.sent.span?, j.rate))).collect();
    let window = load.flooded(window, &floods);
    let court = Court::new(loaded, load.grid, window, rate);
    let unanswered =
        |flow: &&DirectedFlow<'_>| flow.way().opened.is_some() && flow.back().packets == 0;
    // Where only one direction was captured, no answer is to be seen.
    let requests = loaded.flows.iter().filter(|_| loaded.back_packets > 0);
    let unanswered = requests.filter(unanswered).count() as u64;
    CongestedSenders {
        window,
        spot: spot(survey, loaded, load),
        flows: court.everybody(loaded),
        sizes: court.sizes(loaded),
        unanswered,
    }
}

/// Where the capture was taken, as far as losses and loads show it.
fn spot(survey: &Survey, loaded: &Loaded<'_>, load: &LinkLoad) -> Spot {
    let sum = |of: fn(&DirectedFlow<'_>) -> u64| loaded.flows.iter().map(of).sum::<u64>();
    let again = sum(|flow| flow.way().sequence.again);
    let filled = sum(|flow| flow.way().sequence.filled);
    let enough = 10.max(survey.packets / 100_000);
    if load.beyond() || again >= enough && again > 4 * filled {
        Spot::Before
    } else if filled >= enough && filled > 4 * again {
        Spot::Behind
    } else {
        Spot::Unknown
    }
}

/// What a flow is judged by.
struct Court {
    grid: TimeGrid,
    window: TimeWindow,
    /// What each would get if all who send asked for everything, in bit/s.
    fair: f64,
    /// The most data of a transfer that came to an end soon; none if no transfer did.
    ended: Option<u64>,
}

impl Court {
    fn new(loaded: &Loaded<'_>, grid: TimeGrid, window: TimeWindow, rate: f64) -> Court {
        let mut court = Court { grid, window, fair: rate, ended: None };
        let sends = |flow: &DirectedFlow<'_>| {
            WindowSent::by(*flow, window).packets >= LEAST_PACKETS || court.stalled(*flow)
        };
        let count = loaded.flows.iter().filter(|flow| court.counts(flow) && sends(flow)).count();
        court.fair = rate / count.max(1) as f64;
        let ended = loaded.flows.iter().filter(|flow| court.ended_soon(**flow));
        court.ended = ended.map(|flow| flow.way().once()).max();
        court
    }

    /// Whether a flow carries data.
    fn counts(&self, flow: &DirectedFlow<'_>) -> bool {
        !is_tcp(*flow) || flow.way().data > 0
    }

    fn everybody<'s>(&self, loaded: &Loaded<'s>) -> Vec<Judged<'s>> {
        let flows = loaded.flows.iter().filter(|flow| self.counts(flow));
        let mut judged: Vec<_> = flows.filter_map(|flow| self.judged(*flow)).collect();
        let mut trips: Vec<Halves<'_>> = judged.iter_mut().map(halves).collect();
        fill(&mut trips, Span::from_secs(USUAL_RTT_MS / 1e3));
        judged
    }

    fn judged<'s>(&self, flow: DirectedFlow<'s>) -> Option<Judged<'s>> {
        let sent = WindowSent::by(flow, self.window);
        // What ended just then was over, and is no user that the flood leaves nothing.
        let starved = sent.packets < LEAST_PACKETS;
        if starved && (!self.stalled(flow) || self.ended_soon(flow)) {
            return None;
        }
        let rate = sent.rate(self.grid);
        let round_trip = flow.conversation.round_trips.least();
        let kind = if starved {
            if self.would_end(flow) { SenderKind::Short } else { SenderKind::Long }
        } else if is_tcp(flow) {
            self.tcp(flow, &sent, rate)
        } else {
            self.datagrams(flow, &sent, rate)
        };
        Some(Judged { flow, kind, sent, rate, round_trip })
    }

    fn datagrams(&self, flow: DirectedFlow<'_>, sent: &WindowSent, rate: f64) -> SenderKind {
        if flow.conversation.quic {
            return SenderKind::Quic;
        }
        // Who asks for no more than a share takes it from nobody.
        if rate <= self.fair {
            return SenderKind::Thin;
        }
        let steady = sent.variation().is_none_or(|variation| variation < STEADY);
        let answers = flow.back().packets as f64 > ANSWERED * flow.way().packets as f64;
        if steady || !answers { SenderKind::Flood } else { SenderKind::Untold }
    }

    fn tcp(&self, flow: DirectedFlow<'_>, sent: &WindowSent, rate: f64) -> SenderKind {
        if self.ended_soon(flow) || self.would_end(flow) {
            return SenderKind::Short;
        }
        let little = rate < THIN * self.fair && self.before(flow) < THIN * self.fair;
        if sent.again == 0 && little {
            return SenderKind::Thin;
        }
        if self.heeds_nothing(flow, sent, rate) { SenderKind::Flood } else { SenderKind::Long }
    }

    /// Whether it loses much and sends on as before, at a rate that no TCP has at such losses.
    fn heeds_nothing(&self, flow: DirectedFlow<'_>, sent: &WindowSent, rate: f64) -> bool {
        let lost = sent.again as f64 / sent.packets.max(1) as f64;
        if lost < LOSES || sent.packets < 200 {
            return false;
        }
        let steady = sent.variation().is_some_and(|variation| variation < STEADY);
        let trips = &flow.conversation.round_trips;
        let least = trips.least().map(|(span, _)| span);
        let Some(least) = least else { return steady && lost > 5.0 * LOSES };
        let seconds = (least + trips.wait().unwrap_or(Span::ZERO)).as_secs().max(1e-4);
        let packet = f64::from(flow.way().longest.min(1514)) * 8.0;
        let friendly = (1.5 / lost).sqrt() * packet / seconds;
        steady && rate > UNFRIENDLY * friendly
    }

    /// The rate of a flow before the window, in bit/s.
    fn before(&self, flow: DirectedFlow<'_>) -> f64 {
        WindowSent::by(flow, TimeWindow { from: 0, to: self.window.from }).rate(self.grid)
    }

    /// Whether a connection was at work just before the window and did not end: a flood can leave
    /// it nothing at all.
    fn stalled(&self, flow: DirectedFlow<'_>) -> bool {
        let way = flow.way();
        let over = flow.ended().is_some_and(|at| self.grid.index(at) < self.window.from);
        let patience = (STALLED / self.grid.seconds()).ceil() as u32;
        let lately = self.grid.index(way.last) + patience >= self.window.from;
        let before = self.grid.index(way.first) < self.window.from;
        way.data_packets >= AT_WORK && before && lately && !over
    }

    /// Whether it came to an end within the window, and soon.
    fn ended_soon(&self, flow: DirectedFlow<'_>) -> bool {
        let within = flow.ended().is_some_and(|at| {
            let index = self.grid.index(at);
            (self.window.from..self.window.to).contains(&index)
        });
        within && is_tcp(flow) && self.life(flow) < SHORT
    }

    /// Bytes of each transfer that came to an end soon, from least to most.
    fn sizes(&self, loaded: &Loaded<'_>) -> Vec<u64> {
        let ended = |flow: &&DirectedFlow<'_>| {
            is_tcp(**flow) && flow.opened().is_some() && flow.ended().is_some()
        };
        let soon = loaded.flows.iter().filter(ended).filter(|flow| self.life(**flow) < SHORT);
        let mut sizes: Vec<u64> = soon.map(|flow| flow.way().once()).collect();
        sizes.sort_unstable();
        sizes
    }

    /// Whether others like it have ended: it began within the window, or it is no larger than they
    /// are and stalls.
    fn would_end(&self, flow: DirectedFlow<'_>) -> bool {
        let Some(largest) = self.ended else { return false };
        let Some(since) = flow.opened() else { return false };
        let began = self.grid.index(since) >= self.window.from;
        began && self.life(flow) < SHORT || flow.way().once() as f64 <= LARGER * largest as f64
    }

    /// From its first packet to its last, as a part of the window's length.
    fn life(&self, flow: DirectedFlow<'_>) -> f64 {
        let way = flow.way();
        let steps = self.grid.index(way.last) + 1 - self.grid.index(way.first);
        f64::from(steps) / f64::from((self.window.to - self.window.from).max(1))
    }
}

/// What is known of a flow's round trip, that towards its receiver first.
fn halves<'j>(judged: &'j mut Judged<'_>) -> Halves<'j> {
    let (trips, from) = (&judged.flow.conversation.round_trips, judged.flow.from);
    let halves = [trips.half(from), trips.half(1 - from)];
    let ends = judged.flow.ends();
    let hosts = [ends.destination, ends.source];
    Halves { known: &mut judged.round_trip, halves, hosts }
}

pub(super) fn is_tcp(flow: DirectedFlow<'_>) -> bool {
    matches!(flow.conversation.ends.transport, Transport::Ports { protocol: 6, .. })
}
