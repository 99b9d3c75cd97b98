//! FQ-CoDel read straight from hoeiland2018 (RFC 8290 §4), on top of the naive CoDel.
//!
//! The driver says which queue a flow hashes to; everything else is decided here, and must be what
//! the queue decides: FQ-CoDel rolls no dice for a packet.
use super::codel::{Did, Item, NaiveCodel};
use super::hosts::Hosts;
use super::turns::NaiveTurns;

/// The packet limit, in whichever unit (§5.2.3).
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    Packets(usize),
    Bytes(u64),
}

#[derive(Clone, Debug)]
pub struct NaiveFqCodel {
    pub limit: Limit,
    pub quantum: i64,
    pub batch: usize,
    /// As Linux has it: half of the bytes, and its drops count as CoDel's.
    pub half_of_bytes: bool,
    pub counts_all: bool,
    pub queues: Vec<NaiveCodel>,
    /// The lists of new and of old queues (§4); a queue in neither is inactive.
    pub turns: NaiveTurns,
}

impl NaiveFqCodel {
    pub fn new(
        queues: usize,
        quantum: i64,
        batch: usize,
        limit: Limit,
        codel: &NaiveCodel,
    ) -> NaiveFqCodel {
        NaiveFqCodel {
            limit,
            quantum,
            batch,
            half_of_bytes: false,
            counts_all: false,
            queues: vec![codel.clone(); queues],
            turns: NaiveTurns::new(queues),
        }
    }

    pub fn packets(&self) -> usize {
        self.queues.iter().map(|q| q.items.len()).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.queues.iter().map(NaiveCodel::bytes).sum()
    }

    fn too_much(&self) -> bool {
        match self.limit {
            Limit::Packets(most) => self.packets() > most,
            Limit::Bytes(most) => self.bytes() > most,
        }
    }

    /// §4.1: the packet joins its queue, which becomes a new one if it was inactive. Above the
    /// limit, half the packets of the queue with the most bytes, up to a batch, are dropped from
    /// its head. Returns what was dropped.
    ///
    /// Half of one packet is one; of several fattest queues the first. A packet that is longer than
    /// the limit itself is refused instead of emptying everything. If all packets have no length,
    /// the packet's own queue is taken for the fattest. On all four the RFC is silent.
    pub fn enqueue(&mut self, queue: usize, hosts: Hosts, item: Item) -> Vec<u32> {
        if matches!(self.limit, Limit::Bytes(most) if item.bytes > most) {
            return vec![item.id];
        }
        self.queues[queue].items.push_back(item);
        self.turns.joined(queue, hosts, self.quantum, true);
        let mut dropped = Vec::new();
        while self.too_much() {
            let mut fattest = if self.bytes() > 0 { 0 } else { queue };
            for q in 1..self.queues.len() {
                if self.queues[q].bytes() > self.queues[fattest].bytes() {
                    fattest = q;
                }
            }
            let bytes = self.queues[fattest].bytes();
            let items = &mut self.queues[fattest].items;
            let mut half = (items.len() / 2).clamp(1, self.batch);
            if self.half_of_bytes {
                // As few from the head as are half of the bytes; one at least.
                half = 1;
                while half < self.batch
                    && half < items.len()
                    && 2 * items.iter().take(half).map(|item| item.bytes).sum::<u64>()
                        < bytes - bytes % 2
                {
                    half += 1;
                }
            }
            dropped.extend(items.drain(..half).map(|item| item.id));
            if self.counts_all {
                self.queues[fattest].count += half as u64;
            }
        }
        dropped
    }

    /// §4.2: new queues before old ones. A queue whose credits are used up gets a quantum and goes
    /// to the end of the old list. An empty one goes from the new list to the end of the old one,
    /// from the old list away.
    pub fn dequeue(&mut self, now: u64) -> Did {
        let mut did = Did::default();
        let (queues, quantum) = (&mut self.queues, self.quantum);
        let send = |queue: usize| {
            let lengths: Vec<(u32, u64)> =
                queues[queue].items.iter().map(|i| (i.id, i.bytes)).collect();
            // nichols2018 §4.4: what waits in the other queues keeps the link busy, too.
            let waits: u64 = queues.iter().map(NaiveCodel::bytes).sum();
            queues[queue].elsewhere = waits - queues[queue].bytes();
            let codel = queues[queue].dequeue(now);
            did.dropped.extend(codel.dropped);
            did.marked.extend(codel.marked);
            did.sent = codel.sent;
            let sent = lengths.iter().find(|(id, _)| Some(*id) == did.sent);
            sent.map(|(_, bytes)| *bytes)
        };
        self.turns.next(|_| quantum, send);
        did
    }
}
