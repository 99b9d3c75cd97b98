//! The end-to-end metrics of RFC 7928 §2 that cost a packet something: measured only in a network
//! whose [idle ways](crate::Network::idle_ways) are known.
use tidegate::Span;

use crate::measure::delay::Delay;
use crate::measure::histogram::{BITS, Histogram, part};
use crate::net::flight::Body;

/// What an idle way takes is given for packets of no length and of two to this many bytes.
pub(crate) const LONG: u32 = 16;

/// No packet of a flow has been lost yet.
const NONE: u32 = u32::MAX;

/// The meters, by flow and by group.
#[derive(Clone, Debug)]
pub(crate) struct EndToEnd {
    flows: Vec<OfFlow>,
    variation: Vec<Histogram>,
    startup: Vec<Histogram>,
}

/// One flow.
#[derive(Clone, Copy, Debug)]
struct OfFlow {
    /// What its idle way takes a packet of no length, in nanoseconds, and how much more a long one.
    idle: [u64; 2],
    /// When its latest transfer was finished; 0 for never.
    finished: u64,
    /// Its latest packet that was lost, and the runs of successive ones among those that count.
    lost: u32,
    runs: u32,
}

impl EndToEnd {
    /// None if `idle`, of each flow, is not known.
    pub fn new(idle: &[[Span; 2]], groups: usize) -> Option<Box<EndToEnd>> {
        let flow = |[none, long]: &[Span; 2]| {
            let none = none.as_nanos();
            let more = long.as_nanos().saturating_sub(none);
            OfFlow { idle: [none, more], finished: 0, lost: NONE, runs: 0 }
        };
        let empty = || vec![Histogram::new(); groups];
        (!idle.is_empty()).then(|| {
            let flows = idle.iter().map(flow).collect();
            Box::new(EndToEnd { flows, variation: empty(), startup: empty() })
        })
    }

    /// A packet of `len` bytes of a flow reaches its receiver after `took`.
    pub fn delivered(&mut self, flow: u32, group: u32, len: u32, took: u64) {
        let Some(OfFlow { idle: [none, more], .. }) = self.flows.get(flow as usize) else { return };
        let over =
            took.saturating_sub(none + ((u128::from(*more) * u128::from(len)) >> LONG) as u64);
        self.variation[group as usize].record_in(part(BITS, over), over);
    }

    /// A connection's request arrives, `took` after it was begun.
    pub fn opened(&mut self, group: u32, took: u64) {
        self.startup[group as usize].record(Span::from_nanos(took));
    }

    /// A transfer is finished at `at`.
    pub fn finished(&mut self, flow: u32, at: u64) {
        if let Some(flow) = self.flows.get_mut(flow as usize) {
            flow.finished = flow.finished.max(at);
        }
    }

    /// A packet is lost; whether that `counts`.
    pub fn lost(&mut self, flow: u32, data: Body, counts: bool) {
        let Some(flow) = self.flows.get_mut(flow as usize) else { return };
        let follows = flow.lost != NONE && data.seq() == flow.lost.wrapping_add(1);
        flow.runs += u32::from(counts && !(follows && flow.runs > 0));
        flow.lost = data.seq();
    }

    /// Of a group: the variation of its delays, and how long its requests took.
    pub fn of_group(&self, group: usize) -> [Delay; 2] {
        [self.variation[group].delay(), self.startup[group].delay()]
    }

    /// Of a flow: when its latest transfer was finished, and the runs of its losses.
    pub fn of_flow(&self, flow: usize) -> (u64, u32) {
        self.flows.get(flow).map_or((0, 0), |flow| (flow.finished, flow.runs))
    }
}
