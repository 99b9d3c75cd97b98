//! After warm-up no call of any queue allocates. In a binary of its own, because the allocator
//! counts for all.
#[path = "support/counting.rs"]
mod counting;
mod support;

use counting::{Calls, calls};
use support::workload::Workload;
use support::{every_preset, links};
use tidegate::bottleneck::Trace;
use tidegate::{Bottleneck, NullSink, Packet, Prob, Qdisc, Rng, Span, Time};

/// Warm-up is one pass of the workload and a queue filled to its limit by the smallest packets.
#[test]
fn no_allocation_after_warm_up() {
    for link in links() {
        for (row, preset, config) in every_preset(&link) {
            let mut queue = config.build(link, Rng::from_seed(1)).unwrap();
            let workload = Workload::mixed(1_000);
            let warm = workload.run(&mut queue, &link, &mut Rng::from_seed(2), &mut NullSink);
            for flow in 0..60_000 {
                queue.enqueue(
                    warm,
                    Packet::new(flow % 50, 40).with_slot(flow as u32),
                    &mut NullSink,
                );
            }
            while queue.dequeue(warm, &mut NullSink).is_some() {}

            let mut late = Later(&mut queue, warm);
            // The same sizes and flows, other dice; time goes on.
            let calls = calls(|| {
                workload.run(&mut late, &link, &mut Rng::from_seed(3), &mut NullSink);
                late.0.probe(&mut |_| {});
            });
            assert_eq!(calls, Calls::NONE, "{}/{preset} on {link:?}", row.name);
        }
    }
}

/// The queue, its clock shifted, so that a second workload may begin where the first ended.
struct Later<'a, Q>(&'a mut Q, Time);

impl<Q: Qdisc> Later<'_, Q> {
    fn at(&self, now: Time) -> Time {
        self.1 + now.since(Time::ZERO)
    }
}

impl<Q: Qdisc> Qdisc for Later<'_, Q> {
    fn enqueue<S: tidegate::Sink + ?Sized>(&mut self, now: Time, pkt: Packet, out: &mut S) {
        self.0.enqueue(self.at(now), pkt, out);
    }
    fn dequeue<S: tidegate::Sink + ?Sized>(&mut self, now: Time, out: &mut S) -> Option<Packet> {
        self.0.dequeue(self.at(now), out)
    }
    fn advance(&mut self, now: Time) {
        self.0.advance(self.at(now));
    }
    fn wake_at(&self) -> Option<Time> {
        self.0.wake_at().map(|at| Time::ZERO + at.since(self.1))
    }
    fn backlog(&self) -> tidegate::Backlog {
        self.0.backlog()
    }
}

/// A bottleneck's lines and payloads, too. Warm-up is the first of two equal bursts.
#[test]
fn a_bottleneck_does_not_allocate_either() {
    for link in links() {
        for (row, _, config) in every_preset(&link).into_iter().filter(|(_, p, _)| *p == "auto") {
            let build = || config.build(link, Rng::from_seed(1)).unwrap();
            let delay = Span::from_millis(20);
            let trace: Trace = "1\n1\n3\n".parse().unwrap();
            let rated = Bottleneck::new(link.rate, delay, build()).unwrap();
            let traced = Bottleneck::new(trace, delay, build()).unwrap();
            for bottleneck in [rated, traced] {
                let mut bottleneck = bottleneck.with_loss(Prob::clip(0.1), Rng::from_seed(2));
                let mut begin = Time::ZERO;
                let mut burst = || {
                    for n in 0..4_000 {
                        let at = begin + Span::from_micros(n * 10);
                        bottleneck.offer(at, Packet::new(n % 30, 1_000), [n; 3]);
                    }
                    let mut fates = 0;
                    while let Some(wake) = bottleneck.next_wake() {
                        begin = wake;
                        while bottleneck.poll_fate(wake).is_some() {
                            fates += 1;
                        }
                    }
                    assert_eq!(fates, 4_000);
                };
                burst();
                assert_eq!(calls(burst), Calls::NONE, "{} on {link:?}", row.name);
            }
        }
    }
}
