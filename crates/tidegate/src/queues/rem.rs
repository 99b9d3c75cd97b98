#![doc = include_str!("rem.md")]
use crate::choices;
use crate::config::ConfigError;
use crate::entry::{Entry, Info, Preset, TARGET_RTT};
use crate::packet::Packet;
use crate::parts::every::{CATCH_UP, Every};
use crate::parts::price::{Form, Price};
use crate::policy::{Fifo, NonEct, Policy, QueueView, Signal, Verdict};
use crate::qdisc::{Gauge, Link, MarkReason};
use crate::rng::Rng;
use crate::units::{Bytes, Size, Span, Time};

/// A FIFO that marks by a price of the link (athuraliya2001).
pub type Rem = Fifo<RemRule>;

choices! {
    /// Where a packet is judged.
    pub enum MarkAt {
        /// When it arrives.
        Enqueue = "enqueue",
        /// When it leaves; what is to be dropped rather than marked is still judged when it
        /// arrives.
        Dequeue = "dequeue",
    }
}

choices! {
    /// What the marking probability is meant for.
    pub enum MarkedUnit {
        /// A packet, however long.
        Packets = "packets",
        /// A mean packet: a longer one is marked more often, in proportion.
        Bytes = "bytes",
    }
}

crate::params! {
    /// REM's parameters. Defaults are those of athuraliya2001.
    pub struct RemConfig {
        /// Step of the price.
        gamma: f64 = 0.001, "gamma", 1e-12 ..= 1e6;
        /// Weight of the backlog against the rate.
        alpha: f64 = 0.1, "alpha", 0.0 ..= 1e6;
        /// Base of the marking probability.
        phi: f64 = 1.001, "phi", 1.000000001 ..= 1000.0;
        /// The backlog aimed at.
        target: Size = Size::Packets(20), "b*", 0 ..= 1000000000;
        /// Time between two price updates.
        interval: Span = Span::from_millis(10), "T_u", 1_000 ..= 60_000_000_000_u64;
        /// From what the price's step is worked out.
        form: Form = Form::Rate, "", 0 ..= 0;
        /// Weight of the newest interval in the input rate; 1 keeps no memory.
        weight: f64 = 1.0, "inw", 1e-6 ..= 1.0;
        /// Where packets are marked.
        mark_at: MarkAt = MarkAt::Enqueue, "", 0 ..= 0;
        /// Whether long packets are marked more often.
        mode: MarkedUnit = MarkedUnit::Packets, "", 0 ..= 0;
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: Signal = Signal::Mark, "", 0 ..= 0;
        /// What becomes of a packet that was to be marked but is Not-ECT.
        non_ect: NonEct = NonEct::Pass, "", 0 ..= 0;
    }
}

impl RemConfig {
    /// The price these parameters describe on `link`.
    fn price(&self, link: &Link) -> Price {
        let capacity = link.packets_per_second() * self.interval.as_secs();
        let target = self.target.in_packets(link.mean_packet);
        Price::new(self.alpha, self.gamma, self.phi, target, capacity, self.weight)
            .in_form(self.form)
    }
}

/// The rule of REM: mark with a probability that rises with the price.
#[derive(Clone, Debug)]
pub struct RemRule {
    config: RemConfig,
    every: Every,
    price: Price,
    /// 1 / mean packet.
    per_byte: f64,
    /// What waited at the last call, in bytes.
    backlog: u64,
}

impl RemRule {
    fn new(config: &RemConfig, link: &Link) -> RemRule {
        RemRule {
            config: config.clone(),
            every: Every::new(config.interval),
            price: config.price(link),
            per_byte: 1.0 / link.mean_packet.get() as f64,
            backlog: 0,
        }
    }

    /// The link's price.
    pub fn price(&self) -> &Price {
        &self.price
    }

    /// The price updates that have fallen due by `now`, with `backlog` bytes waiting all the while.
    #[inline]
    fn catch_up(&mut self, now: Time, backlog: u64) {
        self.backlog = backlog;
        if now >= self.every.due() {
            self.update(now);
        }
    }

    #[cold]
    fn update(&mut self, now: Time) {
        let backlog = self.backlog as f64 * self.per_byte;
        let overdue = self.every.overdue(now);
        if overdue > CATCH_UP {
            self.price.period(backlog);
            self.price.periods_without_arrivals(overdue - 1, backlog);
            self.every.skip(overdue);
        }
        while self.every.step(now).is_some() {
            self.price.period(backlog);
        }
    }

    /// The probability with which a packet of `len` bytes is marked.
    #[inline]
    fn probability(&self, len: u32) -> f64 {
        match self.config.mode {
            MarkedUnit::Packets => self.price.probability(),
            MarkedUnit::Bytes => self.price.probability() * len as f64 * self.per_byte,
        }
    }

    /// Whether the packet is one that waits for its departure to be judged.
    #[inline]
    fn judged_later(&self, pkt: &Packet) -> bool {
        self.config.mark_at == MarkAt::Dequeue
            && self.config.ecn == Signal::Mark
            && pkt.ecn.is_capable()
    }
}

impl Policy for RemRule {
    #[inline]
    fn offered(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView, _: &mut Rng) {
        self.catch_up(now, queue.backlog().bytes);
        self.price.arrived(pkt.len as f64 * self.per_byte);
    }

    #[inline]
    fn arrive(&mut self, _: Time, pkt: &mut Packet, _: &impl QueueView, dice: &mut Rng) -> Verdict {
        if self.judged_later(pkt) || !dice.chance(self.probability(pkt.len)) {
            return Verdict::Admit;
        }
        self.config.ecn.verdict(MarkReason::Early)
    }

    #[inline]
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        queue: &impl QueueView,
        dice: &mut Rng,
    ) -> Option<MarkReason> {
        let backlog = queue.backlog().bytes;
        self.catch_up(now, backlog + pkt.len as u64);
        self.backlog = backlog;
        (self.judged_later(pkt) && dice.chance(self.probability(pkt.len)))
            .then_some(MarkReason::Early)
    }

    #[inline]
    fn idle(&mut self, now: Time) {
        self.catch_up(now, 0);
    }

    #[inline]
    fn admitted(&mut self, _: Time, pkt: &Packet, queue: &impl QueueView) {
        self.backlog = queue.backlog().bytes + pkt.len as u64;
    }

    fn advance(&mut self, now: Time) {
        self.catch_up(now, self.backlog);
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        see(Gauge { name: "price", unit: "", value: self.price.get() });
        see(Gauge { name: "m", unit: "", value: self.price.probability() });
    }

    #[inline]
    fn non_ect(&self) -> NonEct {
        self.config.non_ect
    }
}

/// `auto`: updates twenty times in a target RTT, with a gain that counts in time instead of
/// packets.
fn auto(link: &Link) -> RemConfig {
    // 10 Mbit/s with 1000-byte packets is where the paper's constants were tried.
    let scale = link.packets_per_second() / 1250.0;
    let target = Bytes::new(link.rate.bytes_in(Span::from_millis(16)).get())
        .get()
        .max(link.mean_packet.get());
    let limit = link.limit.in_bytes(link.mean_packet);
    RemConfig {
        gamma: 0.001 / scale.clamp(1e-6, 1e6),
        target: Size::Bytes(target.min(limit / 2)),
        interval: Span::from_nanos(TARGET_RTT.as_nanos() / 20),
        ..RemConfig::default()
    }
}

impl Entry for Rem {
    type Config = RemConfig;
    const INFO: Info = Info {
        title: "marks by a price of the link that rises while demand exceeds supply",
        paper: "athuraliya2001",
        manual: include_str!("rem.md"),
    };
    const PRESETS: &'static [Preset<RemConfig>] = &[
        Preset {
            name: "paper",
            doc: "the constants of athuraliya2001",
            config: |_| RemConfig::default(),
        },
        Preset {
            name: "purge",
            doc: "as the Purge paper sets it: b* one fifth of the limit",
            config: |link| RemConfig { target: link.limit.scale(0.2), ..RemConfig::default() },
        },
        Preset {
            name: "ns2",
            doc: "updates every 2 ms, marks at departure, drops what cannot be marked",
            config: |_| RemConfig {
                interval: Span::from_millis(2),
                mark_at: MarkAt::Dequeue,
                non_ect: NonEct::Drop,
                ..RemConfig::default()
            },
        },
        Preset {
            name: "auto",
            doc: "b* 16 ms of the link's rate, gain scaled to the rate, updates every 5 ms",
            config: auto,
        },
    ];

    fn build(config: &RemConfig, link: Link, dice: Rng) -> Result<Self, ConfigError> {
        Ok(Fifo::new(RemRule::new(config, &link), link, dice))
    }

    fn state_bytes(_: &RemConfig, _: &Link) -> u64 {
        core::mem::size_of::<RemRule>() as u64
    }
}
