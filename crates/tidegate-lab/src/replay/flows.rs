//! The flows of a capture: at most [`FLOWS`] by name, the rest together.
use std::collections::BTreeMap;

use tidegate_packet::Flow;
use tidegate_report::Counts;

use super::ReplayGroup;
use super::delays::Sparse;

/// Flows that are kept apart.
pub const FLOWS: usize = 1_000_000;

const CLASSES: usize = ReplayGroup::ALL.len();

/// What became of one flow's packets.
#[derive(Clone, Debug)]
pub(super) struct Tale {
    /// Who it is; `None` for flows beyond the limit, together.
    pub(super) flow: Option<Flow>,
    pub(super) packets: Counts,
    pub(super) bytes: Counts,
    /// Bytes offered, by class.
    pub(super) offered: [u64; CLASSES],
    /// Bytes delivered, by class; stands still after the capture's end.
    pub(super) in_time: [u64; CLASSES],
    pub(super) delays: Sparse,
}

impl Tale {
    pub(super) fn of(flow: Option<Flow>) -> Tale {
        Tale {
            flow,
            packets: Counts::default(),
            bytes: Counts::default(),
            offered: [0; CLASSES],
            in_time: [0; CLASSES],
            delays: Sparse::default(),
        }
    }
}

/// The table of flows, in the order of their first packets.
#[derive(Debug)]
pub(super) struct CapturedFlows {
    by_hash: BTreeMap<u64, u32>,
    pub(super) tales: Vec<Tale>,
    limit: usize,
    /// What the flows beyond the limit did, together.
    pub(super) others: Tale,
}

/// Where a packet's flow and class are found again.
pub(super) struct Slot {
    /// The flow as the queue knows it.
    pub(super) flow_hash: u64,
    /// For [`Packet::slot`](tidegate::Packet::slot).
    pub(super) number: u32,
}

/// The flow number that stands for all beyond the limit.
const OTHERS: u32 = u32::MAX >> 2;

impl CapturedFlows {
    pub(super) fn new(limit: usize) -> CapturedFlows {
        CapturedFlows { by_hash: BTreeMap::new(), tales: Vec::new(), limit, others: Tale::of(None) }
    }

    /// The slot of a packet of `class` whose flow has this hash; a flow not seen before is named by
    /// `name`.
    pub(super) fn slot(
        &mut self,
        flow_hash: u64,
        class: ReplayGroup,
        name: impl FnOnce() -> Flow,
    ) -> Slot {
        let flow = match self.by_hash.get(&flow_hash) {
            Some(&flow) => flow,
            None if self.tales.len() < self.limit => {
                let flow = self.tales.len() as u32;
                self.by_hash.insert(flow_hash, flow);
                self.tales.push(Tale::of(Some(name())));
                flow
            }
            None => OTHERS,
        };
        Slot { flow_hash, number: flow << 2 | class as u32 }
    }

    /// The tale and the class of the packet in slot `number`.
    pub(super) fn tale(&mut self, number: u32) -> (&mut Tale, ReplayGroup) {
        let tale = match number >> 2 {
            OTHERS => &mut self.others,
            flow => &mut self.tales[flow as usize],
        };
        (tale, ReplayGroup::ALL[(number & 3) as usize])
    }

    /// Whether every flow has a tale of its own.
    pub(super) fn complete(&self) -> bool {
        self.others.packets.offered == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_packet::Address;

    #[test]
    fn flows_beyond_the_limit_are_counted_together() {
        let mut flows = CapturedFlows::new(2);
        for hash in [7, 8, 9, 10, 7] {
            let slot = flows
                .slot(hash, ReplayGroup::Udp, || Flow::Source(Address::V4([10, 0, 0, hash as u8])));
            assert_eq!(slot.flow_hash, hash, "the queue still tells them apart");
            let (tale, class) = flows.tale(slot.number);
            assert_eq!(class, ReplayGroup::Udp);
            tale.packets.offered += 1;
        }
        assert_eq!(flows.tales.iter().map(|t| t.packets.offered).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(flows.others.packets.offered, 2);
        assert!(!flows.complete());
    }
}
