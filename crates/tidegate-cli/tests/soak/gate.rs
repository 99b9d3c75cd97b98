//! The gate that is tried: its file, its signals, what it says, and what the system says of it.
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tidegate_gateway::demo::Rig;
use tidegate_gateway::machine::clock::now;
use tidegate_gateway::machine::failopen;

use crate::Sample;

/// How long anything may take that is a moment's work, on a machine with other work.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the gate's file says.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    queue: &'static str,
    /// Of both directions, in Mbit/s.
    rate: u32,
}

impl Terms {
    pub fn new(queue: &'static str, rate: u32) -> Terms {
        Terms { queue, rate }
    }

    fn text(self) -> String {
        let Terms { queue, rate } = self;
        let way = format!(
            "rate = \"{rate} Mbit/s\"\nqueue = {{ name = \"{queue}\", preset = \"auto\" }}\n"
        );
        format!(
            "[[link]]\nname = \"uplink\"\nin = \"west\"\nout = \"east\"\non_exit = \
             \"close\"\n{way}[link.back]\n{way}"
        )
    }
}

/// A gate that runs; killed if this is dropped.
pub struct Gate {
    child: Child,
    folder: tempfile::TempDir,
    reloads: usize,
}

impl Gate {
    /// Starts it, to tell `every` so often how things stand, and waits until it has the wire.
    pub fn start(rig: &Rig, terms: Terms, every: &str) -> Gate {
        let folder = tempfile::tempdir().unwrap();
        let (file, told) =
            (folder.path().join("gate.toml"), File::create(folder.path().join("told")).unwrap());
        fs::write(&file, terms.text()).unwrap();
        let words = [
            "setpriv",
            "--pdeathsig",
            "KILL",
            env!("CARGO_BIN_EXE_tidegate"),
            "gate",
            "--json",
            "--status",
            every,
        ];
        let mut command =
            rig.gateway.command(&[&words[..], &["--config", file.to_str().unwrap()]].concat());
        let child = command
            .stdout(File::create(folder.path().join("account")).unwrap())
            .stderr(told)
            .stdin(Stdio::null());
        let gate = Gate { child: child.spawn().unwrap(), folder, reloads: 0 };
        let west = rig.gateway.index("west").unwrap();
        gate.until("it takes the wire", || {
            rig.gateway.inside(|| failopen::holds(gate.child.id(), west, now())).unwrap().unwrap()
        });
        gate
    }

    /// Has it go on by other terms, and waits until it does.
    pub fn reload(&mut self, terms: Terms) {
        self.reloads += 1;
        fs::write(self.path("gate.toml"), terms.text()).unwrap();
        self.signal(Signal::SIGHUP);
        self.until("it goes on as the file says", || {
            self.told().matches("goes on as the file says now").count() >= self.reloads
        });
    }

    /// How it is, and what it told last.
    pub fn sample(&self) -> Sample {
        let process = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(process.join("status")).expect("it has ended");
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("0");
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
        };
        let told = self.told();
        let last =
            told.lines().rev().find(|line| line.contains(" s: received ")).unwrap_or_default();
        let count = |word: &str| {
            let rest = last.split_once(word).map_or("0", |(_, rest)| rest);
            rest.split([',', ';']).next().unwrap().trim().parse().unwrap_or(0)
        };
        Sample {
            memory: number("RssAnon:") * 1024,
            threads: number("Threads:") as usize,
            descriptors: fs::read_dir(process.join("fd")).map_or(0, Iterator::count),
            received: count("received "),
            sent: count("sent "),
            lost: count("lost "),
            held: count("held "),
            ..Sample::default()
        }
    }

    /// Everything it has said.
    pub fn told(&self) -> String {
        fs::read_to_string(self.path("told")).unwrap()
    }

    /// Asks it to end: its account, and everything it has said.
    pub fn end(mut self) -> (Value, String) {
        self.signal(Signal::SIGTERM);
        let begun = Instant::now();
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(begun.elapsed() < PATIENCE, "it does not end: {}", self.told()),
            }
            sleep(Duration::from_millis(10));
        };
        let told = self.told();
        assert!(status.success(), "{status}: {told}");
        (serde_json::from_str(&fs::read_to_string(self.path("account")).unwrap()).unwrap(), told)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let begun = Instant::now();
        while !holds() {
            assert!(begun.elapsed() < PATIENCE, "in vain waited until {what}: {}", self.told());
            sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
