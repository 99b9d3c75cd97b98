//! How many frames a second the gateway moves between two virtual cables, and what one costs it.
//!
//! `cargo bench -p tidegate-gateway --bench throughput [-- QUEUE …]`; root, two cores, and nothing
//! else running. The gateway, which fails open like any other, has core 0. On core 1 a program in
//! the kernel sends more than it can take; the kernel counts what arrives at the far end. With a
//! virtual cable the sender's core also receives the frame. So core 1 puts frames into the
//! gateway's ring, and core 0 receives them at the far end.
//!
//! The cost of a frame is what core 0 has spent for each received. To the slow link that is no more
//! than a bound, since the gateway waits awake for the next departure there.
mod flood;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::net::if_::if_nametoindex;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::Pid;
use tidegate::{Bytes, Link, Rate, Span, Time, catalog};
use tidegate_gateway::device::guard::Unguarded;
use tidegate_gateway::device::memory::{Cable, cable as cable_in_memory};
use tidegate_gateway::device::port::Port;
use tidegate_gateway::device::ring::PacketRing;
use tidegate_gateway::machine::clock;
use tidegate_gateway::machine::failopen::FailOpen;
use tidegate_gateway::machine::namespaces::{Namespace, cable, possible};
use tidegate_gateway::path::gate::Gate;
use tidegate_gateway::run::plan::{GatePlan, Settings};
use tidegate_gateway::run::pump::{Commands, PumpRequest, pump};
use tidegate_gateway::run::way::{Secret, Way};

use flood::{BURST, Flood};

/// Where the gateway runs, and where everybody else does.
const CORES: [usize; 2] = [0, 1];
/// How long each run is, and how many there are of each kind, in turn.
const RUN: Span = Span::from_millis(1500);
const ROUNDS: usize = 5;

/// Length of a frame in bytes, and rate of the link: more than the gateway can fill, and far less
/// than is offered.
const KINDS: [(usize, Rate); 3] = [(64, FAST), (1514, FAST), (64, Rate::from_bps(100_000_000))];
const FAST: Rate = Rate::from_bps(10_000_000_000);

/// What a run gave.
#[derive(Clone, Copy, Debug)]
struct Figures {
    /// Frames a second that were offered.
    offered: f64,
    /// Frames a second that came out at the far end.
    sent: f64,
    /// Seconds of core 0 for each that was received.
    cost: f64,
    /// Which part of them the kernel had no room for.
    missed: f64,
}

fn main() -> ExitCode {
    if let Err(why) = possible() {
        eprintln!("SKIPPED: {why}");
        return ExitCode::SUCCESS;
    }
    if thread::available_parallelism().map_or(1, |cores| cores.get()) < CORES.len() {
        eprintln!("SKIPPED: it takes two cores");
        return ExitCode::SUCCESS;
    }
    let named: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let queues: Vec<&str> = if named.is_empty() {
        vec!["drop_tail", "red", "sfb"]
    } else {
        named.iter().map(String::as_str).collect()
    };
    println!("   bytes   Gbit/s  queue       Mpps in      out   Gbit/s  missed  us/frame  (least)");
    for kind in KINDS {
        let mut runs = vec![Vec::new(); queues.len()];
        for _ in 0..ROUNDS {
            for (queue, runs) in queues.iter().zip(&mut runs) {
                runs.push(run(queue, kind));
            }
        }
        for (queue, runs) in queues.iter().zip(&runs) {
            tell(queue, kind, runs);
        }
    }
    println!("without devices, ns per frame:");
    for len in [64, 1514] {
        for queue in &queues {
            println!("{len:>8}           {queue:<10}  {:>7.0}", without_devices(queue, len) * 1e9);
        }
    }
    ExitCode::SUCCESS
}

/// Medians, and the least cost.
fn tell(queue: &str, (len, rate): (usize, Rate), runs: &[Figures]) {
    let sent = median(runs, |run| run.sent);
    println!(
        "{len:>8}  {:>7.1}  {queue:<10}  {:>7.3}  {:>7.3}  {:>7.2}  {:>5.1}%  {:>8.3}  {:>7.3}",
        rate.as_bps() as f64 / 1e9,
        median(runs, |run| run.offered) / 1e6,
        sent / 1e6,
        sent * len as f64 * 8.0 / 1e9,
        median(runs, |run| run.missed) * 100.0,
        median(runs, |run| run.cost) * 1e6,
        runs.iter().map(|run| run.cost).fold(f64::INFINITY, f64::min) * 1e6,
    );
}

fn median(runs: &[Figures], of: fn(&Figures) -> f64) -> f64 {
    let mut all: Vec<f64> = runs.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// One run through `queue` with frames of `len` bytes to a link of `rate`.
fn run(queue: &str, (len, rate): (usize, Rate)) -> Figures {
    let process = std::process::id();
    let [left, middle, right] =
        ["l", "m", "r"].map(|at| Namespace::new(&format!("tg-load-{at}-{process}")).unwrap());
    cable((&left, "from"), (&middle, "in"), 1500).unwrap();
    cable((&right, "to"), (&middle, "out"), 1500).unwrap();
    // Frames made by a program arrive by way of this.
    middle.run(&["ethtool", "-K", "in", "gro", "on"]).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let generator = scope.spawn(|| {
            pin(CORES[1]);
            left.inside(|| generate(len, &stop)).unwrap()
        });
        let gateway = scope.spawn(|| {
            pin(CORES[0]);
            gateway(&middle, queue, rate)
        });
        thread::sleep(Duration::from_millis(300));
        let (before, start) = (arrived(&right), Instant::now());
        thread::sleep(Duration::from_nanos(RUN.as_nanos() - 500_000_000));
        let (count, span) = (arrived(&right) - before, start.elapsed());
        let (cost, missed) = gateway.join().unwrap();
        stop.store(true, Ordering::Relaxed);
        let offered = generator.join().unwrap();
        Figures { offered, sent: count as f64 / span.as_secs_f64(), cost, missed }
    })
}

/// What a frame costs besides the devices, in seconds: the median of many turns with cables in
/// memory, so that what else the machine does hardly matters.
fn without_devices(queue: &str, len: usize) -> f64 {
    const FRAMES: u32 = 16;
    let (lane, wire) = plan(queue, FAST).lanes(Secret { hash: [1, 2], seed: 3 }, ()).unwrap();
    let ((mut here, inner), (outer, mut there)) =
        (cable_in_memory(Cable::default()), cable_in_memory(Cable::default()));
    let mut gate = Gate::new(lane, wire, inner, outer);
    let (mut frame, mut now, mut turns) = (frame(len), Time::ZERO, Vec::new());
    for round in 0..100_000_u32 {
        for i in 0..FRAMES {
            let flow = (round.wrapping_mul(7919).wrapping_add(i * 31) % 1024) as u16;
            frame[34..36].copy_from_slice(&flow.to_be_bytes());
            here.send(&frame).unwrap();
        }
        here.flush().unwrap();
        now += FAST.time_to_send(Bytes::new(u64::from(FRAMES) * len as u64));
        let start = Instant::now();
        gate.turn(now, &mut Unguarded);
        turns.push(start.elapsed());
        there.receive(usize::MAX, &mut |_| ()).unwrap();
    }
    turns.sort();
    turns[turns.len() / 2].as_secs_f64() / f64::from(FRAMES)
}

/// Runs the gateway; the processor time for each frame received, and which part of all was missed.
fn gateway(middle: &Namespace, queue: &str, rate: Rate) -> (f64, f64) {
    let (lane, wire) = plan(queue, rate).lanes(Secret { hash: [1, 2], seed: 3 }, ()).unwrap();
    let work = || {
        let (inner, outer) = (PacketRing::open("in").unwrap(), PacketRing::open("out").unwrap());
        let mut guard =
            FailOpen::install([&inner, &outer].map(PacketRing::index), clock::now()).unwrap();
        let mut gate = Gate::new(lane, wire, inner, outer);
        let (request, mut tell) = (|| PumpRequest::GoOn, |_| ());
        let commands = Commands { duration: Some(RUN), ..Commands::new(&request, &mut tell) };
        let before = spent();
        pump(&mut gate, &mut guard, commands).unwrap();
        let (cost, account) = (spent() - before, gate.account().managed);
        let (received, missed) = (account.received.frames as f64, account.missed as f64);
        (cost / received, missed / (received + missed))
    };
    middle.inside(work).unwrap()
}

/// A gateway between links of this rate.
fn plan(queue: &str, rate: Rate) -> GatePlan {
    let link = Link::new(rate, "1000 packets".parse().unwrap(), Bytes::new(1000)).unwrap();
    let settings = Settings {
        inner: "in".into(),
        outer: "out".into(),
        there: Way::new(link, catalog::config(queue, None, &link).unwrap(), queue),
        back: None,
        delay: Span::ZERO,
    };
    GatePlan::new(settings, 1500).unwrap()
}

/// Sends frames as fast as they go; how many were offered in a second.
fn generate(len: usize, stop: &AtomicBool) -> f64 {
    let flood = Flood::new(frame(len), if_nametoindex("from").unwrap()).unwrap();
    let (mut count, start) = (0, Instant::now());
    while !stop.load(Ordering::Relaxed) {
        flood.burst().unwrap();
        count += u64::from(BURST);
    }
    count as f64 / start.elapsed().as_secs_f64()
}

/// A UDP datagram to nobody.
fn frame(len: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 9, 9, 2, 0, 0, 0, 0, 1, 8, 0];
    let total = (len - 14) as u16;
    let [high, low] = total.to_be_bytes();
    frame.extend([0x45, 0, high, low, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let sum = tidegate_packet::ipv4_checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame.extend([0, 0, 0, 9]);
    frame.extend((total - 20).to_be_bytes());
    frame.resize(len, 0);
    frame
}

/// How many frames have come in at the far end.
fn arrived(right: &Namespace) -> u64 {
    right.run(&["cat", "/sys/class/net/to/statistics/rx_packets"]).unwrap().trim().parse().unwrap()
}

/// Processor time of this thread so far, in seconds.
fn spent() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
    [usage.user_time(), usage.system_time()]
        .iter()
        .map(|t| t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6)
        .sum()
}

fn pin(core: usize) {
    let mut set = CpuSet::new();
    set.set(core).unwrap();
    sched_setaffinity(Pid::from_raw(0), &set).unwrap();
}
