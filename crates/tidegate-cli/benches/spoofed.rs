//! A flood of five million forged sources through the gateway. For each queue and flow key: what is
//! left to users who are not to blame, and how much memory the gateway takes.
//!
//! `make validate-spoofed`; root, two cores, nothing else running, a quarter of an hour. Prints the
//! page that is kept as validation/spoofed.md, and on standard error how far it is. Names of queues
//! as arguments measure those only.
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tidegate::catalog::{self, QUEUES};
use tidegate::{Link, Span};
use tidegate_gateway::demo::{
    Demo, FRAME, KernelTcp, Process, Rig, Spoofed, Trial, Users, possible,
};
use tidegate_packet::FlowKey;
use tidegate_report::fair::Worst;
use tidegate_report::{Figure, human};

/// Sources of the flood.
const FLOWS: u64 = 5_000_000;
/// Users, each with one connection.
const USERS: u16 = 8;
/// What their connections take to find the line's rate, which does not count.
const SLOW_START: Duration = Duration::from_secs(3);
/// How long users have the line to themselves then.
const BEFORE: Duration = Duration::from_secs(5);
/// After the flood has begun, time that does not count.
const SETTLING: Duration = Duration::from_secs(2);
/// Flow keys that are tried. Under the first every datagram of the flood is a flow, as it would be
/// under `source`, and every user is one. Under the second the whole flood is one, and the users
/// together are another.
const KEYS: [FlowKey; 2] = [FlowKey::FiveTuple, FlowKey::Destination];
/// Queues that do not look at a packet's flow: one key is as good as another.
const BLIND: [&str; 9] =
    ["drop_tail", "red", "ared", "feng_red", "blue", "rem", "codel", "cobalt", "pie"];
/// Memory is given by the page, to each thread's stack and by the allocator's own measure: so much
/// is nobody's.
const PAGES: u64 = 256 << 10;
/// What of a full TCP frame is data: 14 bytes of Ethernet, 20 of IPv4, 32 of TCP with time stamps
/// are not.
const DATA: f64 = 1448.0 / 1514.0;

#[allow(clippy::disallowed_macros, reason = "a bench has no command's output to go through")]
fn main() -> ExitCode {
    if let Err(why) = possible() {
        eprintln!("SKIPPED: {why}");
        return ExitCode::SUCCESS;
    }
    let named: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wanted = |name: &str| named.is_empty() || named.iter().any(|n| n == name);
    println!("{HEAD}");
    let keys = |name: &str| if BLIND.contains(&name) { &KEYS[..1] } else { &KEYS };
    let wanted = QUEUES.iter().filter(|row| wanted(row.name));
    let runs: Vec<_> =
        wanted.flat_map(|row| keys(row.name).iter().map(|key| (row.name, *key))).collect();
    let (mut sound, begun) = (true, Instant::now());
    for (done, (queue, key)) in runs.iter().enumerate() {
        let elapsed = begun.elapsed().as_secs_f64();
        let left = if done == 0 { String::new() } else { left(elapsed, done, runs.len()) };
        eprintln!("{} of {}: {queue}, {key}{left}", done + 1, runs.len());
        let key_told = if BLIND.contains(queue) { "any".into() } else { key.to_string() };
        match measure(queue, *key) {
            Ok(found) => {
                println!("| {queue} | {key_told} | {found} |");
                sound &= found.took <= found.may_take;
            }
            Err(error) => {
                println!("| {queue} | {key_told} | FAILED: {error} |");
                sound = false;
            }
        }
    }
    eprintln!("{:.0} s in all", begun.elapsed().as_secs_f64());
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How much longer it will take, after `done` of `all` runs took so many seconds.
fn left(elapsed: f64, done: usize, all: usize) -> String {
    format!("; about {:.0} s left", elapsed / done as f64 * (all - done) as f64)
}

struct Found {
    /// Datagrams a second.
    flood: f64,
    /// Each user's share of the line, before and during the flood.
    shares: [Vec<f64>; 2],
    /// What the gateway took more than before the flood, and what it says that it takes at most,
    /// in bytes.
    took: u64,
    may_take: u64,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Found { flood, shares: [before, during], took, may_take } = self;
        let fair = 1.0 / f64::from(USERS);
        let worst = Worst::of(during.iter().map(|share| (*share, fair)));
        let Worst { share, starved } = worst.expect("there are users");
        let [before, during] = [before, during].map(|shares| human::percent(shares.iter().sum()));
        let worst = human::percent(share);
        let [took, may_take] =
            [took, may_take].map(|bytes| human::bytes(Figure::exact(*bytes as f64)));
        let kpps = flood / 1e3;
        write!(f, "{kpps:.0} | {before} | {during} | {worst} | {starved} | {took} | {may_take}")
    }
}

/// What comes before the rows.
const HEAD: &str = "\
# Five million forged sources

Written by `make validate-spoofed`. Eight users with a connection of the kernel's each, 40 ms away,
on a line of 100 Mbit/s behind `tidegate gate`. Each datagram of the flood comes from another
address. One run a row, presets `auto`.

- Users: what they get of the line together, before the flood and during it.
- Worst: what the worst of them gets during it, of an eighth of the line.
- Starved: how many of them get less than a tenth of that.
- Memory: what the gateway took more than before the flood, and at most, as stated. That bound
  is above what is laid out at the start, with 256 kB for pages.

| queue | flow key | flood, kpps | users before | during | worst | starved | memory took \
| may take |
|---|---|---|---|---|---|---|---|---|";

/// The line, in bit/s.
const LINE: f64 = 100e6;

fn measure(queue: &str, flow_key: FlowKey) -> std::io::Result<Found> {
    let link = Link::new("100 Mbit/s".parse().unwrap(), "1250 kB".parse().unwrap(), FRAME).unwrap();
    let config = catalog::config(queue, Some("auto"), &link).unwrap();
    let demo = Demo {
        program: env!("CARGO_BIN_EXE_tidegate").into(),
        link,
        delay: Span::from_millis(20),
        flow_key,
        rehash: None,
        tcp: KernelTcp::Full,
        groups: vec![],
        warmup: Span::ZERO,
        duration: Span::ZERO,
    };
    let trial = Trial {
        queue: format!("{queue}/auto"),
        label: queue.into(),
        preset: "auto".into(),
        config,
    };
    let plan = demo.plan(&trial).map_err(std::io::Error::other)?;
    // What is laid out at the start is there before the flood.
    let may_take = plan.memory() - plan.laid_out() + PAGES;
    let rig = Rig::new(USERS, 1500)?;
    let mut gate = demo.gate(&rig, &trial)?;
    while !rig.connected(gate.id(), Duration::from_millis(100))? {
        alive(&mut gate)?;
    }
    let users = Users::start(&rig, USERS)?;
    let taken = gate.memory()?;
    sleep(SLOW_START);
    let before = shares(&users, BEFORE, || true);
    let flood = Spoofed::start(&rig, FLOWS)?;
    let begun = Instant::now();
    sleep(SETTLING);
    let during = shares(&users, Duration::from_secs(600), || !flood.is_over());
    let (sent, span) = (flood.sent(), begun.elapsed());
    if sent < FLOWS {
        return Err(std::io::Error::other(format!("the flood ended after {sent} datagrams")));
    }
    let took = gate.memory()?.saturating_sub(taken);
    alive(&mut gate)?;
    drop((users, flood));
    gate.finish()?;
    let flood = sent as f64 / span.as_secs_f64();
    Ok(Found { flood, shares: [before, during], took, may_take })
}

/// What each user gets of the line while `on` and no longer than `most`.
fn shares(users: &Users, most: Duration, on: impl Fn() -> bool) -> Vec<f64> {
    let (from, begun) = (users.received(), Instant::now());
    while on() && begun.elapsed() < most {
        sleep(Duration::from_millis(20));
    }
    let seconds = begun.elapsed().as_secs_f64();
    let share = |bytes: u64| bytes as f64 * 8.0 / seconds / DATA / LINE;
    users.received().iter().zip(from).map(|(now, from)| share(now - from)).collect()
}

fn alive(gate: &mut Process) -> std::io::Result<()> {
    match gate.ended()? {
        Some(said) => Err(std::io::Error::other(format!("the gateway has ended: {said}"))),
        None => Ok(()),
    }
}
