//! The flow cache: how many bytes each flow has sent since the cache was cleared, in a fixed number
//! of slots. It also says who was at the top when it was last closed.
use crate::parts::bins::{Bins, FlowBins};
use crate::rng::Rng;

/// A flow and its bytes; free while those are 0.
#[derive(Clone, Copy, Debug, Default)]
struct CacheSlot {
    flow: u64,
    bytes: u64,
}

/// Two tables under the same keys. One counts; the other stands still and tells who is at the top.
#[derive(Clone, Debug)]
pub(super) struct FlowCache {
    open: Bins<CacheSlot>,
    closed: Bins<CacheSlot>,
    stages: usize,
    /// The most bytes in a slot of the open table.
    most: u64,
    /// A flow of the closed table is at the top if it has more bytes than this.
    bar: f64,
    /// How many are.
    top: u32,
}

impl FlowCache {
    pub(super) fn new(stages: u32, slots: u32, dice: &mut Rng) -> FlowCache {
        let mut open = Bins::new(stages as usize, slots);
        open.rekey(dice);
        let stages = stages as usize;
        FlowCache { closed: open.clone(), open, stages, most: 0, bar: f64::INFINITY, top: 0 }
    }

    /// What it takes besides its own size, in bytes.
    pub(super) fn bytes(stages: u32, slots: u32) -> u64 {
        2 * stages as u64 * slots as u64 * core::mem::size_of::<CacheSlot>() as u64
    }

    /// Where a flow may be.
    pub(super) fn slots_of(&self, flow: u64) -> FlowBins {
        self.open.places(flow)
    }

    /// How many flows are at the top.
    pub(super) fn top(&self) -> u32 {
        self.top
    }

    /// `flow` sends `bytes`. The first of its slots that is its own or free counts them; where
    /// others have them all, nobody does.
    #[inline]
    pub(super) fn count(&mut self, flow: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let places = self.open.places(flow);
        for stage in 0..self.stages {
            let slot = &mut self.open[places.on(stage)];
            if slot.bytes == 0 {
                slot.flow = flow;
            } else if slot.flow != flow {
                continue;
            }
            slot.bytes += bytes;
            self.most = self.most.max(slot.bytes);
            return;
        }
    }

    /// Whether `flow` was at the top when the table was closed.
    #[inline]
    pub(super) fn is_top(&self, flow: u64) -> bool {
        if self.top == 0 {
            return false;
        }
        let places = self.closed.places(flow);
        (0..self.stages).any(|stage| {
            let slot = self.closed[places.on(stage)];
            slot.flow == flow && slot.bytes as f64 > self.bar
        })
    }

    /// The flows with more than `1 - margin` of the most are the top from now on, and counting
    /// begins anew. Returns their bytes.
    pub(super) fn close(&mut self, margin: f64) -> u64 {
        core::mem::swap(&mut self.open, &mut self.closed);
        self.bar = self.most as f64 * (1.0 - margin);
        let (mut flows, mut bytes) = (0, 0);
        for slot in self.closed.iter().filter(|slot| slot.bytes as f64 > self.bar) {
            (flows, bytes) = (flows + 1, bytes + slot.bytes);
        }
        self.top = flows;
        self.open.clear();
        self.most = 0;
        bytes
    }

    /// Nobody is at the top from now on, and counting begins anew.
    pub(super) fn clear(&mut self) {
        if self.most > 0 {
            self.open.clear();
        }
        (self.most, self.bar, self.top) = (0, f64::INFINITY, 0);
    }
}
