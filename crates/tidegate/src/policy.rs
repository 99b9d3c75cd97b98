//! One FIFO and a rule for who may enter it: most of the field.
//!
//! A rule is a [`Policy`]; [`Fifo`] with a rule is a [`Qdisc`]. The FIFO owns what is common. It
//! checks the hard limit before the rule. A mark on a packet that cannot be marked becomes a drop
//! or a pass, as the rule's [`NonEct`] says. Victims go to the sink.
use crate::choices;
use crate::packet::{Ecn, Packet};
use crate::parts::ring::Ring;
use crate::qdisc::{Backlog, DropReason, Gauge, Link, MarkReason, Qdisc, Sink};
use crate::rng::Rng;
use crate::units::Time;

/// What a rule decides of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Let it in.
    Admit,
    /// Mark it and let it in.
    Mark(MarkReason),
    /// Refuse it.
    Drop(DropReason),
    /// Let it in and evict the queued packet at this position (0 is the head).
    Evict(usize, DropReason),
}

choices! {
    /// What becomes of a packet that was to be marked but is Not-ECT.
    pub enum NonEct {
        /// It is dropped: the congestion signal must arrive (RFC 3168 §5).
        Drop = "drop",
        /// It passes unmarked: for rules defined for marking only.
        Pass = "pass",
    }
}

choices! {
    /// How a rule speaks to ECN-capable flows: every queue's parameter `ecn`.
    pub enum Signal {
        /// By a mark.
        Mark = "on",
        /// By a drop, as to everybody else.
        Drop = "off",
    }
}

impl Signal {
    /// The verdict on a packet that is to carry congestion's signal.
    #[inline]
    pub const fn verdict(self, why: MarkReason) -> Verdict {
        match self {
            Signal::Mark => Verdict::Mark(why),
            Signal::Drop => Verdict::Drop(why.as_drop()),
        }
    }

    /// Whether the signal to `pkt` is a mark.
    #[inline]
    pub fn marks(self, pkt: &Packet) -> bool {
        self == Signal::Mark && pkt.ecn.is_capable()
    }
}

/// What a rule may see of the queue it guards. Positions count from the head.
pub trait QueueView {
    /// What waits, without the packet being judged.
    fn backlog(&self) -> Backlog;
    /// The link the queue was built for.
    fn link(&self) -> &Link;
    /// The flow of the packet at `position`.
    fn flow_at(&self, position: usize) -> u64;
    /// The length of the packet at `position`, in bytes.
    fn len_at(&self, position: usize) -> u32;
}

/// A rule for who may enter a FIFO.
pub trait Policy {
    /// A packet is offered, whatever becomes of it: for rules that count or roll for every arrival.
    #[inline]
    fn offered(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView, dice: &mut Rng) {
        let _ = (now, pkt, queue, dice);
    }

    /// There is no room for `pkt`: the position of a queued packet to evict for it, if the rule
    /// knows one. Asked again while there still is none.
    #[inline]
    fn make_room(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView) -> Option<usize> {
        let _ = (now, pkt, queue);
        None
    }

    /// Judges an arriving packet that finds room. Nothing is committed yet.
    fn arrive(
        &mut self,
        now: Time,
        pkt: &mut Packet,
        queue: &impl QueueView,
        dice: &mut Rng,
    ) -> Verdict;

    /// The packet was let in (and marked, if that was the verdict). `queue` does not hold it yet.
    #[inline]
    fn admitted(&mut self, now: Time, pkt: &Packet, queue: &impl QueueView) {
        let _ = (now, pkt, queue);
    }

    /// The packet was refused: by the rule, or by the hard limit ([`DropReason::Overlimit`]; then
    /// the rule was not asked, so a rule that counts every arrival counts this one here).
    #[inline]
    fn refused(&mut self, now: Time, pkt: &Packet, why: DropReason, queue: &impl QueueView) {
        let _ = (now, pkt, why, queue);
    }

    /// `pkt` leaves from the head; a rule may mark it now. `queue` no longer holds it.
    #[inline]
    fn depart(
        &mut self,
        now: Time,
        pkt: &Packet,
        queue: &impl QueueView,
        dice: &mut Rng,
    ) -> Option<MarkReason> {
        let _ = (now, pkt, queue, dice);
        None
    }

    /// A queued packet was evicted by this rule's own verdict.
    #[inline]
    fn evicted(&mut self, now: Time, victim: &Packet, queue: &impl QueueView) {
        let _ = (now, victim, queue);
    }

    /// The link asked and found nothing.
    #[inline]
    fn idle(&mut self, now: Time) {
        let _ = now;
    }

    /// See [`Qdisc::advance`].
    fn advance(&mut self, now: Time) {
        let _ = now;
    }

    /// See [`Qdisc::probe`].
    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        let _ = see;
    }

    /// What becomes of a packet that was to be marked but cannot be.
    #[inline]
    fn non_ect(&self) -> NonEct {
        NonEct::Drop
    }
}

/// A first-in first-out queue behind a rule.
#[derive(Clone, Debug)]
pub struct Fifo<P> {
    policy: P,
    line: WaitingPackets,
    /// How many at the head were let in by another rule before this one: it never hears of them.
    elders: usize,
    dice: Rng,
}

/// The packets that wait, and the link they wait for: what a rule sees.
#[derive(Clone, Debug)]
struct WaitingPackets {
    packets: Ring<Packet>,
    backlog: Backlog,
    link: Link,
}

impl QueueView for WaitingPackets {
    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }
    #[inline]
    fn link(&self) -> &Link {
        &self.link
    }
    #[inline]
    fn flow_at(&self, position: usize) -> u64 {
        self.packets[position].flow
    }
    #[inline]
    fn len_at(&self, position: usize) -> u32 {
        self.packets[position].len
    }
}

impl<P: Policy> Fifo<P> {
    /// An empty queue for `link`, guarded by `policy`, which rolls `dice`.
    pub fn new(policy: P, link: Link, dice: Rng) -> Fifo<P> {
        Fifo {
            policy,
            line: WaitingPackets { packets: Ring::new(), backlog: Backlog::default(), link },
            elders: 0,
            dice,
        }
    }

    /// The rule.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// The dice as they lie: compared before and after a call, they tell a test what was rolled.
    pub fn dice(&self) -> &Rng {
        &self.dice
    }

    #[inline]
    fn refuse<S: Sink + ?Sized>(&mut self, now: Time, pkt: &Packet, why: DropReason, out: &mut S) {
        self.policy.refused(now, pkt, why, &self.line);
        out.dropped(now, pkt, why);
    }

    fn evict<S: Sink + ?Sized>(
        &mut self,
        now: Time,
        position: usize,
        why: DropReason,
        out: &mut S,
    ) {
        let victim = self.line.packets.remove(position);
        self.line.backlog.remove(victim.len);
        if position < self.elders {
            self.elders -= 1
        } else {
            self.policy.evicted(now, &victim, &self.line)
        }
        out.dropped(now, &victim, why);
    }

    #[inline]
    fn admit(&mut self, now: Time, pkt: Packet) {
        self.policy.admitted(now, &pkt, &self.line);
        self.line.backlog.add(pkt.len);
        self.line.packets.push(pkt);
    }
}

impl<P: Policy> Qdisc for Fifo<P> {
    #[inline]
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        self.policy.offered(now, &pkt, &self.line, &mut self.dice);
        while !self.line.link.has_room(self.line.backlog, pkt.len) {
            match self.policy.make_room(now, &pkt, &self.line) {
                Some(position) => self.evict(now, position, DropReason::Evicted, out),
                None => return self.refuse(now, &pkt, DropReason::Overlimit, out),
            }
        }
        match self.policy.arrive(now, &mut pkt, &self.line, &mut self.dice) {
            Verdict::Admit => self.admit(now, pkt),
            Verdict::Drop(why) => self.refuse(now, &pkt, why, out),
            Verdict::Mark(why) => {
                if pkt.ecn.is_capable() {
                    pkt.ecn = Ecn::Ce;
                    out.marked(now, &pkt, why);
                    self.admit(now, pkt);
                } else if self.policy.non_ect() == NonEct::Pass {
                    self.admit(now, pkt);
                } else {
                    self.refuse(now, &pkt, why.as_drop(), out);
                }
            }
            Verdict::Evict(position, why) => {
                self.evict(now, position, why, out);
                self.admit(now, pkt);
            }
        }
    }

    #[inline]
    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let Some(mut pkt) = self.line.packets.pop() else {
            self.policy.idle(now);
            return None;
        };
        self.line.backlog.remove(pkt.len);
        if self.elders > 0 {
            self.elders -= 1;
            return Some(pkt);
        }
        if let Some(why) = self.policy.depart(now, &pkt, &self.line, &mut self.dice)
            && pkt.ecn.is_capable()
        {
            pkt.ecn = Ecn::Ce;
            out.marked(now, &pkt, why);
        }
        Some(pkt)
    }

    fn advance(&mut self, now: Time) {
        self.policy.advance(now);
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.line.backlog
    }

    fn inherit(&mut self, old: &mut Fifo<P>) -> bool {
        core::mem::swap(&mut self.line.packets, &mut old.line.packets);
        core::mem::swap(&mut self.line.backlog, &mut old.line.backlog);
        self.elders = self.line.packets.len();
        true
    }

    fn probe(&self, see: &mut dyn FnMut(Gauge)) {
        self.policy.probe(see);
    }
}
