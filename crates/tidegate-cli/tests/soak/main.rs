//! A gate that works for long. There is the kernel's TCP at four fifths of the line, floods come
//! and go, interfaces flap. Now and then a reload sets another queue and another rate. It must go
//! on in one piece and account for every frame that came off the wire. At the end it must take no
//! more memory than in the middle.
//!
//! By itself half a minute, with a few queues. `make soak` is the long form: SOAK_SECONDS says how
//! long, and what was seen goes to the folder SOAK_OUT as soak.md, soak.csv and two plots. Nothing
//! here asserts how fast anything is.
#![cfg(target_os = "linux")]
mod gate;
mod ledger;
mod load;
mod page;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use tidegate::catalog::QUEUES;
use tidegate_gateway::demo::Rig;
use tidegate_gateway::machine::namespaces::{alone, possible, skip};

use gate::{Gate, Terms};
use ledger::Ledger;
use load::Load;

/// How long the short form lasts, in seconds.
const SHORT: f64 = 24.0;
/// From so many seconds on every queue has its turn, and before that these.
const LONG: f64 = 300.0;
const FEW: [&str; 6] = ["drop_tail", "fq_codel", "sfb", "red", "wfq", "afd"];
/// The line, and what the others of the rates that it is set to by turns are, in Mbit/s.
const RATES: [u32; 3] = [100, 90, 110];
/// How often in the whole each queue has its turn: in every third of the time at least once.
const ROUNDS: f64 = 3.3;

/// How one moment of it looked.
#[derive(Clone, Debug, Default)]
struct Sample {
    /// Seconds since the beginning.
    at: f64,
    /// Memory of the gate's own, in bytes.
    memory: u64,
    threads: usize,
    descriptors: usize,
    /// Frames from the clients to the server, as the gate told last.
    received: u64,
    sent: u64,
    lost: u64,
    held: u64,
    /// Payload that the kernel's TCP has delivered so far, both ways, in bytes.
    delivered: u64,
    flood: bool,
    reloads: u64,
    flaps: u64,
}

/// How often something has happened, and when it is due next.
struct Turns {
    every: Duration,
    done: u64,
}

impl Turns {
    fn new(seconds: f64) -> Turns {
        Turns { every: Duration::from_secs_f64(seconds), done: 0 }
    }

    /// Whether it is time for another one, `since` the beginning.
    fn is_due(&mut self, since: Duration) -> bool {
        let due = since >= self.every * (self.done as u32 + 1);
        self.done += u64::from(due);
        due
    }
}

/// What happens while the gate works, and when.
struct Course<'a> {
    rig: &'a Rig,
    queues: &'a [&'static str],
    seconds: f64,
    /// How long a queue has its turn, in seconds. The flood is on in one of three turns.
    period: f64,
    reloads: Turns,
    flaps: Turns,
    looks: Turns,
}

impl<'a> Course<'a> {
    fn new(rig: &'a Rig, queues: &'a [&'static str], seconds: f64) -> Course<'a> {
        let period = (seconds / (ROUNDS * queues.len() as f64)).min(60.0);
        let reloads = Turns::new(period);
        let flaps = Turns::new((1.7 * period).max(3.0));
        let looks = Turns::new((seconds / 720.0).clamp(0.2, 5.0));
        Course { rig, queues, seconds, period, reloads, flaps, looks }
    }

    /// Floods, reloads and flaps to the end; how the gate looked on the way.
    fn run(&mut self, gate: &mut Gate, load: &Load) -> Vec<Sample> {
        let (begun, mut samples) = (Instant::now(), vec![]);
        while begun.elapsed().as_secs_f64() < self.seconds {
            std::thread::sleep(Duration::from_millis(20));
            let since = begun.elapsed();
            load.flood(since.as_secs_f64() % (3.0 * self.period) < self.period);
            if self.reloads.is_due(since) {
                gate.reload(self.terms());
            }
            if self.flaps.is_due(since) {
                self.flap();
            }
            if self.looks.is_due(since) {
                samples.push(self.look(since, gate, load));
            }
        }
        samples
    }

    /// The queue and the rate whose turn it is.
    fn terms(&self) -> Terms {
        let turn = self.reloads.done as usize;
        Terms::new(self.queues[turn % self.queues.len()], RATES[turn % RATES.len()])
    }

    /// One of the interfaces goes down for a moment.
    fn flap(&self) {
        let interface = ["west", "east"][self.flaps.done as usize % 2];
        self.rig.gateway.run(&["ip", "link", "set", interface, "down"]).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        self.rig.gateway.run(&["ip", "link", "set", interface, "up"]).unwrap();
    }

    fn look(&self, since: Duration, gate: &Gate, load: &Load) -> Sample {
        Sample {
            at: since.as_secs_f64(),
            delivered: load.delivered(),
            flood: load.floods(),
            reloads: self.reloads.done,
            flaps: self.flaps.done,
            ..gate.sample()
        }
    }
}

#[test]
fn it_goes_on_and_on_and_accounts_for_every_frame() {
    if let Err(why) = possible() {
        return skip(&why);
    }
    let seconds: f64 = std::env::var("SOAK_SECONDS")
        .map_or(SHORT, |text| text.parse().expect("SOAK_SECONDS: a number"));
    let every: Vec<&str> = QUEUES.iter().map(|row| row.name).collect();
    let (queues, status) =
        if seconds < LONG { (&FEW[..], "200 ms") } else { (every.as_slice(), "1 s") };
    let _alone = alone().unwrap();
    let rig = Rig::new(1, 1500).unwrap();
    let mut gate = Gate::start(&rig, Terms::new(queues[0], RATES[0]), status);
    let ledger = Ledger::open(&rig);
    let load = Load::start(&rig, f64::from(RATES[0]) * 1e6);

    let mut course = Course::new(&rig, queues, seconds);
    let samples = course.run(&mut gate, &load);

    let delivered = load.end();
    let entries = ledger.close(&rig, || gate.end(), course.flaps.done);
    let mut verdicts = entries.verdicts;
    verdicts.extend(ledger::memory(&samples));
    verdicts.push(ledger::Verdict::new(
        "TCP was carried",
        delivered > 0,
        format!("{} MB of payload", delivered / 1_000_000),
    ));
    if let Some(folder) = std::env::var_os("SOAK_OUT") {
        page::write(Path::new(&folder), seconds, &samples, &verdicts).unwrap();
    }
    for verdict in &verdicts {
        let _ = writeln!(std::io::stderr(), "soak: {verdict}");
    }
    assert!(verdicts.iter().all(|verdict| verdict.holds), "{verdicts:#?}\n{}", entries.account);
}
