//! The gateway on interfaces of the kernel: three namespaces, clients, gate and servers, and frames
//! sent by hand.
#![cfg(target_os = "linux")]
#[path = "support/frames.rs"]
mod frames;
#[path = "support/rings.rs"]
mod rings;

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use frames::{frame, label, runt};
use tidegate::{Ecn, Link, Rng, Span, Time, catalog};
use tidegate_gateway::device::guard::Unguarded;
use tidegate_gateway::device::port::Port;
use tidegate_gateway::device::ring::PacketRing;
use tidegate_gateway::machine::clock;
use tidegate_gateway::machine::namespaces::{Namespace, alone, cable, possible, skip};
use tidegate_gateway::path::gate::Gate;
use tidegate_gateway::path::overhead::Overhead;
use tidegate_gateway::run::plan::{GatePlan, Settings};
use tidegate_gateway::run::pump::{Commands, PumpRequest, Waits, pump};
use tidegate_gateway::run::way::{Secret, Way};
use tidegate_gateway::watch::counters::Account;

use rings::send;

/// Three namespaces in a row.
struct Rig {
    clients: Namespace,
    gate: Namespace,
    servers: Namespace,
    mtu: u32,
    _alone: File,
}

impl Rig {
    /// None, and a line that says why, where namespaces cannot be made.
    fn new(mtu: u32) -> Option<Rig> {
        if let Err(why) = possible() {
            skip(&why);
            return None;
        }
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Relaxed));
        let namespace =
            |part| Namespace::new(&format!("tg-live-{part}-{process}-{count}")).unwrap();
        let _alone = alone().unwrap();
        let rig = Rig {
            clients: namespace("c"),
            gate: namespace("g"),
            servers: namespace("s"),
            mtu,
            _alone,
        };
        cable((&rig.clients, "west"), (&rig.gate, "if1"), mtu).unwrap();
        cable((&rig.gate, "if2"), (&rig.servers, "east"), mtu).unwrap();
        Some(rig)
    }

    fn ring(&self, namespace: &Namespace, name: &str) -> PacketRing {
        let slots = if self.mtu > 1500 { 2048 } else { 8192 };
        namespace.inside(|| PacketRing::with_slots(name, slots)).unwrap().unwrap()
    }

    /// Runs a gate while `work` does its work with a port on the clients' side and one on the
    /// servers'; what became of the frames, and what `work` found.
    fn gate<T>(
        &self,
        wanted: &Wanted,
        work: impl FnOnce(&mut PacketRing, &mut PacketRing) -> T,
    ) -> (Account, T) {
        let (inner, outer) = (self.ring(&self.gate, "if1"), self.ring(&self.gate, "if2"));
        let (mut west, mut east) =
            (self.ring(&self.clients, "west"), self.ring(&self.servers, "east"));
        let plan = wanted.plan(self.mtu);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let gate = scope.spawn(|| {
                let (lane, wire) = plan.lanes(Secret { hash: [1, 2], seed: 3 }, ()).unwrap();
                let mut gate = Gate::new(lane, wire, inner, outer);
                let request =
                    || if stop.load(Relaxed) { PumpRequest::End } else { PumpRequest::GoOn };
                let mut tell = |event| panic!("{event:?}");
                let commands =
                    Commands { waits: wanted.waits, ..Commands::new(&request, &mut tell) };
                pump(&mut gate, &mut Unguarded, commands).unwrap();
                gate.account()
            });
            // However this ends, the gate ends with it.
            let _stop = Stop(&stop);
            let found = work(&mut west, &mut east);
            drop(_stop);
            (gate.join().unwrap(), found)
        })
    }
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

struct Wanted {
    queue: &'static str,
    rate: &'static str,
    limit: &'static str,
    overhead: Overhead,
    delay: Span,
    waits: Waits,
}

impl Wanted {
    fn plan(&self, mtu: u32) -> GatePlan {
        let link = Link::new(
            self.rate.parse().unwrap(),
            self.limit.parse().unwrap(),
            "1000 B".parse().unwrap(),
        )
        .unwrap();
        let settings = Settings {
            inner: "if1".into(),
            outer: "if2".into(),
            there: Way {
                overhead: self.overhead,
                ..Way::new(link, catalog::config(self.queue, None, &link).unwrap(), self.queue)
            },
            back: None,
            delay: self.delay,
        };
        GatePlan::new(settings, mtu).unwrap()
    }
}

/// Receives until `count` frames have come or ten seconds have passed.
fn receive(ring: &mut PacketRing, count: usize) -> Vec<Vec<u8>> {
    let (mut frames, end) = (Vec::new(), clock::now() + Span::from_millis(10_000));
    while frames.len() < count && clock::now() < end {
        if ring.receive(64, &mut |frame| frames.push(frame.bytes.to_vec())).unwrap() == 0 {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    frames
}

/// Frames of every kind and length that interfaces of this `mtu` carry.
fn varied(dice: &mut Rng, first: u32, count: u32, mtu: u32) -> Vec<Vec<u8>> {
    (first..first + count)
        .map(|number| {
            let len = match dice.below(100) {
                0 => return runt(dice),
                1 => mtu as usize + 14,
                2..50 => 60,
                50..60 => 60 + dice.below(mtu as u64 - 46) as usize,
                _ => 60 + dice.below(1440) as usize,
            };
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][dice.below(4) as usize];
            let flow = dice.below(40) as u8;
            frame(dice, flow, number, ecn, len)
        })
        .collect()
}

#[test]
fn a_hundred_thousand_varied_frames_come_through_as_they_were_both_ways() {
    const WINDOW: u32 = 400;
    let Some(rig) = Rig::new(9000) else { return };
    let wanted = Wanted {
        queue: "drop_tail",
        rate: "5 Gbit/s",
        limit: "5000 packets",
        overhead: Overhead::default(),
        delay: Span::from_millis(1),
        waits: Waits::Asleep,
    };
    let (account, ()) = rig.gate(&wanted, |west, east| {
        let mut dice = Rng::from_seed(1);
        for first in (0..100_000).step_by(WINDOW as usize) {
            let frames = varied(&mut dice, first, WINDOW, 9000);
            send(west, &frames);
            let arrived = receive(east, frames.len());
            assert!(
                arrived == frames,
                "after {first}: {} of {WINDOW} there, or changed",
                arrived.len()
            );
            if first % 2000 == 0 {
                send(east, &frames);
                assert!(receive(west, frames.len()) == frames, "back, after {first}");
            }
        }
    });
    assert!(account.managed.balanced() && account.reverse.balanced());
    assert_eq!(
        (account.managed.sent.frames, account.reverse.sent.frames),
        (100_000, 50 * WINDOW as u64)
    );
    assert_eq!((account.managed.unfinished, account.managed.missed), (0, 0));
}

#[test]
fn under_a_flood_flows_stay_in_order_and_every_frame_is_accounted_for() {
    let Some(rig) = Rig::new(1500) else { return };
    for (queue, waits) in
        [("drop_tail", Waits::Asleep), ("sfb", Waits::Awake), ("fq_codel", Waits::Asleep)]
    {
        let wanted = Wanted {
            queue,
            rate: "5 Mbit/s",
            limit: "200 packets",
            overhead: Overhead::default(),
            delay: Span::from_millis(2),
            waits,
        };
        let mut offered = 0;
        let (account, arrived) = rig.gate(&wanted, |west, east| {
            let (mut dice, mut last) = (Rng::from_seed(2), [None; 256]);
            let mut arrived = 0;
            // Until flows have new keys before the third, also those of which something always
            // waits.
            let end = clock::now() + Span::from_millis(2500);
            while clock::now() < end {
                let frames = varied(&mut dice, offered as u32, 20, 1400);
                offered += frames.len() as u64;
                send(west, &frames);
                // Some 100 Mbit/s; 16 have been seen of a machine with other work.
                std::thread::sleep(Duration::from_millis(1));
                arrived += in_order(east, &mut last);
            }
            std::thread::sleep(Duration::from_millis(200));
            (arrived + in_order(east, &mut last), west.unsent().frames, east.missed())
        });
        let (arrived, unsent, missed) = arrived;
        let managed = account.managed;
        assert!(managed.balanced(), "{queue}: {managed:?}");
        assert_eq!(managed.received.frames + managed.missed, offered - unsent, "{queue}");
        assert_eq!(managed.sent.frames, arrived + missed, "{queue}");
        assert!(managed.lost_in_all().frames > 1000, "{queue}: there was no flood: {managed:?}");
    }
}

/// How many frames are there; none may come before one of its flow that was sent before it.
fn in_order(ring: &mut PacketRing, last: &mut [Option<u32>; 256]) -> u64 {
    let mut count = 0;
    ring.receive(usize::MAX, &mut |frame| {
        count += 1;
        let Some((flow, number)) = label(frame.bytes) else { return };
        assert!(
            last[flow as usize].is_none_or(|before| before < number),
            "flow {flow} out of order"
        );
        last[flow as usize] = Some(number);
    })
    .unwrap();
    count
}

/// What is late is never early. From a half second at the beginning and one at the end we take the
/// frame that came soonest after its time, by the kernel's stamp. So only the rate is left, not the
/// time that a process had no processor.
#[test]
fn ten_seconds_at_a_rate_are_exact_to_a_thousandth() {
    const NOMINAL: f64 = 40e6;
    let Some(rig) = Rig::new(1500) else { return };
    let overhead = Overhead::ETHERNET;
    let (delay, waits) = (Span::ZERO, Waits::Asleep);
    let wanted =
        Wanted { queue: "drop_tail", rate: "40 Mbit/s", limit: "5 MB", overhead, delay, waits };
    let (account, seen) = rig.gate(&wanted, |west, east| {
        let (mut dice, begun) = (Rng::from_seed(3), clock::now());
        let (mut offered, mut bits, mut seen) = (0u64, 0u64, Vec::<(Time, u64)>::new());
        while clock::now().since(begun) < Span::from_millis(10_500) {
            // Half a second of the link's time waits, so that it is never idle.
            if offered < bits + NOMINAL as u64 / 2 {
                let frames = varied(&mut dice, 0, 200, 1400);
                offered +=
                    frames.iter().map(|f| overhead.on_wire(f.len() as u32) as u64 * 8).sum::<u64>();
                send(west, &frames);
            }
            std::thread::sleep(Duration::from_millis(1));
            east.receive(usize::MAX, &mut |frame| {
                bits += overhead.on_wire(frame.wire_len) as u64 * 8;
                seen.push((frame.stamp, bits));
            })
            .unwrap();
        }
        assert_eq!(east.missed(), 0);
        seen
    });
    assert!(
        account.managed.held.frames > 1000,
        "the link may have been idle: {:?}",
        account.managed
    );
    let lag = |(at, bits): &(Time, u64)| at.as_secs() - *bits as f64 / NOMINAL;
    let least = |of: &[&(Time, u64)]| of.iter().map(|s| lag(s)).fold(f64::INFINITY, f64::min);
    let (first, last) = (seen[0].0, seen[seen.len() - 1].0);
    let half = Span::from_millis(500);
    let start: Vec<_> = seen.iter().filter(|(at, _)| at.since(first) < half).collect();
    let end: Vec<_> = seen.iter().filter(|(at, _)| last.since(*at) < half).collect();
    let error = (least(&end) - least(&start)) / last.since(first).as_secs();
    println!("off by {:.4} %", error * 100.0);
    assert!(error.abs() < 1e-3, "off by {:.4} %", error * 100.0);
}
