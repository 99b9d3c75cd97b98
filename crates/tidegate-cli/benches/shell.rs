//! What a shell's link adds to a packet, and how much it carries.
//!
//! `cargo bench -p tidegate-cli --bench shell`, or `make bench-shell`; root, two cores, and nothing
//! else running. What is added is the difference between round trips through a shell and through a
//! bare cable of the same kind, half of it for each direction. What is carried is what the kernel
//! counts at the outer end while a program inside sends as fast as it can.
#![allow(clippy::disallowed_macros, reason = "a bench prints its figures")]
#[path = "../tests/shell/within.rs"]
#[allow(dead_code, reason = "tests need the rest")]
mod within;

use std::net::{Ipv4Addr, UdpSocket};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use tidegate_gateway::machine::namespaces::{Namespace, alone, cable};
use tidegate_gateway::machine::net::Net;
use within::{Outside, Shell, round_trip};

const ROUNDS: usize = 5;
const ROUND_TRIPS: usize = 400;
/// Between two, as a program that waits for its answer has it.
const PAUSE: Duration = Duration::from_millis(2);
const FLOOD: Duration = Duration::from_secs(2);
/// Bytes of a datagram that makes a packet of 1500 and a frame of 1514.
const DATAGRAM: usize = 1472;
const FRAME_BITS: f64 = 1514.0 * 8.0;

fn main() -> ExitCode {
    let Some(outside) = Outside::new() else { return ExitCode::SUCCESS };
    let _alone = alone();
    let options: [(&str, &[&str]); 3] = [
        ("no limit", &[]),
        ("sfb, 10 Gbit/s", &["--rate", "10gbit", "--queue", "sfb"]),
        ("drr, 10 Gbit/s", &["--rate", "10gbit", "--queue", "drr"]),
    ];
    println!("added to a packet, each way, in us: median of {ROUNDS} rounds (least to most)");
    println!("  median     p99   through");
    for (name, options) in options {
        let rounds: Vec<[f64; 2]> = (0..ROUNDS).map(|_| added(&outside, options)).collect();
        let [median, p99] = [0, 1].map(|at| range(rounds.iter().map(|round| round[at])));
        println!("  {median}   {p99}   {name}");
    }
    println!("carried, frames of 1514 B, in Gbit/s: median (least to most)");
    for (name, options) in options {
        println!("  {}   {name}", range((0..ROUNDS).map(|_| carried(&outside, options))));
    }
    ExitCode::SUCCESS
}

/// Median, least and most.
fn range(figures: impl Iterator<Item = f64>) -> String {
    let mut all: Vec<f64> = figures.collect();
    all.sort_by(f64::total_cmp);
    format!("{:.2} ({:.2} to {:.2})", all[all.len() / 2], all[0], all[all.len() - 1])
}

fn shell(outside: &Outside, options: &[&str]) -> Shell {
    Shell::start(outside.shell(&[options, &["--"], &Shell::WAITS].concat()))
}

/// What a shell adds to the median and to the 99th percentile, in us.
fn added(outside: &Outside, options: &[&str]) -> [f64; 2] {
    let shell = shell(outside, options);
    let through = quantiles(&outside.net, &shell.net, shell.base);
    let name = |end| format!("tg-bare-{}-{end}", std::process::id());
    let (left, right) =
        (Namespace::new(&name("a")).expect("a"), Namespace::new(&name("b")).expect("b"));
    cable((&left, "one"), (&right, "two"), 1500).expect("a cable");
    left.run(&["ip", "address", "add", "10.77.0.1/30", "dev", "one"]).expect("an address");
    right.run(&["ip", "address", "add", "10.77.0.2/30", "dev", "two"]).expect("an address");
    let here = |of: &Namespace| of.inside(Net::here).expect("inside").expect("a network");
    let bare = quantiles(&here(&left), &here(&right), Ipv4Addr::new(10, 77, 0, 1));
    [0, 1].map(|at| (through[at] - bare[at]) / 2.0)
}

/// The median and the 99th percentile of round trips, in us.
fn quantiles(outer: &Net, inner: &Net, base: Ipv4Addr) -> [f64; 2] {
    let mut all: Vec<f64> = (0..ROUND_TRIPS)
        .map(|_| {
            thread::sleep(PAUSE);
            round_trip(outer, inner, base).as_secs_f64() * 1e6
        })
        .collect();
    all.sort_by(f64::total_cmp);
    [all[all.len() / 2], all[all.len() * 99 / 100]]
}

/// Gbit/s that come out at the other end of a shell's link.
fn carried(outside: &Outside, options: &[&str]) -> f64 {
    let shell = shell(outside, options);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| flood(&shell, &over));
        thread::sleep(FLOOD / 4);
        let (begun, before) = (Instant::now(), outside.received());
        thread::sleep(FLOOD);
        let (seconds, after) = (begun.elapsed().as_secs_f64(), outside.received());
        over.store(true, Relaxed);
        (after - before) as f64 * FRAME_BITS / seconds / 1e9
    })
}

/// Sends to a port where somebody listens and nobody reads: there is no answer.
fn flood(shell: &Shell, over: &AtomicBool) {
    let bind = || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0));
    let socket = shell.net.inside(bind).expect("inside").expect("a socket");
    socket.connect((shell.base, within::DISCARD)).expect("a route");
    while !over.load(Relaxed) {
        let _ = socket.send(&[0; DATAGRAM]);
    }
}
