//! After warm-up a gate allocates nothing for any frame, nor to tell how it stands. It waits for no
//! page of memory, since that takes longer than a departure may be late. In a binary of its own,
//! because the allocator counts for all.
#[path = "../../tidegate/tests/support/counting.rs"]
mod counting;
#[path = "support/frames.rs"]
mod frames;

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use counting::{Calls, calls};
use frames::frame;
use nix::sys::resource::{UsageWho, getrusage};
use tidegate::catalog::{self, QUEUES};
use tidegate::{Ecn, Link, Rng, Size, Span, Time};
use tidegate_gateway::device::guard::Unguarded;
use tidegate_gateway::device::port::{Port, ReceivedFrame, Unsent};
use tidegate_gateway::path::gate::Gate;
use tidegate_gateway::run::plan::{GatePlan, Settings};
use tidegate_gateway::run::way::{Secret, Way};
use tidegate_gateway::watch::counters::Tally;
use tidegate_gateway::watch::sample::{Sampler, Samples, samples};

/// A device at which frames arrive that were made before, and that takes all.
struct Line {
    frames: Vec<Vec<u8>>,
    next: usize,
    waiting: Rc<Cell<usize>>,
}

impl Port for Line {
    fn waiting(&mut self, most: usize) -> usize {
        self.waiting.get().min(most)
    }

    fn receive(
        &mut self,
        most: usize,
        take: &mut impl FnMut(ReceivedFrame<'_>),
    ) -> io::Result<usize> {
        let count = self.waiting(most);
        for _ in 0..count {
            let bytes = &self.frames[self.next][..];
            take(ReceivedFrame {
                bytes,
                wire_len: bytes.len() as u32,
                stamp: Time::ZERO,
                checksum_missing: false,
            });
            self.next = (self.next + 1) % self.frames.len();
        }
        self.waiting.set(self.waiting.get() - count);
        Ok(count)
    }

    fn send(&mut self, _: &[u8]) -> Result<(), Unsent> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn missed(&mut self) -> u64 {
        0
    }

    fn unsent(&self) -> Tally {
        Tally::default()
    }
}

/// Frames of some thousand flows, which do not fit into any table; so many arrive as `waiting`
/// says.
fn line(dice: &mut Rng, waiting: &Rc<Cell<usize>>) -> Line {
    let one = |number: u32| {
        let (flow, len) = ((number % 40) as u8, 60 + dice.below(1400) as usize);
        let mut frame = frame(dice, flow, number, Ecn::Ect0, len);
        // What has no ports is told apart by its receiver, what has some by the sender's.
        (frame[5], frame[34]) = ((number / 40) as u8, (number / 40) as u8);
        frame
    };
    Line { frames: (0..5000).map(one).collect(), next: 0, waiting: Rc::clone(waiting) }
}

/// How often this thread has waited for the system to find memory for a page.
fn page_faults() -> i64 {
    getrusage(UsageWho::RUSAGE_THREAD).unwrap().minor_page_faults()
}

/// A gate of 20 Mbit/s with `queue` for both ways, a delay line, and a prefix that may pass.
fn plan(queue: &str, limit: u64) -> GatePlan {
    let (rate, mean) = ("20 Mbit/s".parse().unwrap(), "1000 B".parse().unwrap());
    let link = Link::new(rate, Size::Packets(limit), mean).unwrap();
    let way = || Way::new(link, catalog::config(queue, None, &link).unwrap(), queue);
    let allowed = vec!["10.0.0.4/32".parse().unwrap()];
    let there = Way { allowed, rehash: "100 ms".parse().unwrap(), ..way() };
    let (back, delay) = (Some(way()), Span::from_millis(1));
    let settings = Settings { inner: "if1".into(), outer: "if2".into(), there, back, delay };
    GatePlan::new(settings, 1500).unwrap()
}

/// A gate, what arrives at it, and who reads how it stands.
struct Rig {
    gate: Gate<Line, Line, ()>,
    waiting: [Rc<Cell<usize>>; 2],
    sampler: Sampler,
    taken: Samples,
    now: Time,
    /// How many intervals were closed.
    closed: u32,
}

impl Rig {
    fn new(plan: &GatePlan, dice: &mut Rng) -> Rig {
        let (there, back) = plan.lanes(Secret { hash: [1, 2], seed: 3 }, ()).unwrap();
        let waiting = [0, 0].map(|none| Rc::new(Cell::new(none)));
        let [inner, outer] = waiting.each_ref().map(|waiting| line(dice, waiting));
        let gate = Gate::new(there, back, inner, outer);
        let (sampler, taken) = samples(0, Some(0));
        Rig { gate, waiting, sampler, taken, now: Time::ZERO, closed: 0 }
    }

    /// A flood, then a pause, for so many milliseconds.
    fn run(&mut self, millis: u64) {
        for number in 0..millis {
            for (waiting, count) in self.waiting.iter().zip([6, 4]) {
                waiting.set(if number % 100 < 80 { count } else { 0 });
            }
            self.now += Span::from_millis(1);
            for _ in 0..3 {
                self.gate.turn(self.now, &mut Unguarded);
            }
            if number % 50 == 0 {
                self.sample();
            }
        }
    }

    fn sample(&mut self) {
        self.sampler.take(|sample| self.gate.sample(self.now, sample));
        while let Some(sample) = self.taken.next() {
            self.closed += u32::from(sample.there.closed);
            self.taken.give_back(sample);
        }
    }
}

#[test]
fn no_frame_and_no_sample_allocates_after_warm_up() {
    let mut dice = Rng::from_seed(1);
    // At first, on memory that nobody had before, with so much room that frames do not come round
    // to the same place while it warms up.
    let each = QUEUES.iter().map(|row| (row.name, 100));
    for (name, limit) in [("drop_tail", 3000)].into_iter().chain(each) {
        let mut rig = Rig::new(&plan(name, limit), &mut dice);
        rig.run(3000);
        let before = page_faults();
        assert_eq!(calls(|| rig.run(3000)), Calls::NONE, "{name}");
        // Some are for code that runs for the first time.
        assert!(page_faults() < before + 10, "{name}: {}", page_faults() - before);
        assert!(rig.closed > 8, "intervals ended: {}", rig.closed);
        let managed = rig.gate.account().managed;
        assert!(
            managed.sent.frames > 1000 && managed.lost_in_all().frames > 0,
            "{name}: {managed:?}"
        );
    }
}
