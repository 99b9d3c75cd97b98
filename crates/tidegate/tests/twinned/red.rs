//! RED, Adaptive RED and self-configuring RED, and their twins.
use super::{Set, with_known};
use crate::naive::ared::NaiveAred;
use crate::naive::feng_red::{NaiveFengRed, Status};
use crate::naive::red::{NaiveRed, Said, Unit};
use crate::support::twin::{Disputes, agree, rolled};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::policy::{Fifo, Policy};
use tidegate::queues::ared::AredRule;
use tidegate::queues::feng_red::FengRedRule;
use tidegate::queues::red::RedRule;
use tidegate::{Backlog, DropReason, Link, MarkReason, Packet, Qdisc, Rng, Sink, Size, Time};

/// A twin of the family.
pub trait Twin: std::fmt::Debug {
    /// The RED inside.
    fn red(&mut self) -> &mut NaiveRed;
    /// A packet arrives and finds room.
    fn arrive(&mut self, now: f64, packets: f64, bytes: f64, size: f64) -> Said;
    /// A packet arrives and finds none.
    fn overflow(&mut self, now: f64, packets: f64, bytes: f64);
    /// Time goes by.
    fn tick(&mut self, _: f64) {}
    /// Whether rounding decides, for somebody whose average is `avg`.
    fn is_in_doubt(&mut self, avg: f64) -> bool {
        NaiveRed::is_edge(self.red(), avg)
    }
}

impl Twin for NaiveRed {
    fn red(&mut self) -> &mut NaiveRed {
        self
    }
    fn arrive(&mut self, now: f64, packets: f64, bytes: f64, size: f64) -> Said {
        NaiveRed::arrive(self, now, packets, bytes, size)
    }
    fn overflow(&mut self, now: f64, packets: f64, bytes: f64) {
        NaiveRed::overflow(self, now, packets, bytes);
    }
}

impl Twin for NaiveAred {
    fn red(&mut self) -> &mut NaiveRed {
        &mut self.red
    }
    fn arrive(&mut self, now: f64, packets: f64, bytes: f64, size: f64) -> Said {
        NaiveAred::arrive(self, now, packets, bytes, size)
    }
    fn overflow(&mut self, now: f64, packets: f64, bytes: f64) {
        NaiveAred::overflow(self, now, packets, bytes);
    }
    fn tick(&mut self, now: f64) {
        NaiveAred::tick(self, now);
    }
    fn is_in_doubt(&mut self, avg: f64) -> bool {
        self.is_edge || self.red.is_edge(avg)
    }
}

impl Twin for NaiveFengRed {
    fn red(&mut self) -> &mut NaiveRed {
        &mut self.red
    }
    fn arrive(&mut self, now: f64, packets: f64, bytes: f64, size: f64) -> Said {
        NaiveFengRed::arrive(self, now, packets, bytes, size)
    }
    fn overflow(&mut self, now: f64, packets: f64, bytes: f64) {
        NaiveFengRed::overflow(self, now, packets, bytes);
    }
}

/// What a comparison with the twin has seen.
#[derive(Debug, Default)]
pub struct Seen {
    pub operations: u64,
    pub passed: u64,
    pub rolled: u64,
    pub early: u64,
    pub forced: u64,
    pub overflows: u64,
    pub idle: u64,
    pub above_max: u64,
}

/// A queue of the family with its twin beside it, which hears what the queue decided and must give
/// the same chances and the same state.
pub struct Twinned<P, T> {
    pub queue: Fifo<P>,
    rule: fn(&P) -> &RedRule,
    pub twin: T,
    link: Link,
    patience: u64,
    /// The average came so near to a threshold that rounding decides on which side of it: from
    /// there on nothing is compared.
    pub on_the_edge: bool,
    pub seen: Seen,
    pub disputes: Disputes,
}

impl<P, T: Twin> Twinned<P, T> {
    fn new(
        queue: Fifo<P>,
        rule: fn(&P) -> &RedRule,
        twin: T,
        link: Link,
        patience: u64,
    ) -> Twinned<P, T> {
        let (seen, disputes) = (Seen::default(), Disputes::default());
        Twinned { queue, rule, twin, link, patience, on_the_edge: false, seen, disputes }
    }
}

impl<P: Policy, T: Twin> Twinned<P, T> {
    fn arrival(&mut self, now: f64, backlog: Backlog, pkt: &Packet, fate: &Fate, die: Option<f64>) {
        let (packets, bytes) = (backlog.packets as f64, backlog.bytes as f64);
        if !self.link.has_room(backlog, pkt.len) {
            assert_eq!((fate.dropped, die), (Some(DropReason::Overlimit), None));
            self.twin.overflow(now, packets, bytes);
            self.look_for_an_edge();
            self.seen.overflows += 1;
            return;
        }
        let step = self.seen.operations;
        let said = self.twin.arrive(now, packets, bytes, pkt.len as f64);
        self.look_for_an_edge();
        if self.on_the_edge {
            return;
        }
        if let Said::Die { p_b, .. } = said {
            self.seen.rolled += 1;
            self.seen.above_max += u64::from(self.twin.red().avg >= self.twin.red().max);
            agree("p_b", step, (self.rule)(self.queue.policy()).p_b(), p_b, 1e-3);
        }
        let told = Told { step, fate, die, markable: pkt.ecn.is_capable() };
        match told.is_said(&said, self.twin.red(), &mut self.disputes) {
            Some(DropReason::Forced) => self.seen.forced += 1,
            Some(_) => self.seen.early += 1,
            None => self.seen.passed += u64::from(die.is_none()),
        }
        if fate.dropped.is_none() {
            self.twin.red().admitted();
        }
    }

    fn look_for_an_edge(&mut self) {
        let avg = (self.rule)(self.queue.policy()).avg();
        self.on_the_edge = self.on_the_edge || self.twin.is_in_doubt(avg);
    }

    fn compare(&mut self) {
        let step = self.seen.operations;
        self.seen.operations += 1;
        if self.on_the_edge {
            return;
        }
        let (red, twin) = ((self.rule)(self.queue.policy()), self.twin.red());
        // A thousandth of a packet, or a byte: what is left of an average of megabytes is rounding
        // below that.
        let floor = if twin.unit == Unit::Packets { 1e-3 } else { 1.0 };
        agree("avg", step, red.avg(), twin.avg, floor);
        agree("max_p", step, red.max_p(), twin.max_p, 1e-3);
        let unit = if twin.unit == Unit::BytesAfter { twin.mean_packet } else { 1.0 };
        agree("count", step, red.count(), twin.count / unit, 1.0);
    }
}

impl<P: Policy, T: Twin> Qdisc for Twinned<P, T> {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let backlog = self.queue.backlog();
        let before = self.queue.dice().clone();
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        let die = rolled(&before, self.queue.dice());
        self.arrival(now.as_nanos() as f64, backlog, &pkt, &fate, die);
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let pkt = self.queue.dequeue(now, out);
        if pkt.is_none() {
            self.twin.tick(now.as_nanos() as f64);
            self.twin.red().idle(now.as_nanos() as f64);
            self.seen.idle += 1;
        }
        pkt
    }

    fn advance(&mut self, now: Time) {
        self.queue.advance(now);
        self.twin.tick(now.as_nanos() as f64);
    }

    as_the_queue!();
}

/// What the queue told of an arrival that its RED judged.
pub(super) struct Told<'f> {
    pub step: u64,
    pub fate: &'f Fate,
    pub die: Option<f64>,
    /// Whether a signal marks the packet; one above `max` drops it all the same.
    pub markable: bool,
}

impl Told<'_> {
    /// Asserts that this is what `red` said, which hears of its signals; why it signalled, if it
    /// did.
    pub(super) fn is_said(
        &self,
        said: &Said,
        red: &mut NaiveRed,
        disputes: &mut Disputes,
    ) -> Option<DropReason> {
        let &Told { step, fate, die, markable } = self;
        let signal = match said {
            Said::Pass => None,
            Said::Forced => Some(DropReason::Forced),
            Said::Die { p_a, .. } => {
                disputes.verdict(
                    step,
                    die.expect("a die for every decision"),
                    *p_a,
                    fate.is_signal(),
                );
                fate.is_signal().then_some(DropReason::Early)
            }
        };
        assert_eq!(die.is_some(), matches!(said, Said::Die { .. }), "step {step}: {red:?}");
        let expected = match signal {
            Some(DropReason::Early) if markable => {
                Fate { dropped: None, marked: Some(MarkReason::Early) }
            }
            why => Fate { dropped: why, marked: None },
        };
        assert_eq!(*fate, expected, "step {step}: {red:?}");
        if signal.is_some() {
            red.signalled();
        }
        signal
    }
}

/// In what `mode` and `byte_order`, if there is one, count, and a length in that.
pub(super) fn length(set: &Set, link: &Link) -> (Unit, impl Fn(Size) -> f64) {
    let (bytes, mean_packet) = (set.is("mode", "bytes"), link.mean_packet);
    let before = set.0.get("byte_order").is_some_and(|order| order == "before");
    let unit = match (bytes, before) {
        (false, _) => Unit::Packets,
        (true, true) => Unit::BytesBefore,
        (true, false) => Unit::BytesAfter,
    };
    let length = move |size: Size| {
        if bytes { size.in_bytes(mean_packet) as f64 } else { size.in_packets(mean_packet) }
    };
    (unit, length)
}

/// The RED that `config` describes, as far as all of the family have the parameters.
pub(super) fn naive(config: &AnyConfig, link: &Link) -> NaiveRed {
    let set = Set(config);
    let (unit, length) = length(&set, link);
    NaiveRed {
        unit,
        min: length(set.size("min")),
        max: length(set.size("max")),
        max_p: set.number("probability"),
        weight: set.number("weight"),
        wait: set.is("wait", "on"),
        count: if unit == Unit::BytesAfter { -(link.mean_packet.get() as f64) } else { -1.0 },
        ..NaiveRed::of(link)
    }
}

/// What the twins take marks and drops for.
const KNOWN: [(&str, &str); 2] = [("ecn", "on"), ("mark_above_max", "off")];

impl super::Twinned for Twinned<RedRule, NaiveRed> {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Self> {
        let config = with_known(&with_known(config, &KNOWN), &[("mark_up_to", "1")]);
        let AnyQueue::Red(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let twin = NaiveRed {
            gentle: set.is("gentle", "on"),
            idle_plus_one: set.is("idle_decay", "m+1"),
            entry_passes: set.is("on_crossing", "pass"),
            short_passes: set.is("short_queue", "pass"),
            ..naive(&config, &link)
        };
        Some(Twinned::new(queue, |rule| rule, twin, link, 1 << 40))
    }

    fn patience(&self) -> u64 {
        self.patience
    }
}

impl super::Twinned for Twinned<AredRule, NaiveAred> {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Self> {
        let steps = [("alpha", "0.01"), ("beta", "0.9"), ("least", "0.01"), ("most", "0.5")];
        let config = with_known(&with_known(config, &KNOWN), &steps);
        let AnyQueue::Ared(queue) = config.build(link, dice).ok()? else { return None };
        let red = NaiveRed {
            gentle: true,
            idle_plus_one: true,
            entry_passes: true,
            short_passes: true,
            ..naive(&config, &link)
        };
        let interval = Set(&config).nanos("interval");
        let twin = NaiveAred::new(red, interval as f64);
        Some(Twinned::new(queue, |rule| rule.red(), twin, link, 10_000 * interval))
    }

    fn patience(&self) -> u64 {
        self.patience
    }
}

impl super::Twinned for Twinned<FengRedRule, NaiveFengRed> {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Self> {
        let config = with_known(config, &KNOWN);
        let AnyQueue::FengRed(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let red = NaiveRed { gentle: set.is("gentle", "on"), ..naive(&config, &link) };
        let [alpha, beta, floor] = ["alpha", "beta", "floor"].map(|name| set.number(name));
        let twin = NaiveFengRed { red, status: Status::Below, alpha, beta, floor };
        Some(Twinned::new(queue, |rule| rule.red(), twin, link, 1 << 40))
    }

    fn patience(&self) -> u64 {
        self.patience
    }
}
