//! SFQ with RED and its twin.
use super::red::Told;
use super::{Set, with_known};
use crate::naive::hosts::{self, Divided};
use crate::naive::red::NaiveRed;
use crate::naive::sfq_red::{NaiveSfqRed, Said};
use crate::support::twin::{Disputes, agree, rolled};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::SfqRed;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Size, Time};

/// The queue with its twin beside it.
pub struct Twinned {
    pub queue: SfqRed,
    pub twin: NaiveSfqRed,
    link: Link,
    ecn: bool,
    isolation: String,
    /// Rounding has decided in a bin: from there on nothing is compared.
    pub on_the_edge: bool,
    pub operations: u64,
    pub disputes: Disputes,
    pub full: u64,
    pub forced: u64,
    pub signals: u64,
    /// Bins that were idle for a while with an average above nothing.
    pub woken: u64,
    pub busiest: usize,
}

impl Twinned {
    fn judge(&mut self, bin: usize, said: Said, pkt: &Packet, fate: &Fate, die: Option<f64>) {
        let step = self.operations;
        match said {
            Said::Full => {
                let full = Fate { dropped: Some(DropReason::Overlimit), marked: None };
                assert_eq!((fate, die), (&full, None), "step {step}");
                self.full += 1;
            }
            Said::Red(said) => {
                let told = Told { step, fate, die, markable: self.ecn && pkt.ecn.is_capable() };
                match told.is_said(&said, &mut self.twin.bins[bin].red, &mut self.disputes) {
                    Some(DropReason::Forced) => self.forced += 1,
                    Some(_) => self.signals += 1,
                    None => {}
                }
            }
        }
        if fate.dropped.is_none() {
            self.twin.admitted(bin, hosts::of(pkt), pkt.slot, pkt.len as u64);
        }
        let (red, step) = (self.queue.red(bin), self.operations);
        agree("avg", step, red.avg(), self.twin.bins[bin].red.avg, 1e-3);
        agree("count", step, red.count(), self.twin.count(bin), 1.0);
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let room_for_all = self.link.has_room(self.queue.backlog(), pkt.len);
        let (mut fate, before) = (Fate::default(), self.queue.dice().clone());
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        if self.on_the_edge {
            return;
        }
        let die = rolled(&before, self.queue.dice());
        let bin = self.queue.bin_of(hosts::key(&self.isolation, &pkt));
        let before = self.twin.bins[bin].red.avg;
        self.woken += u64::from(self.twin.bins[bin].red.idle_since.is_some() && before > 0.5);
        let said = self.twin.arrive(now.as_nanos() as f64, bin, pkt.len as u64, room_for_all);
        self.on_the_edge = self.twin.bins[bin].red.is_edge(self.queue.red(bin).avg());
        if !self.on_the_edge {
            self.judge(bin, said, &pkt, &fate, die);
        }
        self.operations += 1;
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.busiest = self.busiest.max(self.twin.turns.len());
        let sent = self.queue.dequeue(now, out);
        if !self.on_the_edge {
            let expected = self.twin.dequeue(now.as_nanos() as f64);
            let key = |pkt: &Packet| hosts::key(&self.isolation, pkt);
            assert_eq!(
                sent.map(|pkt| (self.queue.bin_of(key(&pkt)), pkt.slot)),
                expected,
                "step {}",
                self.operations
            );
        }
        self.operations += 1;
        sent
    }

    as_the_queue!(advance);
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let config = with_known(config, &[("mark_above_max", "off")]);
        let AnyQueue::SfqRed(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let (bin_limit, in_bytes) = match set.size("bin_limit") {
            Size::Packets(n) => (n, false),
            Size::Bytes(b) => (b, true),
        };
        let red = NaiveRed { gentle: set.is("gentle", "on"), ..super::red::naive(&config, &link) };
        let isolation = set.text("isolation");
        let mut twin = NaiveSfqRed::new(set.number("bins") as usize, bin_limit, in_bytes, &red);
        twin.divided = Divided::by(&isolation);
        Some(Twinned {
            queue,
            twin,
            link,
            ecn: set.is("ecn", "on"),
            isolation,
            on_the_edge: false,
            operations: 0,
            disputes: Disputes::default(),
            full: 0,
            forced: 0,
            signals: 0,
            woken: 0,
            busiest: 0,
        })
    }
}
