//! CHOKe and its twin.
use super::{Set, with_known};
use crate::naive::choke::{NaiveChoke, Said};
use crate::naive::red::{self, NaiveRed};
use crate::support::Both;
use crate::support::twin::{Disputes, agree};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Choke;
use tidegate::{DropReason, Link, MarkReason, Packet, Qdisc, Rng, Sink, Time};

/// What a call told: by reason, in order.
#[derive(Debug, Default)]
pub struct Heard {
    pub dropped: Vec<(u32, DropReason)>,
    pub marked: Vec<u32>,
}

impl Sink for Heard {
    fn dropped(&mut self, _: Time, pkt: &Packet, why: DropReason) {
        self.dropped.push((pkt.slot, why));
    }
    fn marked(&mut self, _: Time, pkt: &Packet, _: MarkReason) {
        self.marked.push(pkt.slot);
    }
}

/// The queue with its twin beside it. The twin learns what each draw finds. The queue draws from a
/// list without gaps, where the last packet takes the place of one that left; we keep it here as
/// well.
pub struct Twinned {
    pub queue: Choke,
    pub twin: NaiveChoke,
    link: Link,
    ecn: bool,
    list: Vec<u32>,
    /// Rounding has decided: from there on nothing is compared.
    pub on_the_edge: bool,
    pub operations: u64,
    pub disputes: Disputes,
    /// Arrivals that matched, and packets that went with them; the most with one.
    pub matches: u64,
    pub victims: u64,
    pub most_victims: usize,
    pub most_candidates: usize,
    pub signals: u64,
    pub forced: u64,
    pub full: u64,
    /// Matches of packets that found no room.
    pub full_matches: u64,
}

impl Twinned {
    fn leaves(&mut self, slot: u32) {
        let at = self.list.iter().position(|&held| held == slot).expect("it waits");
        self.list.swap_remove(at);
    }

    /// What the queue told, in the twin's words.
    fn judge(&mut self, said: Said, pkt: &Packet, heard: &Heard, dice: &mut Rng) -> bool {
        let step = self.operations;
        match said {
            Said::Match(mut ids) => {
                self.matches += 1;
                self.victims += ids.len() as u64;
                self.most_victims = self.most_victims.max(ids.len());
                // Victims in the order of the list, from its end, so that nobody's place changes
                // before its turn.
                ids.sort_by_key(|id| {
                    std::cmp::Reverse(self.list.iter().position(|held| held == id))
                });
                let all: Vec<_> =
                    ids.iter().chain([&pkt.slot]).map(|&id| (id, DropReason::Unfair)).collect();
                assert_eq!(heard.dropped, all, "step {step}");
                ids.into_iter().for_each(|id| self.leaves(id));
                return false;
            }
            Said::Full => {
                assert_eq!(heard.dropped, [(pkt.slot, DropReason::Overlimit)], "step {step}");
                self.full += 1;
                return false;
            }
            Said::Red(red::Said::Pass) => {
                assert!(heard.dropped.is_empty() && heard.marked.is_empty(), "step {step}")
            }
            Said::Red(red::Said::Forced) => {
                assert_eq!(heard.dropped, [(pkt.slot, DropReason::Forced)], "step {step}");
                self.twin.red.signalled();
                self.forced += 1;
            }
            Said::Red(red::Said::Die { p_a, .. }) => {
                let signal = !heard.dropped.is_empty() || !heard.marked.is_empty();
                self.disputes.verdict(step, dice.uniform(), p_a, signal);
                if signal {
                    self.twin.red.signalled();
                    self.signals += 1;
                    let marked = self.ecn && pkt.ecn.is_capable();
                    let dropped = if marked { vec![] } else { vec![(pkt.slot, DropReason::Early)] };
                    assert_eq!(
                        (&heard.dropped, heard.marked.is_empty()),
                        (&dropped, !marked),
                        "step {step}"
                    );
                }
            }
        }
        heard.dropped.is_empty()
    }

    fn compare(&mut self) {
        self.operations += 1;
        if self.on_the_edge {
            return;
        }
        let red = self.queue.red();
        agree("avg", self.operations, red.avg(), self.twin.red.avg, 1e-3);
        let unit = if self.twin.red.unit == red::Unit::BytesAfter {
            self.twin.red.mean_packet
        } else {
            1.0
        };
        agree("count", self.operations, red.count(), self.twin.red.count / unit, 1.0);
        assert_eq!(self.queue.backlog().packets as usize, self.twin.waiting.len());
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let backlog = self.queue.backlog();
        let has_room = self.link.has_room(backlog, pkt.len);
        let mut dice = self.queue.dice().clone();
        let mut heard = Heard::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut heard, out));
        if self.on_the_edge {
            return;
        }
        let seen = (backlog.packets as f64, backlog.bytes as f64, has_room);
        let (list, mut drawn) = (&self.list, 0);
        let draw = || {
            drawn += 1;
            list[dice.below(list.len() as u64) as usize]
        };
        let said = self.twin.arrive(now.as_nanos() as f64, seen, (pkt.flow, pkt.len as f64), draw);
        self.on_the_edge = self.twin.is_edge(self.queue.red().avg());
        if self.on_the_edge {
            return;
        }
        self.most_candidates = self.most_candidates.max(drawn);
        self.full_matches += u64::from(!has_room && matches!(said, Said::Match(_)));
        if self.judge(said, &pkt, &heard, &mut dice) {
            self.twin.admitted(pkt.slot, pkt.flow);
            self.list.push(pkt.slot);
        }
        assert_eq!(&dice, self.queue.dice(), "step {}: as many dice", self.operations);
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let pkt = self.queue.dequeue(now, out);
        match pkt {
            _ if self.on_the_edge => {}
            Some(pkt) => {
                self.leaves(pkt.slot);
                self.twin.depart(pkt.slot);
            }
            None => self.twin.red.idle(now.as_nanos() as f64),
        }
        self.compare();
        pkt
    }

    as_the_queue!(advance);
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let config = with_known(config, &[("mark_above_max", "off")]);
        let AnyQueue::Choke(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let twin = NaiveChoke {
            red: NaiveRed { gentle: set.is("gentle", "on"), ..super::red::naive(&config, &link) },
            candidates: set.number("candidates") as usize,
            regions: set.number("regions") as usize,
            waiting: Vec::new(),
        };
        Some(Twinned {
            queue,
            twin,
            link,
            ecn: set.is("ecn", "on"),
            list: Vec::new(),
            on_the_edge: false,
            operations: 0,
            disputes: Disputes::default(),
            matches: 0,
            victims: 0,
            most_victims: 0,
            most_candidates: 0,
            signals: 0,
            forced: 0,
            full: 0,
            full_matches: 0,
        })
    }
}
