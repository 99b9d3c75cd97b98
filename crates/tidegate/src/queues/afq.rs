#![doc = include_str!("afq.md")]
use super::codel::auto_mtu;
use crate::choices;
use crate::config::ConfigError;
use crate::entry::{Entry, FOREVER, Info, Preset};
use crate::packet::Packet;
use crate::parts::lines::Lines;
use crate::parts::sketch::Sketch;
use crate::qdisc::{Backlog, DropReason, Gauge, Link, Qdisc, Sink};
use crate::rng::Rng;
use crate::units::{Bytes, Span, Time};

choices! {
    /// Who goes when there is no room.
    pub enum NoRoom {
        /// The packet that arrives.
        Arrival = "arrival",
        /// Who would leave last, if that is in a later round than the packet that arrives.
        Farthest = "farthest",
    }
}

crate::params! {
    /// AFQ's parameters.
    pub struct AfqConfig {
        /// Queues in the calendar: how many rounds ahead a packet may be put.
        queues: u32 = 32, "nQ", 2 ..= 4096;
        /// How many bytes a flow may send in a round.
        bytes_per_round: Bytes = Bytes::new(1500), "BpR", 1 ..= 1_000_000_000;
        /// Arrays of the sketch that keeps flows' bids.
        arrays: u32 = 4, "", 1 ..= 8;
        /// Counters in each array.
        counters: u32 = 4096, "", 1 ..= 1_048_576;
        /// Who goes when there is no room.
        overflow: NoRoom = NoRoom::Arrival, "", 0 ..= 0;
    }
}

/// Fair queueing by bids for the rounds of a calendar of FIFO queues (sharma2018).
#[derive(Clone, Debug)]
pub struct Afq {
    calendar: Lines,
    backlog: Backlog,
    bids: Sketch,
    /// The round that is being served.
    round: u64,
    queues: u64,
    bytes_per_round: u64,
    overflow: NoRoom,
    link: Link,
}

impl Afq {
    /// The numbers of the counters of `flow` among all counters, one in each array.
    pub fn places_of(&self, flow: u64) -> impl Iterator<Item = usize> + use<> {
        self.bids.numbers_of(flow)
    }

    /// The round that is being served.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Which queue holds the packets of `round`.
    #[inline]
    fn queue_of(&self, round: u64) -> usize {
        (round % self.queues) as usize
    }

    /// Makes room for a packet of `len` bytes that asks for `round`, if those who may go for it are
    /// enough: all in a later round.
    #[cold]
    fn make_room<S: Sink + ?Sized>(
        &mut self,
        now: Time,
        len: u32,
        round: u64,
        out: &mut S,
    ) -> bool {
        let mut stay = self.backlog;
        let mut last = self.round + self.queues - 1;
        for later in round + 1..=last {
            let Backlog { packets, bytes } = self.calendar.backlog(self.queue_of(later));
            (stay.packets, stay.bytes) = (stay.packets - packets, stay.bytes - bytes);
        }
        if self.overflow == NoRoom::Arrival || !self.link.has_room(stay, len) {
            return false;
        }
        while !self.link.has_room(self.backlog, len) {
            match self.calendar.pop_tail(self.queue_of(last)) {
                Some(victim) => {
                    self.backlog.remove(victim.len);
                    out.dropped(now, &victim, DropReason::Evicted);
                }
                None => last -= 1,
            }
        }
        true
    }
}

impl Qdisc for Afq {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        let counters = self.bids.of(pkt.flow);
        // A flow that was silent bids from the round that is being served on.
        let last = self.bids.least(&counters).max(self.round * self.bytes_per_round);
        let bid = last + pkt.len as u64;
        let round = bid / self.bytes_per_round;
        if round - self.round >= self.queues {
            return out.dropped(now, &pkt, DropReason::Unfair);
        }
        if !self.link.has_room(self.backlog, pkt.len) && !self.make_room(now, pkt.len, round, out) {
            return out.dropped(now, &pkt, DropReason::Overlimit);
        }
        self.bids.raise(&counters, bid);
        self.backlog.add(pkt.len);
        self.calendar.push(self.queue_of(round), pkt);
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, _: Time, _: &mut S) -> Option<Packet> {
        if self.backlog.packets == 0 {
            return None;
        }
        loop {
            if let Some(pkt) = self.calendar.pop(self.queue_of(self.round)) {
                self.backlog.remove(pkt.len);
                return Some(pkt);
            }
            self.round += 1;
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let busy =
            (0..self.calendar.len()).filter(|&queue| self.calendar.backlog(queue).packets > 0);
        see(Gauge { name: "round", unit: "", value: self.round as f64 });
        see(Gauge { name: "busy_queues", unit: "", value: busy.count() as f64 });
    }
}

/// `auto`: a flow alone may have the whole buffer, in rounds of a packet at least.
fn auto(link: &Link) -> AfqConfig {
    let usual = AfqConfig::default();
    let limit = link.limit.in_bytes(link.mean_packet);
    let bytes = limit.div_ceil(usual.queues as u64 - 1).clamp(auto_mtu(link).get(), 1_000_000_000);
    AfqConfig { bytes_per_round: Bytes::new(bytes), overflow: NoRoom::Farthest, ..usual }
}

impl Entry for Afq {
    type Config = AfqConfig;
    const INFO: Info = Info {
        title: "approximate fair queueing: flows bid for the rounds of a calendar of queues",
        paper: "sharma2018",
        manual: include_str!("afq.md"),
    };
    const PRESETS: &'static [Preset<AfqConfig>] = &[
        Preset {
            name: "paper",
            doc: "32 queues; a packet of 1500 bytes a round and the sketch are our choice",
            config: |_| AfqConfig::default(),
        },
        Preset {
            name: "auto",
            doc: "the calendar spans the whole buffer, and who would leave last makes room",
            config: auto,
        },
    ];

    fn build(config: &AfqConfig, link: Link, mut dice: Rng) -> Result<Self, ConfigError> {
        Ok(Afq {
            calendar: Lines::new(config.queues as usize),
            backlog: Backlog::default(),
            bids: Sketch::new(config.arrays, config.counters, &mut dice),
            round: 0,
            queues: config.queues as u64,
            bytes_per_round: config.bytes_per_round.get(),
            overflow: config.overflow,
            link,
        })
    }

    fn state_bytes(config: &AfqConfig, link: &Link) -> u64 {
        let sketch = Sketch::bytes(config.arrays, config.counters);
        let lines = Lines::bytes(config.queues as u64, link.most_packets() + 1);
        core::mem::size_of::<Afq>() as u64 + sketch + lines
    }

    fn bucket_lifetime(_: &AfqConfig) -> Option<Span> {
        Some(FOREVER)
    }
}
