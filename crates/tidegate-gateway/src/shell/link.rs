//! The gate between the command and the outside, on a thread of its own.
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use tidegate::{Prob, Seed};

use crate::device::guard::Unguarded;
use crate::device::lossy::{Lossy, LostFrames};
use crate::device::ring::PacketRing;
use crate::machine::{clock, host};
use crate::path::gate::Gate;
use crate::run::plan::GatePlan;
use crate::run::pump::{Commands, Event, PumpRequest, pump};
use crate::run::way::Secret;
use crate::shell::network::{EAST, ShellNetwork, WEST};
use crate::watch::counters::Account;
use crate::watch::record::Recorder;
use crate::watch::sample::{Sampler, Samples, samples};

/// What is to be between the command and the outside, up first: from the command.
#[derive(Debug)]
pub struct WantedLink {
    /// Both directions.
    pub plan: GatePlan,
    /// What the link loses at random.
    pub loss: [Prob; 2],
    /// Who writes captures.
    pub recorders: [Option<Recorder>; 2],
}

/// A link that is emulated.
#[derive(Debug)]
pub struct EmulatedLink {
    thread: JoinHandle<io::Result<Ended>>,
    stop: Arc<AtomicBool>,
}

/// What can be seen of a link while it lasts.
#[derive(Debug)]
pub struct LinkView {
    /// How it stands.
    pub samples: Samples,
    /// What it has lost at random, up first.
    pub lost: [LostFrames; 2],
}

/// How a link ended.
#[derive(Debug)]
pub struct Ended {
    /// What became of all frames.
    pub account: Account,
    /// Who wrote captures, up first.
    pub recorders: [Option<Recorder>; 2],
    /// What was wrong with its devices.
    pub troubles: Vec<String>,
}

/// A gate that can begin.
struct ReadyGate {
    gate: Gate<Lossy<PacketRing>, Lossy<PacketRing>, Option<Recorder>>,
    sampler: Sampler,
    stop: Arc<AtomicBool>,
}

impl EmulatedLink {
    /// Begins to move frames in `network`. When it returns, frames pass.
    ///
    /// # Errors
    /// The kernel refuses what the gate needs.
    pub fn begin(
        network: &ShellNetwork,
        wanted: WantedLink,
    ) -> io::Result<(EmulatedLink, LinkView)> {
        let stop = Arc::new(AtomicBool::new(false));
        let (told, heard) = channel();
        let middle = network.middle.again()?;
        let stopped = stop.clone();
        let work = move || {
            middle.enter()?;
            let ready = begin(wanted, stopped, &told)?;
            move_frames(ready)
        };
        let thread = thread::Builder::new().name("link".into()).spawn(work)?;
        match heard.recv() {
            Ok(view) => Ok((EmulatedLink { thread, stop }, view)),
            Err(_) => Err(joined(thread).err().unwrap_or_else(|| io::ErrorKind::Other.into())),
        }
    }

    /// Stops it. What is under way is lost.
    ///
    /// # Errors
    /// It had stopped by itself, and why.
    pub fn end(self) -> io::Result<Ended> {
        self.stop.store(true, Relaxed);
        joined(self.thread)
    }
}

fn joined(thread: JoinHandle<io::Result<Ended>>) -> io::Result<Ended> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Opens both devices, and tells that it has.
fn begin(
    wanted: WantedLink,
    stop: Arc<AtomicBool>,
    told: &Sender<LinkView>,
) -> io::Result<ReadyGate> {
    let WantedLink { plan, loss: [up, down], recorders } = wanted;
    let [one, two, seed] = clock::random()?;
    let secret = Secret { hash: [one, two], seed };
    let (there, back) = plan.lanes_seen_by(secret, recorders).map_err(io::Error::other)?;
    let dice = |name| Seed::new(seed).stream(name);
    let inner = Lossy::new(PacketRing::open(WEST)?, down, dice("loss down"));
    let outer = Lossy::new(PacketRing::open(EAST)?, up, dice("loss up"));
    let lost = [outer.lost(), inner.lost()];
    let (sampler, samples) = samples(0, Some(0));
    let mut gate = Gate::new(there, back, inner, outer);
    gate.begin();
    // Nobody hears it if the shell has ended meanwhile.
    let _ = told.send(LinkView { samples, lost });
    Ok(ReadyGate { gate, sampler, stop })
}

fn move_frames(ReadyGate { mut gate, mut sampler, stop }: ReadyGate) -> io::Result<Ended> {
    // Where the system refuses, frames may have to wait for a processor.
    let _ = host::come_first();
    let mut troubles = Vec::new();
    let request = || if stop.load(Relaxed) { PumpRequest::End } else { PumpRequest::GoOn };
    let tell = &mut |event| {
        if let Event::Trouble(side, error) = event {
            troubles.push(format!("{side:?}: {error}"));
        }
    };
    let commands = Commands { sampler: Some(&mut sampler), ..Commands::new(&request, tell) };
    pump(&mut gate, &mut Unguarded, commands)?;
    let account = gate.account();
    let (up, down) = gate.into_observers();
    Ok(Ended { account, recorders: [up, down.flatten()], troubles })
}
