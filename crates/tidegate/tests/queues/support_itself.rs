//! The tests' own tools, tested: a checker that lets a liar pass proves nothing.
use std::collections::VecDeque;

use crate::support::checked::Checked;
use crate::support::{link, stats, workload::Workload};
use tidegate::{Backlog, DropReason, Ecn, MarkReason, NullSink, Packet, Qdisc, Rng, Sink, Time};

/// What a faulty queue does wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    Swallows,
    TellsTwice,
    Overfills,
    LastInFirstOut,
    MarksNotEct,
    MarksSilently,
    ChangesLength,
    Withholds,
    MiscountsBytes,
}

struct Faulty(Fault, VecDeque<Packet>, Backlog);

impl Qdisc for Faulty {
    fn enqueue<S: Sink + ?Sized>(&mut self, now: Time, mut pkt: Packet, out: &mut S) {
        pkt.arrived = now;
        let full = self.1.len() >= if self.0 == Fault::Overfills { 4 } else { 3 };
        if full {
            match self.0 {
                Fault::Swallows => {}
                Fault::TellsTwice => {
                    (0..2).for_each(|_| out.dropped(now, &pkt, DropReason::Overlimit))
                }
                _ => out.dropped(now, &pkt, DropReason::Overlimit),
            }
            return;
        }
        match self.0 {
            Fault::MarksNotEct => {
                pkt.ecn = Ecn::Ce;
                out.marked(now, &pkt, MarkReason::Early);
            }
            Fault::MarksSilently => pkt.ecn = Ecn::Ce,
            _ => {}
        }
        self.2.add(pkt.len);
        if self.0 == Fault::MiscountsBytes {
            self.2.bytes -= 1;
        }
        self.1.push_back(pkt);
    }

    fn dequeue<S: Sink + ?Sized>(&mut self, _: Time, _: &mut S) -> Option<Packet> {
        let mut pkt = match self.0 {
            Fault::LastInFirstOut => self.1.pop_back()?,
            Fault::Withholds => return None,
            _ => self.1.pop_front()?,
        };
        self.2.remove(pkt.len);
        if self.0 == Fault::ChangesLength {
            pkt.len -= 1;
        }
        Some(pkt)
    }

    fn backlog(&self) -> Backlog {
        self.2
    }
}

fn put_to_the_test(fault: Fault) {
    let link = link("1 Mbit/s", "3 packets", "1000 B");
    let mut queue = Checked::new(Faulty(fault, VecDeque::new(), Backlog::default()), link);
    Workload::mixed(100).run(&mut queue, &link, &mut Rng::from_seed(1), &mut NullSink);
    assert!(queue.tally().all_dropped() > 0 && queue.tally().dequeued > 0);
}

#[test]
fn the_checker_lets_an_honest_queue_pass() {
    put_to_the_test(Fault::None);
}

macro_rules! caught {
    ($($name:ident: $fault:ident, $why:literal;)+) => {$(
        #[test]
        #[should_panic(expected = $why)]
        fn $name() {
            put_to_the_test(Fault::$fault);
        }
    )+};
}

caught! {
    swallowing_is_caught: Swallows, "backlog() is what is held";
    telling_twice_is_caught: TellsTwice, "is told twice";
    overfilling_is_caught: Overfills, "above 3 packets";
    reordering_is_caught: LastInFirstOut, "out of order";
    marking_not_ect_is_caught: MarksNotEct, "cannot be marked";
    silent_marks_are_caught: MarksSilently, "the packet is not what it was";
    changed_packets_are_caught: ChangesLength, "the packet is not what it was";
    withholding_is_caught: Withholds, "nobody says until when";
    wrong_backlogs_are_caught: MiscountsBytes, "backlog() is what is held";
}

/// Published quantiles: chi-square 18.307 at 5 % with 10 degrees of freedom, 124.342 at 5 % with
/// 100.
#[test]
fn chi_square_has_the_printed_quantiles() {
    for (cells, x) in [(11, 18.307), (101, 124.342)] {
        // All of the deviation in two cells of opposite sign: x = 2 d^2 / 1e4.
        let d = (x * 1e4 / 2.0_f64).sqrt().round();
        let mut counts = vec![10_000; cells];
        counts[0] += d as u64;
        counts[1] -= d as u64;
        let exact = 2.0 * d * d / 1e4;
        assert!((exact / x - 1.0).abs() < 0.01);
        let p = stats::chi_square(&counts, &vec![1e4; cells]);
        assert!((0.047..0.053).contains(&p), "{p}");
    }
}

#[test]
#[should_panic(expected = "a loaded die")]
fn a_loaded_die_is_caught() {
    let mut dice = stats::dice("a loaded die", 0);
    let mut counts = [0; 6];
    for _ in 0..60_000 {
        counts[if dice.chance(0.03) { 0 } else { dice.below(6) as usize }] += 1;
    }
    stats::assert_counts("a loaded die", &counts, &[1e4; 6]);
}

#[test]
fn a_fair_die_passes_whatever_the_seed() {
    for run in 0..100 {
        let mut dice = stats::dice("a fair die", run);
        let mut counts = [0; 6];
        let mut sum = 0.0;
        for _ in 0..6_000 {
            let face = dice.below(6) as usize;
            counts[face] += 1;
            sum += face as f64;
        }
        stats::assert_counts("a fair die", &counts, &[1e3; 6]);
        stats::assert_mean("a fair die", sum, 6_000, 2.5, 35.0 / 12.0);
    }
}
