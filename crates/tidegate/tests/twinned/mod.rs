//! Queues with their naive twins beside them: Each is a `Qdisc` that passes every call on to the
//! queue and tells the twin of it. It asserts the twin's contract (`support/twin.rs`) for all
//! parameters that the twin knows.
#![allow(dead_code, reason = "each test takes the queues it needs")]

/// What a twinned queue answers as the queue does by itself.
macro_rules! as_the_queue {
    // For a twin that sends what the queue sends, and no more happens then.
    (dequeue) => {
        fn dequeue<S: tidegate::Sink + ?Sized>(
            &mut self,
            now: tidegate::Time,
            out: &mut S,
        ) -> Option<tidegate::Packet> {
            let sent = self.queue.dequeue(now, out);
            let twins = self.twin.dequeue();
            assert_eq!(sent.map(|pkt| pkt.slot), twins, "operation {}", self.operations);
            self.compare();
            sent
        }

        as_the_queue!(advance);
    };
    (advance) => {
        fn advance(&mut self, now: tidegate::Time) {
            self.queue.advance(now);
        }

        as_the_queue!();
    };
    () => {
        fn backlog(&self) -> tidegate::Backlog {
            self.queue.backlog()
        }

        fn probe(&self, see: &mut dyn FnMut(tidegate::Gauge)) {
            self.queue.probe(see);
        }
    };
}

pub mod afd;
pub mod afq;
pub mod bare;
pub mod bc_pqp;
pub mod black;
pub mod blue;
pub mod cake;
pub mod care;
pub mod cebinae;
pub mod choke;
pub mod cobalt;
pub mod codel;
pub mod csfq;
pub mod drr;
pub mod dualpi2;
pub mod fq_codel;
pub mod fq_pie;
pub mod fred;
pub mod hcsfq;
pub mod hhf;
pub mod pie;
pub mod purge;
pub mod red;
pub mod red_pd;
pub mod rem;
pub mod sfb;
pub mod sfq;
pub mod sfq_red;
pub mod sfred;
pub mod sred;
pub mod tide;
pub mod wfq;

use crate::naive::hits::{NaiveHits, Room};
use crate::support::checked::Checked;
use crate::support::sequence::{Bounds, Case, Tape, play};
use crate::support::workload::Workload;
use tidegate::catalog::AnyConfig;
use tidegate::config::{ByClass, Value};
use tidegate::{Bytes, Link, NullSink, Qdisc, Rng, Size, Span};

/// A queue with its twin.
pub trait Twinned: Qdisc + Sized {
    /// The queue of `config`, empty, what its twin does not know set to what it knows; `None` where
    /// that cannot be.
    fn beside(config: &AnyConfig, link: Link, dice: Rng) -> Option<Self>;

    /// The shortest packet that the twin knows, in bytes.
    const LEAST: u32 = 0;

    /// How long nothing may happen in one go, in nanoseconds. Twins count in floats and make every
    /// periodic step.
    fn patience(&self) -> u64 {
        1 << 40
    }
}

/// Drives a queue of `config` with its twin beside it through load above and below the rate of
/// `link` and idle times, with thirty flows. The twin must do the same at every step.
pub fn restless<T: Twinned>(config: &AnyConfig, link: &Link, operations: u64) -> T {
    let mut twinned = T::beside(config, *link, Rng::from_seed(7)).unwrap();
    let dice = &mut Rng::from_seed(11);
    Workload::restless(operations).run(&mut twinned, link, dice, &mut NullSink);
    twinned
}

/// Plays the tape on the queue of `case` under watch, beside its twin if the tape says so and the
/// twin knows the case. Every queue of the catalog has a line here.
///
/// # Panics
/// When a queue has none: its twin would be missing without anybody noticing.
pub fn run(case: &Case, tape: &mut Tape) {
    let beside = tape.coin();
    let played = beside
        && match case.config.name() {
            "afd" => with::<afd::Twinned>(case, tape),
            "ared" => with::<red::Twinned<_, crate::naive::ared::NaiveAred>>(case, tape),
            "afq" => with::<afq::Twinned>(case, tape),
            "bare" => with::<bare::Twinned>(case, tape),
            "bc_pqp" => with::<bc_pqp::Twinned>(case, tape),
            "black" => with::<black::Twinned>(case, tape),
            "blue" => with::<blue::Twinned>(case, tape),
            "cake" => with::<cake::Twinned>(&few_rounds(case), tape),
            "care" => with::<care::Twinned>(case, tape),
            "cebinae" => with::<cebinae::Twinned>(case, tape),
            "choke" => with::<choke::Twinned>(case, tape),
            "cobalt" => with::<cobalt::Twinned>(case, tape),
            "codel" => with::<codel::Twinned>(case, tape),
            "csfq" => with::<csfq::Twinned>(case, tape),
            // `Checked` is its twin: everything that finds room is sent, in order.
            "drop_tail" => false,
            "drr" => with::<drr::Twinned>(&few_rounds(case).with(&[("weights", "1:2:4")]), tape),
            // Its twin follows the queue's own estimates step by step: tests/queues/ewfq.rs.
            "ewfq" => false,
            "feng_red" => with::<red::Twinned<_, crate::naive::feng_red::NaiveFengRed>>(case, tape),
            "dualpi2" => with::<dualpi2::Twinned>(case, tape),
            "fq_codel" => with::<fq_codel::Twinned>(case, tape),
            "fq_pie" => with::<fq_pie::Twinned>(case, tape),
            "fred" => with::<fred::Twinned>(case, tape),
            "hcsfq" => with::<hcsfq::Twinned>(case, tape),
            "hhf" => with::<hhf::Twinned>(case, tape),
            "pie" => with::<pie::Twinned>(case, tape),
            "purge" => with::<purge::Twinned>(case, tape),
            "red" => with::<red::Twinned<_, crate::naive::red::NaiveRed>>(case, tape),
            "red_pd" => with::<red_pd::Twinned>(case, tape),
            "rem" => with::<rem::Twinned>(case, tape),
            "sfb" => with::<sfb::Twinned>(case, tape),
            "sfq" => with::<sfq::Twinned>(case, tape),
            "sred" => with::<sred::Twinned>(case, tape),
            "sfq_red" => with::<sfq_red::Twinned>(case, tape),
            "sfred" => with::<sfred::Twinned>(case, tape),
            "tide" => with::<tide::Twinned>(case, tape),
            // Tags that differ by rounding are equal: weights are such that true differences are
            // far larger.
            "wfq" => with::<wfq::Twinned>(&case.with(&[("weights", "1:2:4")]), tape),
            name => panic!("tests/twinned/mod.rs has no line for the twin of `{name}`"),
        };
    if !played {
        let queue = case.config.build(case.link, case.dice.clone()).expect("it was built before");
        play(&mut Checked::of(&case.config, queue, case.link), &case.link, Bounds::NONE, tape);
    }
}

/// `case` with a quantum that takes few rounds: the twin makes every round, the queue counts them.
fn few_rounds(case: &Case) -> Case {
    let quantum = format!("{} B", Set(&case.config).bytes("quantum").max(1000));
    case.with(&[("quantum", &quantum)])
}

/// Whether there is a twin for `case`; then the tape was played.
fn with<Q: Twinned>(case: &Case, tape: &mut Tape) -> bool {
    let Some(queue) = Q::beside(&case.config, case.link, case.dice.clone()) else { return false };
    let bounds = Bounds { patience: queue.patience(), least: Q::LEAST };
    play(&mut Checked::of(&case.config, queue, case.link), &case.link, bounds, tape);
    true
}

/// `config` with these parameters.
fn with_known(config: &AnyConfig, known: &[(&str, &str)]) -> AnyConfig {
    let mut config = config.clone();
    for (name, value) in known {
        config.set(name, value).unwrap_or_else(|error| panic!("{error}"));
    }
    config
}

/// What a configuration says, by parameter.
struct Set<'c>(&'c AnyConfig);

impl Set<'_> {
    fn text(&self, name: &str) -> String {
        self.0.get(name).unwrap_or_else(|| panic!("no parameter {name}"))
    }
    fn number(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap()
    }
    fn nanos(&self, name: &str) -> u64 {
        self.text(name).parse::<Span>().unwrap().as_nanos()
    }
    fn secs(&self, name: &str) -> f64 {
        self.nanos(name) as f64 / 1e9
    }
    fn bytes(&self, name: &str) -> u64 {
        self.text(name).parse::<Bytes>().unwrap().get()
    }
    /// Quanta of so many classes, by `quantum` and `weights`.
    fn quanta(&self, classes: usize) -> Vec<u64> {
        let weights: ByClass<f64> = Value::read(&self.text("weights")).unwrap();
        let quantum = self.bytes("quantum") as f64;
        (0..classes).map(|class| ((quantum * weights.of(class)).round() as u64).max(1)).collect()
    }
    fn size(&self, name: &str) -> Size {
        self.text(name).parse().unwrap()
    }
    /// The cache of hits as `cache` and `replace` have it.
    fn hits(&self) -> NaiveHits {
        let room = match self.text("replace").as_str() {
            "oldest" => Room::Oldest,
            "least" => Room::Least,
            "space_saving" => Room::SpaceSaving,
            other => panic!("{other}"),
        };
        NaiveHits { room, ..NaiveHits::new(self.number("cache") as usize) }
    }
    fn is(&self, name: &str, word: &str) -> bool {
        self.text(name) == word
    }
}
