//! Tide and its twin.
use super::Set;
use crate::naive::tide::{Arrival, Fate, Given, Limit, NaiveTide};
use crate::support::{Both, Heard};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::config::{ByClass, Value as _};
use tidegate::queues::Tide;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Size, Time};

/// The queue with its twin beside it: every fate, every packet sent, N, r and M.
pub struct Twinned {
    pub queue: Tide,
    pub twin: NaiveTide,
    rows: usize,
    cells: usize,
    marks: bool,
    weights: ByClass<f64>,
    pub operations: u64,
    pub no_room: u64,
    pub unfair: u64,
    pub signals: u64,
}

impl Twinned {
    fn compare(&mut self) {
        self.operations += 1;
        let twin = &self.twin;
        let mut gauges = Vec::new();
        self.queue.probe(&mut |gauge| gauges.push(gauge.value));
        let (flows, fair) =
            (twin.flows as f64 / 65536.0, twin.fair as f64 / (1_u64 << 40) as f64 * 8e9);
        assert_eq!(gauges, [flows, fair, twin.allowance as f64], "operation {}", self.operations);
        let backlog = self.queue.backlog();
        assert_eq!(
            (backlog.packets as usize, backlog.bytes as i128),
            (twin.packets(), twin.bytes())
        );
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let found = self.queue.rule().places_of(&pkt).enumerate();
        let hosts = self.queue.rule().hosts_of(&pkt);
        let places: Vec<usize> = found.map(|(row, place)| place - row * self.cells).collect();
        let marks = self.marks && pkt.ecn.is_capable();
        let mut heard = Heard::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut heard, out));
        let weight = self.weights.of(pkt.class as usize);
        let least = self.weights.given().iter().copied().fold(f64::INFINITY, f64::min);
        let factor = ((65536.0 * least / weight) as i128).max(1);
        let (id, len, places) = (pkt.slot, pkt.len, &places[..]);
        let arrival = Arrival { id, len, places, marks, factor, hosts };
        let fate = self.twin.enqueue(now.as_nanos(), arrival);
        let lost = match fate {
            Fate::NoRoom => Some(DropReason::Overlimit),
            Fate::Unfair => Some(DropReason::Unfair),
            Fate::Signal if !marks => Some(DropReason::Forced),
            Fate::Signal | Fate::Waits => None,
        };
        let heard_lost: Vec<_> = heard.lost.iter().map(|(_, why)| *why).collect();
        assert_eq!(heard_lost, Vec::from_iter(lost), "operation {}", self.operations);
        let marked = fate == Fate::Signal && marks;
        assert_eq!(heard.marked.len(), usize::from(marked), "operation {}", self.operations);
        self.no_room += u64::from(fate == Fate::NoRoom);
        self.unfair += u64::from(fate == Fate::Unfair);
        self.signals += u64::from(fate == Fate::Signal);
        self.compare();
    }

    as_the_queue!(dequeue);
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let AnyQueue::Tide(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(config);
        let mean = link.mean_packet.get() as i128;
        let limit = match link.limit {
            Size::Packets(most) => Limit::Packets { most: most as i128, mean },
            Size::Bytes(most) => Limit::Bytes(most as i128),
        };
        let packet = set.bytes("packet") as i128;
        let bytes = |name| {
            let bits = link.rate.as_bps() as i128 * set.nanos(name) as i128;
            (bits / 8_000_000_000).min(1 << 30)
        };
        let given = Given {
            limit,
            bits_per_second: link.rate.as_bps() as i128,
            rows: set.number("rows") as usize,
            cells: set.number("cells") as i128,
            aim: bytes("aim").max(2 * packet),
            drain: bytes("drain").max(packet),
            fastest: (set.number("fastest") * 65536.0) as i128,
            slowest: (set.number("slowest") * 65536.0) as i128,
            interval: set.nanos("interval") as i128,
            memory: set.nanos("memory") as i128,
            horizon: set.nanos("horizon") as i128,
            packet,
            allowance: set.number("allowance") as i128,
            first: set.number("first") as i128,
            step: set.number("step") as i128,
            express: set.is("express", "on"),
        };
        Some(Twinned {
            queue,
            twin: NaiveTide::new(given),
            rows: given.rows,
            cells: given.cells as usize,
            marks: set.is("ecn", "on"),
            weights: ByClass::read(&set.text("weights")).unwrap(),
            operations: 0,
            no_room: 0,
            unfair: 0,
            signals: 0,
        })
    }
}
