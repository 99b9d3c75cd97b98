//! Routes through a layout.
use std::collections::BTreeMap;

use tidegate::{Bytes, Span};

use super::{PlannedFlow, SeedPlan};

/// Shortest routes, as the simulator takes them: fewest links, then least delay, then the link
/// declared first.
pub(crate) struct ShortestRoutes<'p> {
    plan: &'p SeedPlan,
    /// Wires out of each node, as a range of `out`.
    first: Vec<u32>,
    out: Vec<u32>,
    /// Routes between named nodes, found so far.
    found: BTreeMap<(u32, u32), Vec<u32>>,
}

impl<'p> ShortestRoutes<'p> {
    pub fn new(plan: &'p SeedPlan) -> ShortestRoutes<'p> {
        let mut first = vec![0u32; plan.node_count as usize + 1];
        for wire in &plan.wires {
            first[wire.from as usize + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut next = first.clone();
        let mut out = vec![0u32; plan.wires.len()];
        for (index, wire) in plan.wires.iter().enumerate() {
            out[next[wire.from as usize] as usize] = index as u32;
            next[wire.from as usize] += 1;
        }
        ShortestRoutes { plan, first, out, found: BTreeMap::new() }
    }

    /// The wires from `from` to `to`, in order.
    pub fn path(&mut self, from: u32, to: u32) -> Vec<u32> {
        let (up, from) = self.access(from, true);
        let (down, to) = self.access(to, false);
        if !self.found.contains_key(&(from, to)) {
            let core = self.search(from, to);
            self.found.insert((from, to), core);
        }
        up.into_iter().chain(self.found[&(from, to)].iter().copied()).chain(down).collect()
    }

    /// For a host, its only wire and the node at the other end; a named node as it is.
    fn access(&self, node: u32, outward: bool) -> (Option<u32>, u32) {
        if (node as usize) < self.plan.nodes.len() {
            return (None, node);
        }
        let up = self.out[self.first[node as usize] as usize];
        let at = self.plan.wires[up as usize].to;
        // A host's wires were added in a pair, out and in.
        (Some(if outward { up } else { up + 1 }), at)
    }

    /// Searches among the named nodes, level by level of (links, delay).
    fn search(&self, from: u32, to: u32) -> Vec<u32> {
        let named = self.plan.nodes.len();
        // Per node: links, delay, and the wire by which it is reached best.
        let mut best: Vec<Option<(u32, u64, Option<u32>)>> = vec![None; named];
        best[from as usize] = Some((0, 0, None));
        let mut level = vec![from];
        for hops in 1..=named as u32 {
            let mut next: Vec<u32> = vec![];
            for &node in &level {
                let delay = best[node as usize].map_or(0, |b| b.1);
                let wires = &self.out
                    [self.first[node as usize] as usize..self.first[node as usize + 1] as usize];
                for &index in wires {
                    let wire = &self.plan.wires[index as usize];
                    if wire.to as usize >= named {
                        break; // hosts were added after the named nodes, and carry nothing through
                    }
                    let reached = delay + wire.delay.as_nanos();
                    let slot = &mut best[wire.to as usize];
                    match slot {
                        Some((h, d, by)) if (*h, *d, *by) <= (hops, reached, Some(index)) => {}
                        Some(_) => *slot = Some((hops, reached, Some(index))),
                        None => {
                            *slot = Some((hops, reached, Some(index)));
                            next.push(wire.to);
                        }
                    }
                }
            }
            level = next;
        }
        let mut path = vec![];
        let mut node = to;
        while let Some((_, _, Some(wire))) = best[node as usize] {
            path.push(wire);
            node = self.plan.wires[wire as usize].from;
        }
        path.reverse();
        path
    }

    /// What the way of `flow` takes a packet of no length and one of 65536 bytes when nothing
    /// waits.
    pub fn idle(&mut self, flow: &PlannedFlow) -> [Span; 2] {
        [0, 1 << 16].map(|len| {
            let way = self.path(flow.from, flow.to);
            let wires = way.iter().map(|&index| &self.plan.wires[index as usize]);
            wires.fold(Span::ZERO, |sum, wire| {
                sum + wire.delay + wire.rate.time_to_send(Bytes::new(len))
            })
        })
    }

    /// The time of a `there`-byte packet from `from` to `to` and of a `back`-byte answer through
    /// empty queues.
    pub fn base_rtt(&mut self, flow: &PlannedFlow, there: Bytes, back: Bytes) -> Span {
        let mut total = Span::ZERO;
        for (from, to, len) in [(flow.from, flow.to, there), (flow.to, flow.from, back)] {
            for index in self.path(from, to) {
                let wire = &self.plan.wires[index as usize];
                total += wire.delay + wire.rate.time_to_send(len);
            }
        }
        total
    }
}
