//! How exactly frames leave, and how long a frame is on its way through an idle gateway: `make
//! bench-gate`.
//!
//! Three namespaces in a row. Times are the kernel's own, stamped when the gateway's frame reaches
//! the other end of the last cable, so that no reader's wake-up is measured. Needs root and two
//! idle cores; says how busy the machine was.
#![allow(clippy::disallowed_macros, reason = "a benchmark prints")]
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use tidegate::{Link, MarkReason, Rate, Size, Span, Time, catalog};
use tidegate_gateway::device::guard::Unguarded;
use tidegate_gateway::device::port::Port;
use tidegate_gateway::device::ring::PacketRing;
use tidegate_gateway::machine::clock;
use tidegate_gateway::machine::host;
use tidegate_gateway::machine::namespaces::{Namespace, alone, cable, possible};
use tidegate_gateway::path::gate::Gate;
use tidegate_gateway::run::plan::{GatePlan, Settings};
use tidegate_gateway::run::pump::{Commands, PumpRequest, Waits, pump};
use tidegate_gateway::run::wakes;
use tidegate_gateway::run::way::{Secret, Way};
use tidegate_gateway::watch::counters::LossReason;
use tidegate_gateway::watch::observer::Observer;

/// A full frame of Ethernet, in bytes.
const LEN: usize = 1514;
const CLIENT: [u8; 6] = [2, 0, 0, 0, 0, 1];
const SERVER: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Each rate, whether the pump sleeps, and how long it takes for thousands of frames. Where gaps
/// are shorter than it stays awake before a departure it never sleeps anyway.
const RATES: [(&str, Waits, Duration); 6] = [
    ("10 Mbit/s", Waits::Asleep, Duration::from_secs(8)),
    ("10 Mbit/s", Waits::Awake, Duration::from_secs(8)),
    ("100 Mbit/s", Waits::Asleep, Duration::from_secs(5)),
    ("100 Mbit/s", Waits::Awake, Duration::from_secs(5)),
    ("500 Mbit/s", Waits::Asleep, Duration::from_secs(2)),
    ("1 Gbit/s", Waits::Asleep, Duration::from_secs(2)),
];

fn main() {
    if let Err(why) = possible() {
        println!("SKIPPED: {why}");
        return;
    }
    let _alone = alone().expect("a lock");
    // A session of our own, which the gate's thread can raise; as child of another program we lead
    // none yet.
    let _ = nix::unistd::setsid();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load average {}", load.split(' ').next().unwrap_or("unknown"));
    print_head();
    for (rate, waits, during) in RATES {
        print_row(rate.parse().expect("a rate"), waits, during);
    }
    let mut before = bare_wakes(1000);
    for (waits, how) in [(Waits::Asleep, "asleep"), (Waits::Awake, "awake")] {
        let mut round = Rig::new().idle(waits, 2000);
        let [p50, p99] =
            [quantile(&mut round, 0.5), quantile(&mut round, 0.99)].map(|nanos| nanos / 1e3);
        println!(
            "idle, {how}, there and back: p50 {p50:.1} us, p99 {p99:.1} us ({} echoes)",
            round.len()
        );
    }
    let mut after = bare_wakes(1000);
    let [one, other] =
        [quantile(&mut before, 0.99), quantile(&mut after, 0.99)].map(|nanos| nanos / 1e3);
    println!(
        "two bare wake-ups, which that takes asleep: p99 {one:.1} us before and {other:.1} us after"
    );
    println!(
        "bare loop: a thread that sleeps (or does not), looks at the clock until a gap is over, \
         and does nothing else: what"
    );
    println!(
        "this machine lets anybody do. It had the same processor, beside the same sender, before \
         the gateway and after."
    );
}

fn print_head() {
    println!(
        "{:>17} {:>33} {:>25} {:>21}",
        "", "gap between frames, us", "bare loop, us", "late when sent, us"
    );
    println!(
        "{:>10} {:>6} {:>10} {:>10} {:>11} {:>12} {:>12} {:>10} {:>10} {:>8}",
        "rate",
        "waits",
        "due",
        "p50",
        "|off| p99",
        "|off| before",
        "and after",
        "p50",
        "p99",
        "frames"
    );
}

/// Frames at `rate`: their gaps, those of a bare loop before and after, and how late they were.
fn print_row(rate: Rate, waits: Waits, during: Duration) {
    let due = LEN as f64 * 8e9 / rate.as_bps() as f64;
    let rig = Rig::new();
    let bare = || off(&rig.bare(waits, rate, due, during / 2), due);
    let before = bare();
    let (stamps, mut late) = rig.paced(waits, rate, during);
    let after = bare();
    // The first frames come while the queue fills.
    let stamps = &stamps[stamps.len() / 10..];
    let mut gaps: Vec<f64> = stamps.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
    let figures = [due, quantile(&mut gaps, 0.5), off(stamps, due), before, after];
    let [due, gap, off, before, after] = figures.map(|nanos| nanos / 1e3);
    let [late, latest] =
        [quantile(&mut late, 0.5), quantile(&mut late, 0.99)].map(|nanos| nanos / 1e3);
    println!(
        "{:>10} {:>6} {due:>10.3} {gap:>10.3} {off:>11.3} {before:>12.3} {after:>12.3} \
         {late:>10.3} {latest:>10.3} {:>8}",
        rate.to_string(),
        if waits == Waits::Awake { "awake" } else { "asleep" },
        stamps.len()
    );
}

/// By how much 99 in 100 gaps between `stamps` are off at most, in ns.
fn off(stamps: &[u64], due: f64) -> f64 {
    let mut off: Vec<f64> = stamps.windows(2).map(|w| ((w[1] - w[0]) as f64 - due).abs()).collect();
    quantile(&mut off, 0.99)
}

/// When a loop comes round that only waits, in ns: as the pump does, with the same priority on the
/// same processor.
fn bare_loop(waits: Waits, gap: f64, during: Duration) -> Vec<u64> {
    pin(1);
    let _ = (clock::punctual(), host::come_first());
    let begun = clock::now().as_nanos();
    let count = (during.as_nanos() as f64 / gap) as usize;
    let mut came = vec![1; count];
    for (number, came) in came.iter_mut().enumerate() {
        let due = begun + (gap * (number + 1) as f64) as u64;
        let left = due.saturating_sub(clock::now().as_nanos() + wakes::LEAST.as_nanos());
        if left > 0 && waits == Waits::Asleep {
            std::thread::sleep(Duration::from_nanos(left));
        }
        *came = loop {
            match clock::now().as_nanos() {
                now if now >= due => break now,
                _ => std::hint::spin_loop(),
            }
        };
    }
    came
}

/// Sends a fifth more than `rate`, a few frames at a time, and does `besides` in between.
fn feed(west: &mut PacketRing, rate: Rate, during: Duration, mut besides: impl FnMut()) {
    let frame = [&SERVER[..], &CLIENT, &[0x88, 0xb5], &[0; LEN - 14]].concat();
    let begun = clock::now();
    let mut offered = 0u64;
    while clock::now().since(begun) < Span::from_nanos(during.as_nanos() as u64) {
        let due = rate.bytes_in(clock::now().since(begun)).get() * 6 / 5;
        while offered < due {
            west.send(&frame).expect("room");
            west.flush().expect("a cable");
            offered += LEN as u64;
        }
        besides();
        std::thread::sleep(Duration::from_micros(100));
    }
}

fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() as f64 * q) as usize]
}

/// How long it takes to wake a thread on the gateway's processor from this one, twice, `count`
/// times, in ns.
fn bare_wakes(count: usize) -> Vec<f64> {
    let (mut here, mut there) = UnixStream::pair().expect("a pair of sockets");
    let woken = move || {
        pin(1);
        let _ = (clock::punctual(), host::come_first());
        let mut asked = [0; 8];
        let mut took = Vec::new();
        while there.read_exact(&mut asked).is_ok() {
            took.push((clock::now().as_nanos() - u64::from_ne_bytes(asked)) as f64);
        }
        took
    };
    pin(0);
    let woken = std::thread::spawn(woken);
    for _ in 0..2 * count {
        std::thread::sleep(Duration::from_millis(1));
        here.write_all(&clock::now().as_nanos().to_ne_bytes()).expect("somebody listens");
    }
    drop(here);
    woken.join().expect("a thread").chunks_exact(2).map(|pair| pair[0] + pair[1]).collect()
}

/// By how much each frame was later than its departure when it was given to the device, in ns.
#[derive(Default)]
struct Late(Vec<f64>);

impl Late {
    /// With room that is touched already.
    fn new() -> Late {
        let mut late = Late(vec![1.0; 1 << 19]);
        late.0.clear();
        late
    }
}

impl Observer for Late {
    fn sent(&mut self, at: Time, _: Span, _: Option<MarkReason>, _: &[u8]) {
        self.0.push(clock::now().since(at).as_nanos() as f64);
    }
    fn lost(&mut self, _: Time, _: LossReason, _: &[u8]) {}
}

struct Rig {
    clients: Namespace,
    gate: Namespace,
    servers: Namespace,
}

impl Rig {
    fn new() -> Rig {
        let namespace = |part| {
            Namespace::new(&format!("tg-pace-{part}-{}", std::process::id())).expect("a namespace")
        };
        let rig = Rig { clients: namespace("c"), gate: namespace("g"), servers: namespace("s") };
        cable((&rig.clients, "west"), (&rig.gate, "if1"), 1500).expect("a cable");
        cable((&rig.gate, "if2"), (&rig.servers, "east"), 1500).expect("a cable");
        let run = |of: &Namespace, line: &str| {
            of.run(&line.split(' ').collect::<Vec<_>>()).expect("a command")
        };
        run(&rig.clients, "ip link set west address 02:00:00:00:00:01");
        run(&rig.servers, "ip link set east address 02:00:00:00:00:02");
        run(&rig.servers, "ip address add 10.77.0.2/24 dev east");
        run(
            &rig.servers,
            "ip neighbour add 10.77.0.1 lladdr 02:00:00:00:00:01 dev east nud permanent",
        );
        rig
    }

    fn ring(of: &Namespace, name: &str) -> PacketRing {
        of.inside(|| PacketRing::open(name)).expect("a namespace").expect("a ring")
    }

    /// Runs a drop-tail gate at `rate` while `work` does its work.
    fn gate<T>(
        &self,
        waits: Waits,
        rate: Rate,
        work: impl FnOnce(&mut PacketRing) -> T,
    ) -> (T, Vec<f64>) {
        let (inner, outer) = (Rig::ring(&self.gate, "if1"), Rig::ring(&self.gate, "if2"));
        let mut west = Rig::ring(&self.clients, "west");
        let plan = plan(rate);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let gate = scope.spawn(|| {
                pin(1);
                let (lane, wire) =
                    plan.lanes(Secret { hash: [1, 2], seed: 3 }, Late::new()).expect("lanes");
                let mut gate = Gate::new(lane, wire, inner, outer);
                let _ = (host::keep_memory(), host::come_first());
                let request =
                    || if stop.load(Relaxed) { PumpRequest::End } else { PumpRequest::GoOn };
                let mut tell = |_| ();
                let commands = Commands { waits, ..Commands::new(&request, &mut tell) };
                pump(&mut gate, &mut Unguarded, commands).expect("the pump");
                gate.into_observer().0
            });
            pin(0);
            std::thread::sleep(Duration::from_millis(100));
            let found = work(&mut west);
            stop.store(true, Relaxed);
            (found, gate.join().expect("the gate"))
        })
    }

    /// When a loop comes round that only waits, beside the same sender, whose frames nobody takes.
    fn bare(&self, waits: Waits, rate: Rate, due: f64, during: Duration) -> Vec<u64> {
        let mut west = Rig::ring(&self.clients, "west");
        std::thread::scope(|scope| {
            let came = scope.spawn(move || bare_loop(waits, due, during));
            pin(0);
            feed(&mut west, rate, during, || ());
            came.join().expect("a loop")
        })
    }

    /// When each frame came that left at `rate`, of a sender that always has more, in ns.
    fn paced(&self, waits: Waits, rate: Rate, during: Duration) -> (Vec<u64>, Vec<f64>) {
        let mut east = Rig::ring(&self.servers, "east");
        let mut seen = vec![(1, 1); 1 << 19];
        seen.clear();
        let ((), late) = self.gate(waits, rate, |west| {
            feed(west, rate, during, || stamps(&mut east, &SERVER, &mut seen));
        });
        assert_eq!(east.missed(), 0, "the meter missed frames");
        (seen.into_iter().map(|(_, stamp)| stamp).collect(), late)
    }

    /// How long echoes took that the kernel on the other side answers, one at a time, in ns.
    fn idle(&self, waits: Waits, count: u16) -> Vec<f64> {
        let mut seen = Vec::new();
        let (sent, _) = self.gate(waits, Rate::from_bps(1_000_000_000), |west| {
            let send = |number| {
                let frame = echo(number);
                let at = realtime();
                west.send(&frame).expect("room");
                west.flush().expect("a cable");
                std::thread::sleep(Duration::from_millis(1));
                stamps(west, &CLIENT, &mut seen);
                at
            };
            (0..count).map(send).collect::<Vec<u64>>()
        });
        seen.iter().map(|&(number, stamp)| (stamp - sent[number as usize]) as f64).collect()
    }
}

/// Keeps this thread on one processor, so that the gate has one to itself; where there is none,
/// wherever it is.
fn pin(processor: usize) {
    let mut only = CpuSet::new();
    let _ = only.set(processor).and_then(|()| sched_setaffinity(Pid::from_raw(0), &only));
}

fn plan(rate: Rate) -> GatePlan {
    let link =
        Link::new(rate, Size::Packets(1000), "1514 B".parse().expect("a length")).expect("a link");
    let settings = Settings {
        inner: "if1".into(),
        outer: "if2".into(),
        there: Way::new(
            link,
            catalog::config("drop_tail", None, &link).expect("a queue"),
            "drop_tail",
        ),
        back: None,
        delay: Span::ZERO,
    };
    GatePlan::new(settings, 1500).expect("a plan")
}

/// Of every frame that is there for `address`: the number in an echo, and when the kernel took it
/// from the wire, in ns.
fn stamps(ring: &mut PacketRing, address: &[u8; 6], into: &mut Vec<(u16, u64)>) {
    ring.receive(usize::MAX, &mut |frame| {
        if frame.bytes[..6] == address[..] {
            into.push((
                u16::from_be_bytes([frame.bytes[40], frame.bytes[41]]),
                frame.stamp.as_nanos(),
            ));
        }
    })
    .expect("a cable");
}

fn realtime() -> u64 {
    std::time::UNIX_EPOCH.elapsed().expect("a time after 1970").as_nanos() as u64
}

/// ICMP echo request `number` from 10.77.0.1 to 10.77.0.2 as a frame.
fn echo(number: u16) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    let mut frame = [&SERVER[..], &CLIENT, &[8, 0]].concat();
    frame.extend([0x45, 0, 0, 46, 0, 0, 0, 0, 64, 1, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2]);
    frame.extend([8, 0, 0, 0, 0, 7, high, low]);
    frame.extend([0; 18]);
    for (from, to, at) in [(14, 34, 24), (34, 60, 36)] {
        let sum: u32 =
            frame[from..to].chunks(2).map(|w| u16::from_be_bytes([w[0], w[1]]) as u32).sum();
        let checksum = !((sum & 0xffff) as u16 + (sum >> 16) as u16);
        frame[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
    frame
}
