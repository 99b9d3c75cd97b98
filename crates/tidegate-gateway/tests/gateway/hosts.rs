//! Hosts before flows where frames pass: who is a host, the gate reads from their addresses.

use std::cell::Cell;
use std::rc::Rc;

use crate::frames::{LABEL, frame, label};
use crate::rig::{SECRET, link, send, settings, turn, way, wide_cable};
use tidegate::catalog::QUEUES;
use tidegate::{Ecn, MarkReason, Rng, Size, Span, Time};
use tidegate_gateway::path::gate::Gate;
use tidegate_gateway::path::rehash::Rehash;
use tidegate_gateway::run::plan::GatePlan;
use tidegate_gateway::run::way::Way;
use tidegate_gateway::watch::counters::LossReason;
use tidegate_gateway::watch::observer::Observer;
use tidegate_packet::ipv4_checksum;

/// One host has a flow, another the others.
const FLOWS: usize = 17;
/// A flood sends a frame each millisecond, which is all that the line can, while fewer than these
/// of its frames wait. So none leaves its queue empty, and none fills the buffer for all.
const MOST_WAITING: u32 = 20;
/// How long the floods last, and from when on is counted.
const MILLIS: u64 = 7_000;
const SETTLED: u64 = 3_000;

/// How many frames of each flow are in the gate.
#[derive(Clone, Default)]
struct Waiting(Rc<[Cell<u32>; FLOWS]>);

impl Waiting {
    fn gone(&self, frame: &[u8]) {
        let waiting = &self.0[usize::from(label(frame).unwrap().0)];
        waiting.set(waiting.get() - 1);
    }
}

impl Observer for Waiting {
    fn sent(&mut self, _: Time, _: Span, _: Option<MarkReason>, frame: &[u8]) {
        self.gone(frame);
    }
    fn lost(&mut self, _: Time, _: LossReason, frame: &[u8]) {
        self.gone(frame);
    }
}

/// A frame of each flow, all to one receiver.
fn floods() -> Vec<Vec<u8>> {
    let mut dice = Rng::from_seed(7);
    let one = |flow: u8| {
        // As the frames of flow 0, UDP over IPv4, from another address and port.
        let mut bytes = frame(&mut dice, 0, 0, Ecn::NotEct, 1000);
        bytes[29] = if flow == 0 { 1 } else { 2 };
        bytes[35] = flow;
        let said = bytes.len() - LABEL + 1;
        bytes[said] = flow;
        let sum = ipv4_checksum(&bytes[14..34]).to_be_bytes();
        bytes[24..26].copy_from_slice(&sum);
        bytes
    };
    (0..FLOWS as u8).map(one).collect()
}

/// What part of a line of a frame each millisecond the host with one flow gets behind `queue`.
fn of_one_flow(queue: &str, isolation: &str) -> f64 {
    let mut there =
        Way { rehash: Rehash::OFF, ..way(queue, link("8 Mbit/s", Size::Packets(1000))) };
    there.queue.set("isolation", isolation).unwrap();
    let plan = GatePlan::new(settings(there, None), 1500).unwrap();
    let waiting = Waiting::default();
    let ((mut clients, inner), (outer, mut servers)) = (wide_cable(), wide_cable());
    let (there, back) = plan.lanes(SECRET, Some(waiting.clone())).unwrap();
    let mut gate = Gate::new(there, back, inner, outer);
    let (frames, mut now, mut got) = (floods(), Time::from_nanos(1), [0_u32; 2]);
    for milli in 0..MILLIS {
        for (frame, waiting) in frames.iter().zip(waiting.0.iter()) {
            if waiting.get() < MOST_WAITING {
                waiting.set(waiting.get() + 1);
                send(&mut clients, frame);
            }
        }
        now = turn(&mut gate, now, now + Span::from_millis(1));
        for frame in servers.all().unwrap() {
            let (flow, _) = label(&frame).unwrap();
            got[usize::from(flow > 0)] += u32::from(milli >= SETTLED);
        }
    }
    let all = got[0] + got[1];
    assert!(u64::from(all) * 100 >= (MILLIS - SETTLED) * 99, "{queue}: the line was idle: {all}");
    f64::from(got[0]) / f64::from(all)
}

#[test]
fn a_host_that_floods_with_sixteen_flows_gets_no_more_than_one_with_a_flow() {
    let by_hosts = QUEUES.iter().filter(|row| row.has("isolation"));
    let queues: Vec<&str> = by_hosts.map(|row| row.name).collect();
    assert!(queues.len() >= 8, "{queues:?}");
    for queue in queues {
        let part = of_one_flow(queue, "dual-srchost");
        assert!((part - 0.5).abs() <= 0.03, "{queue}: {part}");
        // By flows it has one share of seventeen: the halves above are the hosts' doing.
        let part = of_one_flow(queue, "flows");
        assert!((part - 1.0 / 17.0).abs() <= 0.01, "{queue} by flows: {part}");
    }
}
