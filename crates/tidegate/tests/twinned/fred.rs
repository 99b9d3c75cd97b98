//! FRED and its twin.
use super::{Set, with_known};
use crate::naive::fred::{Above, NaiveFred, Said, Setting};
use crate::support::twin::{Disputes, agree, rolled};
use crate::support::{Both, Fate};
use tidegate::catalog::{AnyConfig, AnyQueue};
use tidegate::queues::Fred;
use tidegate::{DropReason, Link, Packet, Qdisc, Rng, Sink, Size, Time};

/// FRED with its twin beside it: every verdict and every number compared.
pub struct Twinned {
    pub queue: Fred,
    pub twin: NaiveFred,
    pub link: Link,
    pub bytes: bool,
    pub flows: u64,
    /// Rounding has decided: from there on nothing is compared.
    pub on_the_edge: bool,
    pub operations: u64,
    pub disputes: Disputes,
    pub early: u64,
    pub forced: u64,
    pub struck: u64,
}

impl Twinned {
    fn compare(&mut self) {
        self.operations += 1;
        let (step, rule, twin) = (self.operations, self.queue.policy(), &self.twin);
        assert_eq!(rule.flows() as usize, twin.flows.len(), "step {step}: N");
        agree("avg", step, rule.avg(), twin.avg, 1.0);
        agree("avgcq", step, rule.share(), twin.avgcq(), 1.0);
        let id = tidegate::rng::mix(step % self.flows);
        let theirs = twin.flows.get(&id).map(|flow| flow.strike as u32);
        assert_eq!(rule.flow(id).map(|(_, strikes)| strikes), theirs, "step {step}: strikes");
    }
}

impl Qdisc for Twinned {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        let backlog = self.queue.backlog();
        let has_room = self.link.has_room(backlog, pkt.len);
        // An idle time is a power, which is rounded in two ways.
        let avg = self.queue.policy().avg();
        let rounded = avg != self.twin.avg || (backlog.packets == 0 && avg > 0.0);
        let nanos = now.as_nanos() as f64;
        let before = self.queue.dice().clone();
        let mut told = Fate::default();
        self.queue.enqueue(now, pkt, &mut Both(&mut told, out));
        assert_eq!(told.marked, None, "FRED does not mark");
        let fate = told.dropped;
        let die = rolled(&before, self.queue.dice());
        if !has_room {
            assert_eq!((fate, die), (Some(DropReason::Overlimit), None));
            return;
        }
        if self.on_the_edge {
            return;
        }
        let struck =
            self.twin.flows.get(&pkt.flow).is_some_and(|flow| flow.strike > self.twin.set.strikes);
        let said = self.twin.arrive(nanos, pkt.flow);
        self.on_the_edge = rounded && self.twin.is_edge(pkt.flow);
        match said {
            _ if self.on_the_edge => return,
            Said::Pass => assert_eq!((fate, die), (None, None), "step {}", self.operations),
            Said::Drop => assert_eq!(
                (fate, die),
                (Some(DropReason::Forced), None),
                "step {}",
                self.operations
            ),
            Said::Die(p) => {
                assert!(fate.is_none() || fate == Some(DropReason::Early));
                self.disputes.verdict(self.operations, die.unwrap(), p, fate.is_some());
                self.early += u64::from(fate.is_some());
            }
        }
        match fate {
            Some(DropReason::Early) => self.twin.dropped(),
            Some(_) => {
                self.forced += 1;
                self.struck += struck as u64;
            }
            None => {
                self.twin.accepted(nanos, pkt.flow, if self.bytes { pkt.len as f64 } else { 1.0 })
            }
        }
        self.compare();
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        let before = self.queue.dice().clone();
        let pkt = self.queue.dequeue(now, out);
        assert_eq!(rolled(&before, self.queue.dice()), None);
        if let Some(pkt) = pkt.filter(|_| !self.on_the_edge) {
            self.twin.depart(
                now.as_nanos() as f64,
                pkt.flow,
                if self.bytes { pkt.len as f64 } else { 1.0 },
            );
            self.compare();
        }
        pkt
    }

    as_the_queue!(advance);
}

impl super::Twinned for Twinned {
    /// A packet without length would leave the twin without its flow.
    const LEAST: u32 = 1;

    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Twinned> {
        let config = with_known(config, &[("many_flows_queue", "2 packets"), ("flows", "4096")]);
        let AnyQueue::Fred(queue) = config.build(link, dice).ok()? else { return None };
        let set = Set(&config);
        let bytes = set.is("mode", "bytes");
        let length = |size: Size| {
            if bytes {
                size.in_bytes(link.mean_packet) as f64
            } else {
                size.in_packets(link.mean_packet)
            }
        };
        let setting = Setting {
            min: length(set.size("min")),
            max: length(set.size("max")),
            max_p: set.number("probability"),
            weight: set.number("weight"),
            min_q: length(set.size("min_queue")),
            max_q: length(set.size("max_queue")),
            one: length(Size::Packets(1)),
            multiple: set.number("shares"),
            strikes: set.number("strikes"),
            above: match set.text("many_flows").as_str() {
                "off" => Above::Tail,
                "on" => Above::Two,
                _ => Above::Both,
            },
            s: link.mean_packet.bits() as f64 * 1e9 / link.rate.as_bps() as f64,
        };
        Some(Twinned {
            queue,
            twin: NaiveFred::new(setting),
            link,
            bytes,
            flows: 20,
            on_the_edge: false,
            operations: 0,
            disputes: Disputes::default(),
            early: 0,
            forced: 0,
            struck: 0,
        })
    }
}
