//! What a managed direction measures while it moves frames: who sends, how long frames wait, what
//! classes get.
use tidegate::{Packet, Span, Time};
use tidegate_packet::Ends;

use crate::path::sort::Sorter;
use crate::watch::counters::ClassTally;
use crate::watch::heavy::Heavy;
use crate::watch::offenders::OffenderRules;
use crate::watch::sample::LaneSample;
use crate::watch::sojourn::Sojourns;

/// The part of all waits that is taken for the short ones.
const SHORT: f64 = 0.1;

/// The key that a flow's frames of a class are counted by: a sender in several classes has a share
/// in each.
#[inline]
fn key(flow: u64, class: u16) -> u64 {
    // 2^64 by the golden ratio: far apart
    flow ^ u64::from(class).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Whether a queue has the classes of today.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassLayout {
    /// It has.
    Current,
    /// It has those from before a reload: its frames are of no class of today's.
    Previous,
}

/// What is measured.
#[derive(Debug)]
pub struct Meter {
    heavy: Heavy,
    /// How long an interval of `heavy` is.
    interval: Span,
    /// When it began; not before the first sample.
    began: Option<Time>,
    /// What arrived in it that is not judged, in bytes on the wire.
    allowed: u64,
    /// What arrived in it of each class, as for `classes`.
    arrived: Vec<u64>,
    sojourns: Sojourns,
    /// They at its beginning.
    before: Sojourns,
    /// The longest since the last sample.
    longest: Span,
    /// As many as there are classes; none if frames are not told apart.
    classes: Vec<ClassTally>,
}

impl Meter {
    /// A meter of `classes` classes whose intervals are those of `rules`.
    pub fn new(rules: &OffenderRules, classes: usize) -> Meter {
        Meter {
            heavy: Heavy::new(),
            interval: rules.interval,
            began: None,
            allowed: 0,
            arrived: vec![0; classes],
            sojourns: Sojourns::default(),
            before: Sojourns::default(),
            longest: Span::ZERO,
            classes: vec![ClassTally::default(); classes],
        }
    }

    /// A frame is offered to the queue.
    #[inline]
    pub fn arrived(&mut self, packet: &Packet, ends: &Ends) {
        self.heavy.arrived(key(packet.flow, packet.class), packet.len, packet.class, ends);
        let class = usize::from(packet.class);
        if let (Some(class), Some(arrived)) =
            (self.classes.get_mut(class), self.arrived.get_mut(class))
        {
            class.received.add(packet.len);
            *arrived += u64::from(packet.len);
        }
    }

    /// A frame that is not judged has arrived.
    #[inline]
    pub(crate) fn allowed(&mut self, packet: &Packet) {
        self.allowed += u64::from(packet.len);
    }

    /// The queue has dropped a frame of `flow`, as which it [arrived](Meter::arrived); the queue
    /// may know it by another key.
    #[inline]
    pub fn lost(&mut self, flow: u64, packet: &Packet, of: ClassLayout) {
        self.heavy.lost(key(flow, packet.class), packet.len);
        if of == ClassLayout::Current
            && let Some(class) = self.classes.get_mut(usize::from(packet.class))
        {
            class.lost.add(packet.len);
        }
    }

    /// A frame of `flow` that the queue had given to the link was lost all the same. To its class
    /// it has left the queue.
    #[inline]
    pub(crate) fn lost_after(&mut self, flow: u64, packet: &Packet) {
        self.heavy.lost(key(flow, packet.class), packet.len);
    }

    /// The queue has given a frame to the link.
    #[inline]
    pub fn left(&mut self, packet: &Packet, of: ClassLayout) {
        if of == ClassLayout::Current
            && let Some(class) = self.classes.get_mut(usize::from(packet.class))
        {
            class.left.add(packet.len);
        }
    }

    /// A frame goes onto the link after it has waited for so long.
    #[inline]
    pub fn waited(&mut self, waited: Span) {
        self.sojourns.add(waited);
        self.longest = self.longest.max(waited);
    }

    /// Goes on with the intervals of `to`, and with its classes unless they are `same`. What is
    /// left over is to be given back.
    pub(crate) fn renew(&mut self, mut to: Meter, same: bool) -> Meter {
        self.interval = to.interval;
        if !same {
            std::mem::swap(&mut self.classes, &mut to.classes);
            std::mem::swap(&mut self.arrived, &mut to.arrived);
        }
        to
    }

    /// Writes down what is measured at `now`, and begins a new interval if one has ended. `sorter`
    /// knows which flow is between which ends.
    pub fn sample(&mut self, now: Time, sorter: &Sorter, into: &mut LaneSample) {
        (into.sojourns, into.longest) = (self.sojourns, self.longest);
        self.longest = Span::ZERO;
        into.classes.clear();
        into.classes.extend_from_slice(&self.classes);
        into.closed = false;
        match self.began.map(|began| now.since(began)) {
            Some(span) if span < self.interval => return,
            Some(span) => {
                into.closed = true;
                let interval = &mut into.interval;
                (interval.span, interval.arrived, interval.unseen) =
                    (span, self.heavy.all(), self.heavy.unseen());
                interval.allowed = self.allowed;
                let waits = self.sojourns.since(&self.before);
                interval.wait = waits.quantile(SHORT).unwrap_or(Span::ZERO);
                interval.classes.clear();
                interval.classes.extend_from_slice(&self.arrived);
                interval.flows.clear();
                interval.flows.extend(self.heavy.flows().iter().map(|flow| sorter.sent(flow)));
            }
            None => {}
        }
        (self.began, self.allowed, self.before) = (Some(now), 0, self.sojourns);
        self.arrived.fill(0);
        self.heavy.clear();
    }
}
