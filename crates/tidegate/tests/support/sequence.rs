//! Arbitrary bytes as a queue of the catalog, its link and its parameters, and then as what is done
//! to it: for the fuzzer and for property tests. Whatever a configuration accepts is tried, its
//! bounds above all.
use tidegate::catalog::{self, AnyConfig, QUEUES, Row};
use tidegate::config::Param;
use tidegate::{
    Ack, Bytes, Ecn, Hosts, Link, NullSink, Packet, Qdisc, Rate, Rng, Size, Span, Time,
};

use super::gauges;

/// What a queue may be set to keep, in bytes, if its preset keeps less.
const MOST_STATE: u64 = 1 << 18;
/// Calls at most, so that a case takes milliseconds.
const MOST_CALLS: usize = 20_000;
/// The longest packet, as long as a capture may say that one was.
const LONGEST: u32 = 1 << 24;
/// Packets that one step may offer or ask for.
const BURST: u64 = 32;

/// Bytes to be read one after the other; beyond their end all is 0.
#[derive(Clone, Copy, Debug)]
pub struct Tape<'a>(pub &'a [u8]);

impl Tape<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// Heads or tails.
    pub fn coin(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    fn below(&mut self, n: u64) -> u64 {
        self.byte() as u64 % n
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// From 0 to 1, both ends among the likelier ones.
    fn fraction(&mut self) -> f64 {
        match self.byte() {
            0 => 0.0,
            255 => 1.0,
            byte => (byte as f64 + self.byte() as f64 / 256.0) / 256.0,
        }
    }

    /// A number of any magnitude from 1 to about 2^63.
    fn magnitude(&mut self) -> u64 {
        let shift = self.below(56);
        (1 + self.byte() as u64) << shift
    }
}

/// A queue to be built, and the link it is for.
#[derive(Clone)]
pub struct Case {
    pub row: &'static Row,
    pub config: AnyConfig,
    pub link: Link,
    pub dice: Rng,
}

impl Case {
    /// A case of a queue that the tape chooses; `None` where the link cannot be.
    pub fn read(tape: &mut Tape) -> Option<Case> {
        let at = tape.below(QUEUES.len() as u64) as usize;
        Case::of(&QUEUES[at], tape)
    }

    /// The same with these parameters.
    pub fn with(&self, settings: &[(&str, &str)]) -> Case {
        let mut case = self.clone();
        settings.iter().for_each(|(name, value)| case.config.set(name, value).unwrap());
        case
    }

    /// A case of the queue `row`: a preset and, one after the other, the parameters that it takes
    /// besides.
    pub fn of(row: &'static Row, tape: &mut Tape) -> Option<Case> {
        let link = link(tape)?;
        let presets = (row.presets)();
        let mut config = catalog::config(row.name, Some(tape.pick(&presets).0), &link).unwrap();
        if !can_be(&config, &link, u64::MAX) {
            return None;
        }
        let most = MOST_STATE.max(config.state_bytes(&link));
        for param in row.params {
            if let Some(text) = value(param, tape) {
                let mut changed = config.clone();
                changed
                    .set(param.name, &text)
                    .unwrap_or_else(|error| panic!("{}: {error}", row.name));
                if can_be(&changed, &link, most) {
                    config = changed;
                }
            }
        }
        Some(Case { row, config, link, dice: Rng::from_seed(tape.byte() as u64) })
    }
}

/// Whether the queue takes `config` and keeps no more than `most` bytes of state. A refusal names
/// its field and says why.
fn can_be(config: &AnyConfig, link: &Link, most: u64) -> bool {
    if config.state_bytes(link) > most {
        return false;
    }
    match config.build(*link, Rng::from_seed(0)) {
        Ok(_) => true,
        Err(error) => {
            assert!(!error.field.is_empty() && !error.why.is_empty(), "{}: {error}", config.name());
            false
        }
    }
}

/// A link that can be.
fn link(tape: &mut Tape) -> Option<Link> {
    let rate = match tape.below(4) {
        0 => tape.magnitude().min(1_000_000_000_000_000),
        _ => tape.pick(&[10_000_000, 1_000_000, 1_000_000_000, 64_000]),
    };
    let mean_packet = match tape.below(4) {
        0 => 1 + tape.magnitude() % 65_535,
        _ => tape.pick(&[1000, 1500, 770, 64]),
    };
    let limit = match tape.below(6) {
        0 => Size::Packets(tape.magnitude()),
        1 => Size::Bytes(tape.magnitude()),
        2 | 3 => Size::Packets(1 + tape.below(64)),
        4 => Size::Packets(20 * (1 + tape.below(50))),
        _ => Size::Bytes(mean_packet * (1 + tape.below(64)) + tape.below(200)),
    };
    Link::new(Rate::from_bps(rate), limit, Bytes::new(mean_packet)).ok()
}

/// A text for `param`, within its bounds; `None` leaves it as the preset has it, which is as likely
/// as not.
fn value(param: &Param, tape: &mut Tape) -> Option<String> {
    let kind = tape.byte();
    if kind < 128 {
        return None;
    }
    if let Some(kind) = param.kind.strip_suffix(" by class") {
        let each: Vec<String> =
            (0..1 + tape.below(4)).filter_map(|_| value(&Param { kind, ..*param }, tape)).collect();
        return (!each.is_empty()).then(|| each.join(":"));
    }
    let unit = match param.kind {
        "number" | "probability" | "whole number" => "",
        "time" => " ns",
        "bytes" => " B",
        "rate" => " bit/s",
        "queue length" => [" packets", " B"][kind as usize % 2],
        words => {
            let words: Vec<&str> = words.split(" | ").collect();
            return Some(tape.pick(&words).into());
        }
    };
    let (least, most) = param.bounds;
    let number = match kind % 8 {
        0 => least,
        1 => most,
        // Near one end or the other by whole steps, or somewhere on a straight or a logarithmic
        // scale.
        2 => least + tape.below(8) as f64,
        3 => most - tape.below(8) as f64,
        4 => least + (most - least) * tape.fraction(),
        _ => {
            let low = least.max(most * 1e-18);
            low * libm::pow(most / low, tape.fraction())
        }
    };
    let number = number.clamp(least, most);
    let whole = !matches!(param.kind, "number" | "probability");
    Some(if whole { format!("{}{unit}", number as u64) } else { format!("{number}{unit}") })
}

/// What is spared a queue.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How long the queue is left alone at the most, in nanoseconds.
    pub patience: u64,
    /// The shortest packet, in bytes.
    pub least: u32,
}

impl Bounds {
    /// Nothing is spared.
    pub const NONE: Bounds = Bounds { patience: u64::MAX, least: 0 };
}

/// Does to `queue` what the tape says, to its end. Time never runs back; the queue under watch
/// asserts the rest.
pub fn play<Q: Qdisc>(queue: &mut Q, link: &Link, bounds: Bounds, tape: &mut Tape) {
    let mut driver =
        Driver { queue, now: Time::ZERO, called: Time::ZERO, bounds, slot: 0, calls: 0 };
    // What the link sends in a while, so that queues fill, empty and idle.
    let packet = link.rate.time_to_send(link.mean_packet).as_nanos().max(1);
    while !tape.0.is_empty() && driver.calls < MOST_CALLS {
        driver.step(packet, tape);
    }
}

struct Driver<'q, Q> {
    queue: &'q mut Q,
    now: Time,
    /// When the queue was last called.
    called: Time,
    bounds: Bounds,
    slot: u32,
    calls: usize,
}

impl<Q: Qdisc> Driver<'_, Q> {
    fn step(&mut self, packet: u64, tape: &mut Tape) {
        match tape.below(16) {
            0..=5 => self.offer(tape),
            6..=8 => self.ask(),
            9 => {
                let (flow, len, ecn) = (mix_of(tape), tape.pick(&[1000, 1500, 64]), ecn(tape));
                for n in 0..1 + tape.below(BURST) {
                    self.wait(packet.saturating_mul(n % 2));
                    self.enqueue(flow.wrapping_add(n / 8), len, ecn, 0);
                }
            }
            10 => (0..1 + tape.below(BURST)).for_each(|_| self.ask()),
            // A line that is kept busy: each departure when the one before has been sent.
            11 => {
                for _ in 0..1 + tape.below(BURST) {
                    self.wait(packet);
                    self.ask();
                }
            }
            12 => self.wait(packet.saturating_mul(tape.below(256))),
            13 => {
                // Any time at all, up to centuries.
                let nanos = tape.magnitude();
                self.wait(nanos);
            }
            14 => {
                self.call();
                self.queue.advance(self.now);
            }
            _ => self.wake(),
        }
        let all = gauges(self.queue);
        assert!(all.iter().all(|gauge| gauge.value.is_finite()), "{all:?}");
    }

    fn call(&mut self) {
        self.called = self.now;
        self.calls += 1;
    }

    fn wait(&mut self, nanos: u64) {
        let latest = self.called + Span::from_nanos(self.bounds.patience);
        self.now = (self.now + Span::from_nanos(nanos)).min(latest);
    }

    fn offer(&mut self, tape: &mut Tape) {
        let (flow, ecn) = (mix_of(tape), ecn(tape));
        let len = match tape.below(8) {
            0 => tape.pick(&[0, 1, 40, 9000, 65_535, LONGEST]),
            1 => 1 + 6 * tape.byte() as u32,
            _ => tape.pick(&[1000, 1500, 64, 576]),
        };
        let class = if tape.byte() < 192 { 0 } else { tape.pick(&[1, 2, 7, u16::MAX]) };
        self.enqueue(flow, len, ecn, class);
    }

    fn enqueue(&mut self, flow: u64, len: u32, ecn: Ecn, class: u16) {
        // Four hosts send to three, and code points are all over the field.
        let hosts = Hosts::new(1 + (flow % 4) as u16, (flow / 4 % 3) as u16);
        let dscp = [0, 8, 46, 34][(flow >> 32) as usize % 4];
        let pkt = Packet {
            class,
            dscp,
            ..Packet::new(flow, len.max(self.bounds.least)).with_slot(self.slot).with_ecn(ecn)
        }
        .with_hosts(hosts);
        self.slot += 1;
        self.call();
        match acknowledges(&pkt) {
            Some(ack) => self.queue.enqueue_ack(self.now, pkt, &ack, &mut NullSink),
            None => self.queue.enqueue(self.now, pkt, &mut NullSink),
        }
    }

    fn ask(&mut self) {
        self.call();
        self.queue.dequeue(self.now, &mut NullSink);
    }

    /// Sleeps until the queue said that it wants to be asked, if it did.
    fn wake(&mut self) {
        if let Some(wake) = self.queue.wake_at() {
            self.now = self.now.max(wake);
        }
        self.ask();
    }
}

/// What a packet acknowledges, if anything: numbers grow with its place in the sequence, most by
/// two, some not at all; some have blocks, ECN flags, stamps or data.
fn acknowledges(pkt: &Packet) -> Option<Ack> {
    let word = tidegate::rng::mix(u64::from(pkt.slot));
    let at = |shift: u32, below: u64| (word >> shift) % below;
    let number = 10 * (pkt.slot / 2 * 2);
    let mut ack = Ack::new(pkt.flow ^ (at(0, 8) / 7), number).with_echo(u8::from(at(8, 8) == 0));
    if at(16, 3) == 0 {
        let from = number + 10 * at(24, 3) as u32;
        ack = ack.with_blocks(&[[from, from + 10], [number + 90, number + 90 + at(32, 40) as u32]]);
    }
    ack = ack.with_stamps((at(40, 4) > 0).then_some([pkt.slot, pkt.slot / 3]));
    ack = if at(44, 12) == 0 { ack.saying_more() } else { ack };
    (at(48, 8) > 0).then_some(ack)
}

/// One of few flows or of many, most looking like hashes.
fn mix_of(tape: &mut Tape) -> u64 {
    match tape.byte() {
        byte @ 0..200 => tidegate::rng::mix((byte % 8) as u64),
        200..250 => tidegate::rng::mix(tape.byte() as u64 * 256 + tape.byte() as u64),
        byte @ 250..=252 => byte as u64 - 250,
        byte => u64::MAX - (byte as u64 - 253),
    }
}

fn ecn(tape: &mut Tape) -> Ecn {
    Ecn::from_bits(tape.byte())
}
