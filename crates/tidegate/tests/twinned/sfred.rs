//! SFRED and its twin.
use super::red::Told;
use super::sfb::documented_hash;
use super::{Set, with_known};
use crate::naive::red::NaiveRed;
use crate::naive::sfred::{NaiveSfred, Said, Setting};
use crate::support::twin::{Disputes, agree, rolled};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Sfred;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Time};

/// The queue with its twin beside it.
pub struct Twinned {
    pub queue: Sfred,
    pub twin: NaiveSfred,
    link: Link,
    ecn: bool,
    /// Rounding has decided: from there on nothing is compared.
    pub on_the_edge: bool,
    pub operations: u64,
    pub disputes: Disputes,
    pub penalised: u64,
    pub paid: u64,
    pub passed: u64,
    pub forced: u64,
    pub signals: u64,
    pub overlimit: u64,
    /// The least and the largest max_p of a flow that were seen.
    pub range: (f64, f64),
}

impl Twinned {
    fn judge(&mut self, said: Said, pkt: &Packet, fate: &Fate, die: Option<f64>) {
        let step = self.operations;
        let drop = |why| Fate { dropped: Some(why), marked: None };
        let mut paid = 0.0;
        match said {
            Said::Penalty { tokens } => {
                self.penalised += 1;
                paid = pkt.len as f64;
                let passed = *fate == Fate::default();
                self.paid += u64::from(passed);
                assert!(
                    die.is_none() && (passed || *fate == drop(DropReason::Penalty)),
                    "step {step}: {fate:?}"
                );
                assert!(
                    passed == (tokens >= paid) || (tokens - paid).abs() < 1e-6 * paid,
                    "{tokens} for {paid}"
                );
            }
            Said::Red(said) => {
                let told = Told { step, fate, die, markable: self.ecn && pkt.ecn.is_capable() };
                match told.is_said(&said, &mut self.twin.red, &mut self.disputes) {
                    Some(DropReason::Forced) => self.forced += 1,
                    Some(_) => self.signals += 1,
                    None => self.passed += u64::from(die.is_none()),
                }
            }
        }
        if fate.dropped.is_none() {
            self.twin.admitted(pkt.flow, paid);
        }
    }

    fn compare(&mut self) {
        self.operations += 1;
        if self.on_the_edge {
            return;
        }
        let (step, rule) = (self.operations, self.queue.policy());
        agree("avg", step, rule.red().avg(), self.twin.red.avg, 1e-3);
        agree("count", step, rule.red().count(), self.twin.red.count, 1.0);
        // All bins take long: one level at a time.
        let level = step as usize % self.twin.setting.levels;
        for (ours, theirs) in rule.level(level).iter().zip(&self.twin.bins[level]) {
            assert_eq!(ours.qlen(), theirs.qlen, "step {step}");
            agree("bin's avg", step, ours.avg(), theirs.avg, 1e-3);
            agree("max_p", step, ours.max_p(), theirs.max_p, 1e-3);
            let (least, most) = &mut self.range;
            (*least, *most) = (least.min(theirs.max_p), most.max(theirs.max_p));
        }
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let backlog = self.queue.backlog();
        let has_room = self.link.has_room(backlog, pkt.len);
        let (mut fate, before) = (Fate::default(), self.queue.dice().clone());
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        if self.on_the_edge {
            return;
        }
        let die = rolled(&before, self.queue.dice());
        let (nanos, waiting) =
            (now.as_nanos() as f64, (backlog.packets as f64, backlog.bytes as f64));
        let said = if has_room {
            Some(self.twin.arrive(nanos, waiting, pkt.flow, pkt.len as f64))
        } else {
            self.twin.overflow(nanos, waiting, pkt.flow);
            None
        };
        self.on_the_edge = self.twin.is_edge(pkt.flow, self.queue.policy().red().avg());
        match said {
            _ if self.on_the_edge => return,
            Some(said) => self.judge(said, &pkt, &fate, die),
            None => {
                assert_eq!((fate.dropped, die), (Some(DropReason::Overlimit), None));
                self.overlimit += 1;
            }
        }
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let sent = self.queue.dequeue(now, out);
        match sent {
            _ if self.on_the_edge => {}
            Some(_) => self.twin.depart(),
            None => self.twin.red.idle(now.as_nanos() as f64),
        }
        self.compare();
        sent
    }

    as_the_queue!(advance);
}

impl super::Twinned for Twinned {
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        // It compares all bins at every call.
        let few = Set(config).number("bins").min(64.0).to_string();
        let config = with_known(config, &[("mark_above_max", "off"), ("bins", &few)]);
        let AnyQueue::Sfred(queue) = config.build(link, dice.clone()).ok()? else { return None };
        let set = Set(&config);
        let setting = Setting {
            levels: set.number("levels") as usize,
            bins: set.number("bins") as usize,
            bin_min: set.number("bin_min"),
            bin_max: set.number("bin_max"),
            bin_weight: set.number("bin_weight"),
            alpha: set.number("alpha"),
            beta: set.number("beta"),
            floor: set.number("floor"),
            once: set.is("scaling", "crossing"),
            max_p: set.number("probability"),
            penalty_rate: set.text("penalty_rate").parse::<tidegate::Rate>().unwrap().as_bps()
                as f64
                / 8e9,
            penalty_depth: set.size("penalty_depth").in_bytes(link.mean_packet) as f64,
        };
        let red = NaiveRed {
            min: set.size("min").in_packets(link.mean_packet),
            max: set.size("max").in_packets(link.mean_packet),
            weight: set.number("weight"),
            wait: set.is("wait", "on"),
            gentle: set.is("gentle", "on"),
            ..NaiveRed::of(&link)
        };
        let hash = documented_hash(setting.levels, setting.bins, dice);
        let twin = NaiveSfred::new(setting, red, move |level, flow| hash(0, level, flow));
        Some(Twinned {
            queue,
            twin,
            link,
            ecn: set.is("ecn", "on"),
            on_the_edge: false,
            operations: 0,
            disputes: Disputes::default(),
            penalised: 0,
            paid: 0,
            passed: 0,
            forced: 0,
            signals: 0,
            overlimit: 0,
            range: (1.0, 0.0),
        })
    }
}
