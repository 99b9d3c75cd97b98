//! Randomised workloads: mixed sizes, flows with Zipf skew, ECN and not, overload, underload and
//! idleness in turn.
use tidegate::units::Pacer;
use tidegate::{Ecn, Hosts, Link, Packet, Qdisc, Rng, Sink, Span, Time};

/// One stretch of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// Offered load in multiples of the link's rate.
    pub load: f64,
    /// How many packets it offers.
    pub packets: u64,
    /// How long nothing arrives before it.
    pub idle: Span,
}

/// What is offered. Deterministic: the same dice give the same packets.
#[derive(Clone, Debug)]
pub struct Workload {
    pub phases: Vec<Phase>,
    /// Cumulative shares of the flows.
    flows: Vec<f64>,
    /// Sizes between these, uniform; both ends included.
    pub sizes: (u32, u32),
    /// Share of the packets that are ECN-capable.
    pub ect: f64,
    /// Flows are of so many classes in turn.
    pub classes: u64,
}

impl Workload {
    /// `flows` flows whose shares fall as 1, 1/2, 1/3 … to the power `skew`.
    pub fn new(flows: u32, skew: f64, sizes: (u32, u32), ect: f64, phases: Vec<Phase>) -> Workload {
        let shares: Vec<f64> = (1..=flows).map(|rank| libm::pow(rank as f64, -skew)).collect();
        let total: f64 = shares.iter().sum();
        let flows = shares.iter().scan(0.0, |sum, share| {
            *sum += share / total;
            Some(*sum)
        });
        Workload { phases, flows: flows.collect(), sizes, ect, classes: 1 }
    }

    /// The battery's: every phase that a queue may meet, `packets` packets in each.
    pub fn mixed(packets: u64) -> Workload {
        let phase =
            |load: f64, idle_ms: u64| Phase { load, packets, idle: Span::from_millis(idle_ms) };
        let phases = vec![
            phase(2.0, 0),
            phase(0.5, 0),
            phase(0.95, 5),
            phase(1.1, 0),
            phase(10.0, 3_000),
            phase(0.1, 200),
            phase(1.5, 60_000),
        ];
        Workload::new(50, 1.1, (40, 1500), 0.5, phases)
    }

    /// For a comparison with a twin: `operations` in load just above and below the rate, in
    /// overload and after idleness.
    pub fn restless(operations: u64) -> Workload {
        let phase = |&(load, idle)| Phase { load, packets: 1_000, idle: Span::from_millis(idle) };
        let stretches = [(1.05, 0), (0.98, 5), (1.6, 0), (0.7, 200), (1.01, 0), (3.0, 2_000)];
        let phases =
            (0..(operations / 12_000).max(1)).flat_map(|_| stretches.iter().map(phase)).collect();
        Workload::new(30, 1.1, (40, 1500), 0.6, phases)
    }

    fn packet(&self, slot: u32, dice: &mut Rng) -> Packet {
        let u = dice.uniform();
        let flow = self.flows.partition_point(|&sum| sum <= u).min(self.flows.len() - 1) as u64;
        let len = self.sizes.0 + dice.below((self.sizes.1 - self.sizes.0 + 1) as u64) as u32;
        let ecn = match (dice.chance(self.ect), dice.below(16)) {
            (false, _) => Ecn::NotEct,
            (true, 0) => Ecn::Ce,
            (true, 1..4) => Ecn::Ect1,
            (true, _) => Ecn::Ect0,
        };
        // Flows are hashes to a queue, so they look like hashes.
        // A third of them are one host's; code points go by flow.
        let hosts = Hosts::new(1 + (flow % 9).min(6) as u16, (flow % 5) as u16);
        let dscp = if flow % 4 == 3 { [8, 46, 34, 48][flow as usize / 4 % 4] } else { 0 };
        let pkt = Packet::new(tidegate::rng::mix(flow), len).with_hosts(hosts).with_dscp(dscp);
        pkt.with_slot(slot).with_ecn(ecn).with_class((flow % self.classes) as u16)
    }

    /// Offers everything to `queue`, and asks it for packets as a link does: when free, and after
    /// an arrival on an idle line. Returns when the last packet was offered; what waits then
    /// still waits.
    pub fn run<Q: Qdisc, S: Sink + ?Sized>(
        &self,
        queue: &mut Q,
        link: &Link,
        dice: &mut Rng,
        out: &mut S,
    ) -> Time {
        let mut line = Wire { pacer: Pacer::new(link.rate), free_at: Time::ZERO, asks: true };
        let mean_bits = 4.0 * (self.sizes.0 + self.sizes.1) as f64;
        let (mut now, mut slot) = (Time::ZERO, 0);
        for phase in &self.phases {
            now += phase.idle;
            line.run_until(queue, now, out);
            queue.advance(now);
            let gap = mean_bits / (link.rate.as_bps() as f64 * phase.load);
            for _ in 0..phase.packets {
                now += Span::from_secs(dice.exponential(gap));
                line.run_until(queue, now, out);
                queue.enqueue(now, self.packet(slot, dice), out);
                line.arrival(queue, now, out);
                slot += 1;
            }
        }
        now
    }
}

/// The link that empties the queue.
struct Wire {
    pacer: Pacer,
    free_at: Time,
    /// The packet in transmission ends at `free_at`, and then the link asks; false when it found
    /// nothing.
    asks: bool,
}

impl Wire {
    fn run_until<Q: Qdisc, S: Sink + ?Sized>(&mut self, queue: &mut Q, now: Time, out: &mut S) {
        while self.asks && self.free_at <= now {
            self.ask(queue, self.free_at, out);
        }
    }

    fn arrival<Q: Qdisc, S: Sink + ?Sized>(&mut self, queue: &mut Q, now: Time, out: &mut S) {
        if !self.asks {
            self.ask(queue, now, out);
        }
    }

    fn ask<Q: Qdisc, S: Sink + ?Sized>(&mut self, queue: &mut Q, now: Time, out: &mut S) {
        match queue.dequeue(now, out) {
            Some(pkt) => {
                self.free_at = now + self.pacer.next(pkt.len);
                self.asks = true;
            }
            None => {
                self.asks = queue.wake_at().is_some();
                self.free_at = queue.wake_at().unwrap_or(now);
            }
        }
    }
}
