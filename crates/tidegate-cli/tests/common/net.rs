//! A network of namespaces with a gate in its midst, and datagrams that tell how they got through.
#![allow(dead_code, reason = "each test takes what it needs")]
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tidegate::{Span, Time};
use tidegate_gateway::demo::Rig;
use tidegate_gateway::machine::clock::now;
use tidegate_gateway::machine::failopen;
use tidegate_gateway::machine::namespaces::{alone, possible, skip};

pub const PORT: u16 = 7777;
/// What takes less than this to get across has not passed a gate: theirs here have a delay line of
/// twice as much.
pub const QUICK: Span = Span::from_millis(10);

/// A network whose gate is between `west`, where 10.77.1.1 is, and `east`, where 10.77.0.2 is.
pub struct Net {
    pub rig: Rig,
    /// The number of the gate's first interface.
    west: u32,
    pub client: UdpSocket,
    pub server: UdpSocket,
    _alone: std::fs::File,
    _turn: MutexGuard<'static, ()>,
}

impl Net {
    /// None, and a line that says why, where namespaces cannot be made. There is one at a time.
    pub fn new() -> Option<Net> {
        static TURN: Mutex<()> = Mutex::new(());
        if let Err(why) = possible() {
            skip(&why);
            return None;
        }
        let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let _alone = alone().unwrap();
        let rig = Rig::new(1, 1500).unwrap();
        let client = rig.clients.inside(|| UdpSocket::bind(("10.77.1.1", PORT)).unwrap()).unwrap();
        let server = rig.server.inside(|| UdpSocket::bind(("10.77.0.2", PORT)).unwrap()).unwrap();
        for socket in [&client, &server] {
            socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        }
        let west = rig.gateway.index("west").unwrap();
        Some(Net { rig, west, client, server, _alone, _turn })
    }

    /// The command at the gate between its two interfaces, with `more` arguments.
    pub fn command(&self, more: &[&str]) -> Command {
        self.gate(&[&["--in", "west", "--out", "east"], more].concat())
    }

    /// The command at the gate, with `arguments`. First in the line for a processor: if it had to
    /// wait for 0.3 s, as on a machine that runs other tests, the kernel would stand in for it.
    pub fn gate(&self, arguments: &[&str]) -> Command {
        let tidegate = ["nice", "-n", "-20", env!("CARGO_BIN_EXE_tidegate"), "gate"];
        self.rig.gateway.command(&[&tidegate, arguments].concat())
    }

    /// Starts a gate that slows nothing, and waits until it has taken over.
    pub fn start(&self, more: &[&str]) -> Running {
        let queue = [
            "--rate",
            "10 Gbit/s",
            "--queue",
            "drop_tail",
            "--limit",
            "20000 packets",
            "--delay",
            "20ms",
        ];
        self.started(self.command(&[&queue, more].concat()), Stdio::piped())
    }

    /// Starts a gate by `command`, which tells its errors there, and waits until it has taken over.
    pub fn started(&self, mut command: Command, errors: Stdio) -> Running {
        let child = command.stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let gate = Running(child);
        let end = now() + Span::from_secs(10.0);
        while !self.is_held_by(gate.0.id()) {
            if now() > end {
                panic!("the gate did not take over: {:?}", gate.stop());
            }
        }
        gate
    }

    /// Whether frames take their way through this process.
    pub fn is_held_by(&self, process: u32) -> bool {
        self.rig.gateway.inside(|| failopen::holds(process, self.west, now())).unwrap().unwrap()
    }

    /// Exit code, standard output and standard error of the command with `more` arguments, which is
    /// to end by itself.
    pub fn run(&self, more: &[&str]) -> (i32, String, String) {
        let ran = self.command(more).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (ran.status.code().unwrap(), text(ran.stdout), text(ran.stderr))
    }

    /// How long a datagram takes to get across, if it does within the time that the socket waits.
    pub fn crossing(&self) -> Option<Span> {
        let begun = now();
        let sent = begun.as_nanos().to_le_bytes();
        self.client.send_to(&sent, ("10.77.0.2", PORT)).unwrap();
        // Others may still be under way, an earlier one of these among them.
        let mut came = [0; 64];
        loop {
            let len = self.server.recv(&mut came).ok()?;
            if came[..len] == sent {
                return Some(now().since(begun));
            }
        }
    }

    /// A datagram gets across. The first may not: what arrives in the moment of taking over is
    /// thrown away, since nobody knows whether the kernel has forwarded it. And a machine that is
    /// busy may take long.
    pub fn must_cross(&self) {
        self.until_crossed(|_| true);
    }

    /// A datagram gets across by way of the gate, as its delay line shows. The kernel may stand in
    /// for it for a while.
    pub fn must_cross_the_gate(&self) {
        self.until_crossed(|span| span >= QUICK);
    }

    fn until_crossed(&self, holds: impl Fn(Span) -> bool) {
        let end = now() + Span::from_secs(20.0);
        while !self.crossing().is_some_and(&holds) {
            assert!(now() < end, "nothing gets across, or not as it should");
        }
    }

    /// Datagrams go in both directions while `work` is done; how they came.
    pub fn traffic(&self, gap: Duration, work: impl FnOnce()) -> [Arrivals; 2] {
        let stop = AtomicBool::new(false);
        let (stop, client, server) = (&stop, &self.client, &self.server);
        std::thread::scope(|scope| {
            scope.spawn(move || send(client, "10.77.0.2", gap, stop));
            scope.spawn(move || send(server, "10.77.1.1", gap, stop));
            let there = scope.spawn(|| receive(server, stop));
            let back = scope.spawn(|| receive(client, stop));
            let _stop = Stop(stop);
            work();
            drop(_stop);
            [there.join().unwrap(), back.join().unwrap()]
        })
    }

    /// Asserts that a gate whose `option` is the address of another process ends before it changes
    /// anything.
    pub fn refuses_a_taken_port(&self, option: &str, address: &str) {
        let before = self.traces();
        let _taken = self.rig.gateway.inside(|| TcpListener::bind(address)).unwrap().unwrap();
        let link = ["--rate", "1mbit", "--queue", "red", &format!("--{option}"), address];
        for more in [&[][..], &["--dry-run"]] {
            let (code, out, err) = self.run(&[&link[..], more].concat());
            assert_eq!((code, out.as_str()), (2, ""), "{err}");
            let why = format!(
                "error: {option} at {address}: Address already in use (os error 98): another \
                 process listens there; take another port"
            );
            assert!(err.contains(&why), "{err}");
            assert_eq!(self.traces(), before, "nothing was changed");
        }
    }

    /// What there is at the gate's interfaces, as iproute2 tells it.
    pub fn traces(&self) -> String {
        let told = |command: &[&str]| self.rig.gateway.run(command).unwrap();
        let each = ["west", "east"].map(|interface| {
            let filters =
                self.rig.gateway.run(&["tc", "filter", "show", "dev", interface, "ingress"]);
            let link = told(&["ip", "-o", "link", "show", "dev", interface]);
            let flags = link.split_once('>').unwrap().0.to_string();
            filters.unwrap_or_default() + &told(&["tc", "qdisc", "show", "dev", interface]) + &flags
        });
        each.concat()
    }
}

/// However a test ends, what it sends ends with it.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// A gate that is killed when this is dropped.
pub struct Running(pub Child);

impl Running {
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).unwrap();
    }

    /// Exit code, standard output and standard error (if it comes to us) after a polite request to
    /// stop.
    pub fn stop(self) -> (i32, String, String) {
        self.signal(Signal::SIGTERM);
        self.ended()
    }

    /// The same of one that was asked already, or ends by itself.
    pub fn ended(mut self) -> (i32, String, String) {
        let end = now() + Span::from_secs(60.0);
        let status = loop {
            match self.0.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(now() < end, "it goes on"),
            }
            sleep(Duration::from_millis(10));
        };
        let out = std::io::read_to_string(self.0.stdout.take().unwrap()).unwrap();
        let err = self.0.stderr.take().map(|err| std::io::read_to_string(err).unwrap());
        (status.code().unwrap(), out, err.unwrap_or_default())
    }

    /// Sends it the signal, and waits until it has taken it: of two that wait the smaller comes
    /// first.
    pub fn must_take(&self, signal: Signal) {
        self.signal(signal);
        let end = now() + Span::from_secs(20.0);
        let pending = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
            let mask = status.lines().find_map(|line| line.strip_prefix("ShdPnd:")).unwrap().trim();
            u64::from_str_radix(mask, 16).unwrap() >> (signal as i32 - 1) & 1 == 1
        };
        while pending() {
            assert!(now() < end, "it does not take {signal}");
            sleep(Duration::from_millis(1));
        }
    }

    /// SIGKILL, and it is gone.
    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends numbered datagrams that say when they were sent.
fn send(from: &UdpSocket, to: &str, gap: Duration, stop: &AtomicBool) {
    for number in 0u64.. {
        if stop.load(Relaxed) {
            return;
        }
        let bytes = [number.to_le_bytes(), now().as_nanos().to_le_bytes()].concat();
        // An interface that is down, or its far end, is no reason to stop.
        let _ = from.send_to(&bytes, (to, PORT));
        sleep(gap);
    }
}

/// Datagrams that came, in the order in which they did: number, when it was sent, when it came.
pub struct Arrivals(pub Vec<(u64, Time, Time)>);

fn receive(to: &UdpSocket, stop: &AtomicBool) -> Arrivals {
    let mut came = Vec::new();
    let mut word = [0; 64];
    let mut read = || match to.recv(&mut word) {
        Ok(16) => {
            let number = |at: usize| u64::from_le_bytes(word[at..at + 8].try_into().unwrap());
            came.push((number(0), Time::from_nanos(number(8)), now()));
            true
        }
        other => other.is_ok(),
    };
    while !stop.load(Relaxed) {
        read();
    }
    while read() {}
    Arrivals(came)
}

impl Arrivals {
    /// Asserts that none came twice.
    pub fn once(&self) -> &Arrivals {
        let mut numbers: Vec<u64> = self.0.iter().map(|(number, _, _)| *number).collect();
        let count = numbers.len();
        numbers.sort();
        numbers.dedup();
        assert_eq!(count - numbers.len(), 0, "of {count} so many came twice");
        self
    }

    /// Asserts that they came in the order in which they were sent, none twice.
    pub fn in_order(&self) {
        for pair in self.0.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{} came after {}", pair[1].0, pair[0].0);
        }
    }

    /// The longest time between the sending of two that came one after the other, from `since` on.
    pub fn longest_gap(&self, since: Time) -> Span {
        let sent: Vec<Time> =
            self.0.iter().map(|(_, sent, _)| *sent).filter(|&sent| sent >= since).collect();
        let mut sorted = sent;
        sorted.sort();
        sorted.windows(2).map(|pair| pair[1].since(pair[0])).max().expect("some came")
    }

    /// How many of those that were sent in a span of time came, and how many of them quickly.
    pub fn between(&self, from: Time, to: Time) -> (usize, usize) {
        let sent = self.0.iter().filter(|(_, sent, _)| (from..to).contains(sent));
        let quick = sent.clone().filter(|(_, sent, came)| came.since(*sent) < QUICK);
        (sent.count(), quick.count())
    }
}
