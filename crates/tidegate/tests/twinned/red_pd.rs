//! RED-PD and its twins: its own, and RED's for the packets that pass the pre-filter.
use super::Set;
use super::red::{Told, length};
use crate::naive::red::{NaiveRed, Said, Unit};
use crate::naive::red_pd::{NaiveRedPd, Setting, Tightens};
use crate::support::twin::{Disputes, agree};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::RedPd;
use tidegate::{Backlog, DropReason, Link, Packet, Qdisc, Rng, Sink, Time};

/// From here on the twin's clock, a float, has no single nanoseconds: 2^53.
const FLOAT: f64 = 9_007_199_254_740_992.0;

/// RED-PD with its twins beside it: the lists, who is monitored with what, and the verdicts of the
/// pre-filter and of RED.
pub struct Twinned {
    pub queue: RedPd,
    pub twin: NaiveRedPd,
    pub red: NaiveRed,
    ecn: bool,
    pub link: Link,
    /// Rounding has decided, in RED or in the pre-filter: from there on nothing is compared.
    pub on_the_edge: bool,
    pub operations: u64,
    pub disputes: Disputes,
    /// Drops of the pre-filter's, signals of RED's, packets without room.
    pub filtered: u64,
    pub by_red: u64,
    pub full: u64,
    pub most_monitored: usize,
    pub unresponsive: u64,
    pub released: u64,
}

impl Twinned {
    fn catch_up(&mut self, now: Time) {
        let before = self.twin.monitored.len();
        self.twin.catch_up(now.as_nanos());
        self.released += before.saturating_sub(self.twin.monitored.len()) as u64;
    }

    /// Whether the pre-filter drops the packet, with the die that the queue rolls for it.
    fn is_filtered(
        &mut self,
        pkt: &Packet,
        waiting: Backlog,
        has_room: bool,
        fate: &Fate,
        dice: &mut Rng,
    ) -> bool {
        let len = pkt.len as f64;
        let busy = self.red.avg >= self.red.min && waiting.packets > 1;
        let filtered = match self.twin.arrive(pkt.flow, len, busy) {
            None => false,
            Some(p) => {
                let (die, unfair) = (dice.uniform(), fate.dropped == Some(DropReason::Unfair));
                if has_room {
                    self.disputes.verdict(self.operations, die, p, unfair);
                    unfair
                } else {
                    self.on_the_edge |= (die - p).abs() < 1e-9;
                    die < p
                }
            }
        };
        if filtered {
            self.twin.filtered(pkt.flow, len);
            self.filtered += 1;
        } else {
            self.twin.passed(pkt.flow, len);
        }
        filtered
    }

    /// A packet that passed the pre-filter is an arrival at RED, with room or without.
    fn passes_to_red(
        &mut self,
        nanos: f64,
        pkt: &Packet,
        waiting: Backlog,
        has_room: bool,
        fate: &Fate,
        dice: &mut Rng,
    ) {
        let (packets, bytes) = (waiting.packets as f64, waiting.bytes as f64);
        if !has_room {
            self.red.overflow(nanos, packets, bytes);
            self.on_the_edge |= self.red.is_edge(self.queue.policy().red().avg());
            return;
        }
        let said = self.red.arrive(nanos, packets, bytes, pkt.len as f64);
        self.on_the_edge |= self.red.is_edge(self.queue.policy().red().avg());
        if !self.on_the_edge {
            self.judge_by_red(said, pkt, fate, dice);
        }
    }

    /// What RED says of a packet that passed the pre-filter and found room.
    fn judge_by_red(&mut self, said: Said, pkt: &Packet, fate: &Fate, dice: &mut Rng) {
        let die = matches!(said, Said::Die { .. }).then(|| dice.uniform());
        let told =
            Told { step: self.operations, fate, die, markable: self.ecn && pkt.ecn.is_capable() };
        self.by_red += u64::from(told.is_said(&said, &mut self.red, &mut self.disputes).is_some());
    }

    fn compare(&mut self, flow: Option<u64>) {
        self.operations += 1;
        let (step, rule, twin) = (self.operations, self.queue.policy(), &self.twin);
        if self.on_the_edge {
            return;
        }
        let floor = if self.red.unit == Unit::Packets { 1e-3 } else { 1.0 };
        agree("avg", step, rule.red().avg(), self.red.avg, floor);
        assert_eq!(
            u128::from(rule.due().as_nanos()),
            twin.due.min(u64::MAX.into()),
            "operation {step}: {twin:?}"
        );
        agree("p_avg", step, rule.drop_rate(), twin.p_avg, 1e-3);
        let newest = twin.accounts.keys().next_back().copied();
        for flow in flow.into_iter().chain(newest) {
            match (rule.monitored(flow), twin.monitored.get(&flow)) {
                (Some(ours), Some(theirs)) => {
                    agree("P", step, ours.probability(), theirs.p, 1e-3);
                    assert_eq!(ours.count(), theirs.count, "operation {step}: {theirs:?}");
                    assert_eq!(
                        ours.is_unresponsive(),
                        theirs.unresponsive,
                        "operation {step}: {theirs:?}"
                    );
                }
                (ours, theirs) => assert!(
                    ours.is_none() && theirs.is_none(),
                    "operation {step}: {ours:?} {theirs:?}"
                ),
            }
        }
        assert_eq!(rule.known() as usize, twin.accounts.len(), "operation {step}");
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        self.catch_up(now);
        let waiting = self.queue.backlog();
        let mut dice = self.queue.dice().clone();
        let mut fate = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut fate, out));
        if self.on_the_edge {
            return;
        }
        let nanos = now.as_nanos() as f64;
        self.on_the_edge |= nanos > FLOAT && self.red.is_clock_edge(nanos);
        let (len, has_room) = (pkt.len as f64, self.link.has_room(waiting, pkt.len));
        let filtered = self.is_filtered(&pkt, waiting, has_room, &fate, &mut dice);
        if !has_room {
            assert_eq!(fate.dropped, Some(DropReason::Overlimit));
            self.full += 1;
        }
        if !filtered {
            self.passes_to_red(nanos, &pkt, waiting, has_room, &fate, &mut dice);
            if fate.is_signal() {
                self.twin.red_dropped(pkt.flow, len);
            }
        }
        if fate.dropped.is_none() {
            self.red.admitted();
        }
        assert!(
            self.on_the_edge || &dice == self.queue.dice(),
            "operation {}: as many dice",
            self.operations
        );
        self.most_monitored = self.most_monitored.max(self.twin.monitored.len());
        self.unresponsive +=
            u64::from(self.twin.monitored.get(&pkt.flow).is_some_and(|m| m.unresponsive));
        self.compare(Some(pkt.flow));
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.catch_up(now);
        let pkt = self.queue.dequeue(now, out);
        if pkt.is_none() {
            self.red.idle(now.as_nanos() as f64);
        }
        self.compare(None);
        pkt
    }

    fn advance(&mut self, now: Time) {
        self.catch_up(now);
        self.queue.advance(now);
        self.compare(None);
    }

    as_the_queue!();
}

fn setting(set: &Set) -> Setting {
    let interval = |name| ((set.number(name) * set.secs("rtt") * 1e9 + 0.5) as u64).max(1);
    Setting {
        rtt: set.secs("rtt"),
        lists: set.number("lists") as usize,
        appearances: set.number("appearances") as usize,
        list_flows: set.number("list_flows") as usize,
        release: set.number("release"),
        release_unresponsive: set.number("release_unresponsive"),
        decrease: set.number("decrease"),
        hold: set.nanos("hold"),
        weight: set.number("drop_weight"),
        least: interval("least_interval"),
        most: interval("most_interval"),
        least_loss: set.number("least_loss"),
        start: set.nanos("start"),
        tightens: if set.is("tightens", "red_drop") {
            Tightens::RedDrop
        } else {
            Tightens::AnyDrop
        },
        test: set.is("test", "on"),
        silence: 64,
    }
}

fn red(set: &Set, link: &Link) -> NaiveRed {
    let (unit, length) = length(set, link);
    let ns2 = set.is("rules", "ns2");
    NaiveRed {
        unit,
        min: length(set.size("min")),
        max: length(set.size("max")),
        max_p: set.number("probability"),
        weight: set.number("weight"),
        gentle: set.is("gentle", "on"),
        wait: set.is("wait", "on"),
        idle_plus_one: ns2,
        entry_passes: ns2,
        short_passes: ns2,
        count: if unit == Unit::BytesAfter { -(link.mean_packet.get() as f64) } else { -1.0 },
        ..NaiveRed::of(link)
    }
}

impl super::Twinned for Twinned {
    /// What has no length is dropped without a trace.
    const LEAST: u32 = 1;

    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        // The twin knows as many flows as there are.
        let config = super::with_known(config, &[("flows", "8192")]);
        let AnyQueue::RedPd(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let (setting, red) = (setting(&set), red(&set, &link));
        Some(Twinned {
            queue,
            twin: NaiveRedPd::new(setting),
            red,
            ecn: set.is("ecn", "on"),
            link,
            on_the_edge: false,
            operations: 0,
            disputes: Disputes::default(),
            filtered: 0,
            by_red: 0,
            full: 0,
            most_monitored: 0,
            unresponsive: 0,
            released: 0,
        })
    }

    fn patience(&self) -> u64 {
        1_000 * self.twin.set.most
    }
}
