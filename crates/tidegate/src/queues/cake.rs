#![doc = include_str!("cake.md")]
mod presets;

use alloc::vec::Vec;

use super::cobalt::carry_out;
use crate::ack::Ack;
use crate::packet::Packet;
use crate::parts::ack_filter::{AckFilter, WaitingAcks};
use crate::parts::cobalt_law::CobaltLaw;
use crate::parts::diffserv::Diffserv;
use crate::parts::isolation::Isolation;
use crate::parts::longest::Longest;
use crate::parts::sparse_first::SparseFirst;
use crate::parts::spread::HashWays;
use crate::policy::Signal;
use crate::qdisc::{Backlog, DropReason, Gauge, Link, Qdisc, Sink};
use crate::rng::Rng;
use crate::units::{Bytes, Pacer, Rate, Span, Time};

crate::params! {
    /// CAKE's parameters. Defaults are those of tc-cake(8).
    pub struct CakeConfig {
        /// Which packets are one flow, and which hosts divide a share.
        isolation: Isolation = Isolation::Triple, "", 0 ..= 0;
        /// How many tins there are, and which code point goes to which.
        diffserv: Diffserv = Diffserv::Three, "", 0 ..= 0;
        /// CAKE's own shaper, for a driver that does not shape; 0 is without.
        bandwidth: Rate = Rate::from_bps(0), "bandwidth", 0 ..= 1_000_000_000_000_000_u64;
        /// The usual round-trip time: COBALT's interval. Its target is a twentieth.
        rtt: Span = Span::from_millis(100), "rtt", 20_000 ..= 3_600_000_000_000_u64;
        /// How many queues a tin has.
        flows: u32 = 1024, "", 1 ..= 65_536;
        /// A flow goes to any of so many queues that its hash deals it.
        ways: u32 = 8, "", 1 ..= 16;
        /// The most bytes that a queue may send in a turn; less in tins of less than 50 Mbit/s.
        quantum: Bytes = Bytes::new(1514), "", 300 ..= 1_000_000_000;
        /// The link's longest packet: a target is no shorter than one and a half, and no wait up to
        /// four is too long.
        mtu: Bytes = Bytes::new(1514), "", 0 ..= 1_000_000_000;
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: Signal = Signal::Mark, "", 0 ..= 0;
        /// Whether acknowledgements that wait go when a newer one says all that they say.
        ack_filter: AckFilter = AckFilter::No, "", 0 ..= 0;
    }
}

/// A tin's quantum: what it sends in a 4096th of a second, in these bounds.
const QUANTUM_LEAST: u64 = 300;
const QUANTUM_PART: u64 = 4096;

/// Tins, each with queues that take turns and a COBALT in every one (hoiland2018).
#[derive(Clone, Debug)]
pub struct Cake {
    /// Line `tin * flows + queue`.
    held: Longest,
    acks: WaitingAcks,
    tins: Vec<Tin>,
    flows: usize,
    isolation: Isolation,
    diffserv: Diffserv,
    ecn: Signal,
    link: Link,
    /// Its own shaper.
    shaper: Option<ShaperClock>,
    /// When it was last called.
    now: Time,
    dice: Rng,
}

#[derive(Clone, Debug)]
struct Tin {
    queues: SparseFirst,
    places: HashWays,
    law: CobaltLaw,
    clock: ShaperClock,
    packets: u32,
}

/// When what was sent is paid for, at a rate.
#[derive(Clone, Debug)]
struct ShaperClock {
    pacer: Pacer,
    paid: Time,
}

impl ShaperClock {
    fn new(rate: Rate) -> ShaperClock {
        ShaperClock { pacer: Pacer::new(rate), paid: Time::ZERO }
    }

    /// Nothing has been sent lately: what was not used is lost.
    #[inline]
    fn begin(&mut self, now: Time) {
        self.paid = self.paid.max(now);
    }

    /// `len` bytes were sent: the debt grows, or what is left of earlier time is used.
    #[inline]
    fn pay(&mut self, len: u32) {
        self.paid += self.pacer.next(len);
    }

    /// The same for a tin, which is never in debt by more than this packet: it may have had the
    /// whole line for long, since nobody else asked.
    #[inline]
    fn pay_softly(&mut self, now: Time, len: u32) {
        let time = self.pacer.next(len);
        self.paid = if self.paid < now { self.paid + time } else { self.paid.max(now + time) };
    }
}

impl Cake {
    /// The dice as they lie.
    pub fn dice(&self) -> &Rng {
        &self.dice
    }

    /// The tin that `pkt` goes to.
    #[inline]
    pub fn tin_of(&self, pkt: &Packet) -> usize {
        self.diffserv.tin_of(pkt.dscp)
    }

    /// The queue that `pkt` joins, counted through all tins.
    #[inline]
    pub fn queue_of(&self, pkt: &Packet) -> usize {
        let tin = self.tin_of(pkt);
        let Tin { queues, places, .. } = &self.tins[tin];
        let key = self.isolation.key(pkt);
        tin * self.flows + places.of(key, |queue| queues.is_busy(queue))
    }

    /// What waits in `queue`, counted through all tins.
    ///
    /// # Panics
    /// When there is no such queue.
    pub fn queue_backlog(&self, queue: usize) -> Backlog {
        self.held.of(queue)
    }

    /// `pkt` arrives, with what it acknowledges.
    #[inline]
    fn take<S: Sink + ?Sized>(
        &mut self,
        now: Time,
        mut pkt: Packet,
        ack: Option<&Ack>,
        out: &mut S,
    ) {
        pkt.arrived = now;
        self.now = now;
        if !self.link.has_room(Backlog::default(), pkt.len) {
            // It would not fit an empty queue; everything else would be dropped for it in vain.
            return out.dropped(now, &pkt, DropReason::Overlimit);
        }
        if self.held.all().packets == 0
            && let Some(shaper) = &mut self.shaper
        {
            shaper.begin(now);
        }
        let index = self.tin_of(&pkt);
        let key = self.isolation.key(&pkt);
        let Tin { queues, places, clock, packets, .. } = &mut self.tins[index];
        if *packets == 0 {
            clock.begin(now);
        }
        *packets += 1;
        let queue = places.take(key, |queue| queues.is_busy(queue));
        queues.arrived(queue, pkt.hosts());
        let line = index * self.flows + queue;
        let place = self.held.push(line, pkt);
        if self.acks.are_filtered() {
            self.filter(now, line, place, ack, out);
        }
        while self.held.is_over(&self.link) {
            self.drop_from_longest(now, line, out);
        }
    }

    /// The packet at `place` has joined `line`: an acknowledgement before it may go.
    fn filter<S: Sink + ?Sized>(
        &mut self,
        now: Time,
        line: usize,
        place: u32,
        ack: Option<&Ack>,
        out: &mut S,
    ) {
        self.acks.came(place, ack);
        let Some(ack) = ack else { return };
        let before = self.held.places_of(line).take_while(|&other| other != place);
        if let Some(old) = self.acks.superfluous(before, ack) {
            let victim = self.held.remove(line, old);
            self.tins[line / self.flows].packets -= 1;
            out.dropped(now, &victim, DropReason::Evicted);
        }
    }

    /// The head of the longest queue goes; where no packet has any length, that of `arrival`.
    #[cold]
    fn drop_from_longest<S: Sink + ?Sized>(&mut self, now: Time, arrival: usize, out: &mut S) {
        let line = self.held.longest_or(arrival);
        let Some((victim, why)) = self.held.evict(line, arrival, false) else { return };
        let tin = &mut self.tins[line / self.flows];
        tin.packets -= 1;
        tin.queues.cobalt(line % self.flows).overflowed(&tin.law, now);
        out.dropped(now, &victim, why);
    }

    /// Of the tins with flows, the highest that has kept to its rate; else the one that will
    /// first.
    #[inline]
    fn choose(&self, now: Time) -> Option<usize> {
        let mut best: Option<(usize, Time)> = None;
        for (index, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.queues.is_active()) {
            let paid = tin.clock.paid;
            if paid <= now || best.is_none_or(|(_, earliest)| paid <= earliest) {
                best = Some((index, paid));
            }
        }
        best.map(|(index, _)| index)
    }

    /// What COBALT lets go from `line`, a queue of `tin`; if nothing, the queue is empty.
    #[inline]
    fn send<S: Sink + ?Sized>(
        &mut self,
        tin: usize,
        queue: usize,
        now: Time,
        out: &mut S,
    ) -> Option<Packet> {
        let line = tin * self.flows + queue;
        let Tin { queues, law, packets, .. } = &mut self.tins[tin];
        let cobalt = queues.cobalt(queue);
        while let Some(pkt) = self.held.pop(line) {
            *packets -= 1;
            let markable = self.ecn.marks(&pkt);
            let sojourn = now.since(pkt.arrived);
            let judged = cobalt.judge(law, now, sojourn, markable, &mut self.dice);
            let last = self.held.of(line).packets == 0;
            if let Some(pkt) = carry_out(judged, self.ecn, last, now, pkt, out) {
                queues.sent(queue, pkt.len);
                return Some(pkt);
            }
        }
        cobalt.found_empty(law, now);
        let remembers = !cobalt.is_at_rest(now);
        queues.emptied(queue, remembers);
        None
    }
}

// Out of line, so that the code of drivers that hold other queues beside it stays small: in line,
// drop-tail took 10 ns a packet instead of 7.
impl Qdisc for Cake {
    #[inline(never)]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        self.take(now, pkt, None, out);
    }

    #[inline(never)]
    fn enqueue_ack<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, ack: &Ack, out: &mut S) {
        self.take(now, pkt, Some(ack), out);
    }

    #[inline(never)]
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.now = now;
        if self.shaper.as_ref().is_some_and(|own| own.paid > now) {
            return None;
        }
        // A link that asks in vain finds queues empty, too, or BLUE would never hear that a lone
        // flow has heeded its drops.
        let mut first = true;
        loop {
            let index = self.choose(now)?;
            let (held, base) = (&self.held, index * self.flows);
            let waits = |queue: usize| held.of(base + queue).packets > 0;
            // One that only remembers is looked after at each departure.
            let queue = self.tins[index].queues.next(first, waits)?;
            first = false;
            if let Some(pkt) = self.send(index, queue, now, out) {
                self.tins[index].clock.pay_softly(now, pkt.len);
                if let Some(shaper) = &mut self.shaper {
                    shaper.pay(pkt.len);
                }
                return Some(pkt);
            }
        }
    }

    fn advance(&mut self, now: Time) {
        self.now = now;
    }

    fn wake_at(&self) -> Option<Time> {
        let waits = self.held.all().packets > 0;
        self.shaper.as_ref().map(|own| own.paid).filter(|&paid| waits && paid > self.now)
    }

    fn backlog(&self) -> Backlog {
        self.held.all()
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let mut sums = [0; 3];
        for tin in &self.tins {
            sums.iter_mut().zip(tin.queues.counts()).for_each(|(sum, count)| *sum += count);
        }
        for (name, sum) in ["sparse_flows", "bulk_flows", "decaying_flows"].into_iter().zip(sums) {
            see(Gauge { name, unit: "", value: sum as f64 });
        }
        see(Gauge { name: "longest", unit: "B", value: self.held.longest().1 as f64 });
    }
}
