//! What the tests of every queue share: a checker to wrap around any queue, workloads, statistics
//! with a stated false-alarm rate, the twin's contract, and files that are blessed.
#![allow(dead_code, reason = "each test takes the part it needs")]

pub mod bless;
pub mod checked;
pub mod scales;
pub mod sequence;
pub mod stats;
pub mod twin;
pub mod workload;

use tidegate::catalog::{self, AnyConfig, Row};
use tidegate::{DropReason, Gauge, Link, MarkReason, Packet, Qdisc, Seed, Sink, Time};

/// The seed from which every random test derives its own. `TIDEGATE_SEED=n` changes it, so that
/// luck is not frozen.
pub fn base_seed() -> Seed {
    match std::env::var("TIDEGATE_SEED") {
        Ok(text) => Seed::new(text.parse().expect("TIDEGATE_SEED is a whole number")),
        Err(_) => Seed::new(1),
    }
}

/// A link from text.
pub fn link(rate: &str, limit: &str, mean_packet: &str) -> Link {
    Link::new(rate.parse().unwrap(), limit.parse().unwrap(), mean_packet.parse().unwrap()).unwrap()
}

/// The link that golden rows and manual pages speak of.
pub fn reference_link() -> Link {
    link("10 Mbit/s", "100 packets", "1000 B")
}

/// Links of several kinds: both units of the limit, tiny and large, slow and fast.
pub fn links() -> Vec<Link> {
    vec![
        reference_link(),
        link("45 Mbit/s", "200 kB", "1000 B"),
        link("1 Mbit/s", "1 packet", "1500 B"),
        link("64 kbit/s", "3 kB", "500 B"),
        link("10 Gbit/s", "1000 packets", "1000 B"),
    ]
}

/// Every queue of the catalog with every preset, as set for `link`.
pub fn every_preset(link: &Link) -> Vec<(&'static Row, &'static str, AnyConfig)> {
    let mut all = Vec::new();
    for row in catalog::QUEUES {
        for (preset, _) in (row.presets)() {
            all.push((row, preset, catalog::config(row.name, Some(preset), link).unwrap()));
        }
    }
    all
}

/// The parameters of the queue `name`, as `preset` has them (without one, the first), except
/// `settings`.
pub fn config(
    name: &str,
    preset: Option<&str>,
    settings: &[(&str, &str)],
    link: &Link,
) -> AnyConfig {
    let first = || (catalog::find(name).unwrap().presets)()[0].0;
    let mut config = catalog::config(name, Some(preset.unwrap_or_else(first)), link).unwrap();
    for (param, value) in settings {
        config.set(param, value).unwrap();
    }
    config
}

/// All gauges of a queue, in its own order.
pub fn gauges(queue: &impl Qdisc) -> Vec<Gauge> {
    let mut all = Vec::new();
    queue.probe(&mut |gauge| all.push(gauge));
    all
}

/// What became of the packet offered: told once at most.
#[derive(Debug, Default, PartialEq)]
pub struct Fate {
    pub dropped: Option<DropReason>,
    pub marked: Option<MarkReason>,
}

impl Sink for Fate {
    fn dropped(&mut self, _: Time, _: &Packet, why: DropReason) {
        assert_eq!(self.dropped.replace(why), None);
    }
    fn marked(&mut self, _: Time, _: &Packet, why: MarkReason) {
        assert_eq!(self.marked.replace(why), None);
    }
}

impl Fate {
    /// Whether it was dropped or marked.
    pub fn is_signal(&self) -> bool {
        *self != Fate::default()
    }
}

/// Every packet that was lost, with the reason, and every one that was marked, in order.
#[derive(Debug, Default)]
pub struct Heard {
    pub lost: Vec<(Packet, DropReason)>,
    pub marked: Vec<Packet>,
}

impl Sink for Heard {
    fn dropped(&mut self, _: Time, pkt: &Packet, why: DropReason) {
        self.lost.push((*pkt, why));
    }
    fn marked(&mut self, _: Time, pkt: &Packet, _: MarkReason) {
        self.marked.push(*pkt);
    }
}

/// `count` flows, each the first that `place` puts where none of those before it is.
pub fn apart<P: PartialEq>(count: usize, place: impl Fn(u64) -> P) -> Vec<u64> {
    let (mut flows, mut taken) = (Vec::new(), Vec::new());
    for flow in 0.. {
        if flows.len() == count {
            break;
        }
        let here = place(flow);
        if !taken.contains(&here) {
            taken.push(here);
            flows.push(flow);
        }
    }
    flows
}

/// Two sinks that hear the same.
pub struct Both<'a, A: ?Sized, B: ?Sized>(pub &'a mut A, pub &'a mut B);

impl<A: Sink + ?Sized, B: Sink + ?Sized> Sink for Both<'_, A, B> {
    fn dropped(&mut self, now: Time, pkt: &Packet, why: DropReason) {
        self.0.dropped(now, pkt, why);
        self.1.dropped(now, pkt, why);
    }
    fn marked(&mut self, now: Time, pkt: &Packet, why: MarkReason) {
        self.0.marked(now, pkt, why);
        self.1.marked(now, pkt, why);
    }
}
