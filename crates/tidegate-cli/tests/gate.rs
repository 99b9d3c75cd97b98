//! `tidegate gate` between namespaces: what it refuses, what it leaves behind, and that the wire stays open without it.
#![cfg(target_os = "linux")]

use std::net::UdpSocket;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tidegate::{Span, Time};
use tidegate_gateway::clock::now;
use tidegate_gateway::demo::Rig;
use tidegate_gateway::failopen;
use tidegate_gateway::namespaces::{alone, possible, skip};

const PORT: u16 = 7777;
/// What takes less than this to get across has not passed a gate: theirs here have a delay line of twice as much.
const QUICK: Span = Span::from_millis(10);

/// A network whose gate is between `west`, where 10.77.1.1 is, and `east`, where 10.77.0.2 is.
struct Net {
    rig: Rig,
    /// The number of the gate's first interface.
    west: u32,
    client: UdpSocket,
    server: UdpSocket,
    _alone: std::fs::File,
    _turn: MutexGuard<'static, ()>,
}

impl Net {
    /// None, and a line that says why, where namespaces cannot be made. There is one at a time.
    fn new() -> Option<Net> {
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

    /// The command at the gate, with `more` arguments. First in the line for a processor: if it had to wait for 0.3 s,
    /// as on a machine that runs other tests, the kernel would stand in for it.
    fn command(&self, more: &[&str]) -> std::process::Command {
        let tidegate = ["nice", "-n", "-20", env!("CARGO_BIN_EXE_tidegate"), "gate", "--in", "west", "--out", "east"];
        self.rig.gateway.command(&[&tidegate, more].concat())
    }

    /// Starts a gate that slows nothing, and waits until it has taken over.
    fn start(&self, more: &[&str]) -> Running {
        let queue = ["--rate", "10 Gbit/s", "--queue", "drop_tail", "--limit", "20000 packets", "--delay", "20ms"];
        let child =
            self.command(&[&queue, more].concat()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
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
    fn is_held_by(&self, process: u32) -> bool {
        self.rig.gateway.inside(|| failopen::holds(process, self.west, now())).unwrap().unwrap()
    }

    /// Exit code, standard output and standard error of the command with `more` arguments, which is to end by itself.
    fn run(&self, more: &[&str]) -> (i32, String, String) {
        let ran = self.command(more).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (ran.status.code().unwrap(), text(ran.stdout), text(ran.stderr))
    }

    /// How long a datagram takes to get across, if it does.
    fn crossing(&self) -> Option<Span> {
        while self.server.set_nonblocking(true).is_ok() && self.server.recv(&mut [0; 64]).is_ok() {}
        self.server.set_nonblocking(false).unwrap();
        let begun = now();
        self.client.send_to(&begun.as_nanos().to_le_bytes(), ("10.77.0.2", PORT)).unwrap();
        self.server.recv(&mut [0; 64]).ok().map(|_| now().since(begun))
    }

    /// A datagram gets across a gate that has just started. The first may not: what arrives in the moment of taking over is
    /// thrown away, since nobody knows whether the kernel has forwarded it.
    fn must_cross(&self) {
        assert!(self.crossing().or_else(|| self.crossing()).is_some());
    }

    /// Datagrams go in both directions while `work` is done; how they came.
    fn traffic(&self, gap: Duration, work: impl FnOnce()) -> [Arrivals; 2] {
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

    /// What there is at the gate's interfaces, as iproute2 tells it.
    fn traces(&self) -> String {
        let told = |command: &[&str]| self.rig.gateway.run(command).unwrap();
        let each = ["west", "east"].map(|interface| {
            let filters = self.rig.gateway.run(&["tc", "filter", "show", "dev", interface, "ingress"]);
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
struct Running(Child);

impl Running {
    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).unwrap();
    }

    /// Exit code, standard output and standard error after a polite request to stop.
    fn stop(mut self) -> (i32, String, String) {
        self.signal(Signal::SIGTERM);
        let code = self.0.wait().unwrap().code().unwrap();
        let read = |from: &mut dyn std::io::Read| std::io::read_to_string(from).unwrap();
        let out = read(self.0.stdout.as_mut().unwrap());
        (code, out, read(self.0.stderr.as_mut().unwrap()))
    }

    /// SIGKILL, and it is gone.
    fn kill(mut self) {
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
struct Arrivals(Vec<(u64, Time, Time)>);

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
    fn once(&self) -> &Arrivals {
        let mut numbers: Vec<u64> = self.0.iter().map(|(number, _, _)| *number).collect();
        let count = numbers.len();
        numbers.sort();
        numbers.dedup();
        assert_eq!(count - numbers.len(), 0, "of {count} so many came twice");
        self
    }

    /// The longest time between the sending of two that came one after the other, from `since` on.
    fn longest_gap(&self, since: Time) -> Span {
        let sent: Vec<Time> = self.0.iter().map(|(_, sent, _)| *sent).filter(|&sent| sent >= since).collect();
        let mut sorted = sent;
        sorted.sort();
        sorted.windows(2).map(|pair| pair[1].since(pair[0])).max().expect("some came")
    }

    /// How many of those that were sent in a span of time came, and how many of them quickly.
    fn between(&self, from: Time, to: Time) -> (usize, usize) {
        let sent = self.0.iter().filter(|(_, sent, _)| (from..to).contains(sent));
        let quick = sent.clone().filter(|(_, sent, came)| came.since(*sent) < QUICK);
        (sent.count(), quick.count())
    }
}

#[test]
fn after_kill_9_traffic_flows_again_within_a_second_and_nothing_comes_twice() {
    let Some(net) = Net::new() else { return };
    let gate = net.start(&[]);
    let mut killed = Time::ZERO;
    let half = Span::from_millis(500);
    let begun = now();
    let ways = net.traffic(Duration::from_micros(200), || {
        sleep(Duration::from_millis(700));
        killed = now();
        gate.kill();
        sleep(Duration::from_millis(1500));
    });
    for came in &ways {
        let gap = came.once().longest_gap(begun);
        assert!(gap < Span::from_secs(1.0), "an interruption of {gap}");
        let (managed, quick) = came.between(begun, begun + half);
        assert!(managed > 100 && quick == 0, "before: {quick} of {managed} past the gate");
        let (unmanaged, quick) = came.between(killed + half + half, killed + half + half + half);
        assert!(unmanaged > 100 && quick > unmanaged / 2, "after: {quick} of {unmanaged} quickly");
    }
    let (code, out, err) = net.run(&["--remove"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "west: removed\neast: removed\n", ""));
    assert_eq!(net.crossing(), None);
}

#[test]
fn a_gate_that_is_stopped_and_goes_on_sends_nothing_that_the_kernel_has_sent() {
    let Some(net) = Net::new() else { return };
    let gate = net.start(&[]);
    let begun = now();
    let mut resumed = Time::ZERO;
    let ways = net.traffic(Duration::from_micros(50), || {
        // Many short stops, since what matters is where in its work it is stopped; and a long one.
        for stopped in [420, 370, 450, 390, 410, 430, 2000] {
            gate.signal(Signal::SIGSTOP);
            sleep(Duration::from_millis(stopped));
            gate.signal(Signal::SIGCONT);
            resumed = now();
            sleep(Duration::from_millis(150));
        }
        sleep(Duration::from_millis(500));
    });
    for came in &ways {
        let gap = came.once().longest_gap(begun);
        assert!(gap < Span::from_secs(1.0), "an interruption of {gap}");
        let (stood_in, quick) = came.between(begun, resumed);
        assert!(quick > stood_in / 4, "the kernel has forwarded only {quick} of {stood_in}");
        let (managed, quick) = came.between(resumed + Span::from_millis(200), resumed + Span::from_millis(600));
        assert!(managed > 100 && quick == 0, "afterwards {quick} of {managed} past the gate");
    }
    let (code, out, err) = gate.stop();
    assert!(code == 0 && out.contains("lost: "), "{out}{err}");
    assert!(err.matches("we were stopped, and the kernel forwarded").count() >= 7, "{err}");
}

#[test]
fn interfaces_may_go_down_and_come_up_under_a_running_gate() {
    let Some(net) = Net::new() else { return };
    let gate = net.start(&[]);
    for interface in ["west", "east"] {
        let ways = net.traffic(Duration::from_micros(500), || {
            net.rig.gateway.run(&["ip", "link", "set", interface, "down"]).unwrap();
            sleep(Duration::from_millis(500));
            net.rig.gateway.run(&["ip", "link", "set", interface, "up"]).unwrap();
            sleep(Duration::from_millis(500));
        });
        for came in &ways {
            came.once();
        }
        assert!(net.crossing().is_some_and(|span| span >= QUICK), "{interface}: not well again");
    }
    let (code, out, err) = gate.stop();
    assert!(code == 0, "{out}{err}");
    assert!(err.contains("west: well again") && err.contains("east: well again"), "{err}");
}

#[test]
fn a_gate_ends_when_an_interface_is_taken_away() {
    for how in [
        "ip link set east down; sleep 0.3; ip link delete east",
        "ip link delete east; ip link add east type veth peer name other; ip link set east up; ip link set other up",
    ] {
        let Some(net) = Net::new() else { return };
        let mut gate = net.start(&[]);
        net.rig.gateway.run(&["sh", "-ec", how]).unwrap();
        let end = now() + Span::from_secs(10.0);
        let status = loop {
            match gate.0.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(now() < end, "it goes on after {how}"),
            }
            sleep(Duration::from_millis(20));
        };
        let err = std::io::read_to_string(gate.0.stderr.as_mut().unwrap()).unwrap();
        assert!(err.ends_with("error: east is gone, and with it the gate\n"), "{err}");
        assert_eq!(status.code(), Some(1));
        let left = net.rig.gateway.run(&["tc", "qdisc", "show", "dev", "west"]).unwrap();
        assert!(!left.contains("clsact"), "{left}");
    }
}

#[test]
fn what_is_left_behind_is_what_was_asked_for() {
    let Some(net) = Net::new() else { return };
    let before = net.traces();
    let gate = net.start(&["--on-exit", "close"]);
    let (code, _, err) = gate.stop();
    assert_eq!((code, net.crossing(), net.traces()), (0, None, before.clone()), "{err}");

    let (code, _, err) = net.start(&[]).stop();
    assert!(code == 0 && err.contains("tidegate gate --remove --in west --out east"), "{err}");
    assert!(net.crossing().is_some_and(|span| span < QUICK), "the wire stays open");
    let (code, plan, err) = net.run(&["--rate", "1mbit", "--queue", "red", "--dry-run"]);
    assert!(code == 0 && plan.contains("what a gate that is gone has left at west, east"), "{plan}{err}");
    assert!(plan.contains("asleep until 60 us before a departure"), "{plan}");
    let (code, plan, err) = net.run(&["--rate", "1mbit", "--queue", "red", "--busy", "--dry-run"]);
    let alone = code == 2 && err.contains("--busy takes a processor, and this machine has no other");
    assert!(alone || code == 0 && plan.contains("awake: never sleeps, and takes a processor"), "{plan}{err}");

    // The next finds what is left, and takes it away with what it brought.
    net.start(&[]).kill();
    let gate = net.start(&["--on-exit", "close"]);
    let (code, _, refused) = net.run(&["--remove"]);
    assert!(code == 1 && refused.contains("a gate that runs as process"), "{refused}");
    assert_eq!((gate.stop().0, net.traces()), (0, before));
}

#[test]
fn however_often_it_is_told_to_end_it_ends_in_order() {
    let Some(net) = Net::new() else { return };
    let before = net.traces();
    let gate = net.start(&["--on-exit", "close", "--json"]);
    net.must_cross();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGTERM, Signal::SIGTERM] {
        gate.signal(signal);
        sleep(Duration::from_millis(2));
    }
    let (code, out, err) = gate.stop();
    assert_eq!((code, net.traces()), (0, before), "{err}");
    let account: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(account["managed"]["received"]["frames"].as_u64().unwrap() > 0, "{out}");
}

#[test]
fn unfinished_checksums_are_told_of_when_they_come() {
    let Some(net) = Net::new() else { return };
    let gate = net.start(&[]);
    net.must_cross();
    net.rig.clients.run(&["ethtool", "-K", "users", "tx", "on"]).unwrap();
    for _ in 0..3 {
        net.client.send_to(&[7; 64], ("10.77.0.2", PORT)).unwrap();
    }
    sleep(Duration::from_millis(300));
    let (code, out, err) = gate.stop();
    assert_eq!(code, 0, "{err}");
    assert_eq!(err.matches("west: frames come with checksums that their sender left to hardware").count(), 1, "{err}");
    assert!(!err.contains("east: ") && out.contains("checksum not filled in"), "{out}{err}");
}

#[test]
fn a_start_is_refused_before_anything_is_touched() {
    let Some(net) = Net::new() else { return };
    let settings = ["--rate", "1mbit", "--queue", "drop_tail"];
    let shell = |command: &str| net.rig.gateway.run(&["sh", "-ec", command]).unwrap();
    for (harm, told, mend) in [
        ("ip link set west down", "west is down", "ip link set west up"),
        (
            "ip address add 10.99.0.1/24 dev east",
            "east is already used: it has the address 10.99.0.1",
            "ip -4 address flush dev east",
        ),
        ("ip route add default dev west", "the default route leads through west", "ip route delete default dev west"),
        (
            "ip link set east mtu 9000",
            "east carries packets of up to 9000 B, the other interface only of up to 1500 B",
            "ip link set east mtu 1500",
        ),
    ] {
        shell(harm);
        let before = net.traces();
        let (code, out, err) = net.run(&settings);
        let mut refusal = format!("error: this cannot start\n  {told}\n      {mend}\n");
        let forced = net.run(&[&settings[..], &["--force", "--dry-run"]].concat());
        // Nothing can be received from an interface that is down.
        match told.ends_with("is down") {
            true => assert_eq!(forced, (1, String::new(), refusal.clone())),
            false => {
                refusal += "With --force it starts all the same.\n";
                assert!(forced.0 == 0 && forced.1.contains(&format!("in_spite_of     {told}")), "{forced:?}");
            }
        }
        assert_eq!((code, out.as_str(), err, net.traces()), (1, "", refusal, before));
        shell(mend);
    }
    let gate = net.start(&[]);
    let (code, _, err) = net.run(&[&settings[..], &["--force"]].concat());
    let told = format!("west is already used: a gate that runs as process {} holds it", gate.0.id());
    assert!(code == 1 && err.contains(&told) && err.contains(&format!("kill {}", gate.0.id())), "{err}");
    drop(gate);

    let missing = ["--in", "west", "--out", "nowhere"];
    let tidegate = [env!("CARGO_BIN_EXE_tidegate"), "gate"];
    let ran = net.rig.gateway.command(&[&tidegate[..], &missing, &settings].concat()).output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{err}");
    assert!(err.contains("there is no interface nowhere; there are"), "{err}");
}

#[test]
fn what_it_records_is_a_capture_of_every_frame() {
    let Some(net) = Net::new() else { return };
    let before = net.traces();
    let nowhere = ["--rate", "1mbit", "--queue", "drop_tail", "--record", "/nowhere/at/all"];
    let (code, _, err) = net.run(&nowhere);
    assert!(code == 2 && err.contains("/nowhere/at/all: No such file"), "{code}: {err}");
    assert_eq!(net.traces(), before);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gate.pcapng");
    let gate = net.start(&["--json", "--record", file.to_str().unwrap()]);
    net.traffic(Duration::from_millis(1), || sleep(Duration::from_millis(300)));
    let (code, out, err) = gate.stop();
    assert_eq!(code, 0, "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    let recorded = &document["recorded"];
    let written = recorded["written"].as_u64().unwrap();
    let managed = &document["managed"];
    let count = |tally: &serde_json::Value| tally["frames"].as_u64().unwrap();
    let lost: u64 = managed["lost"].as_object().unwrap().values().map(count).sum();
    assert_eq!(written, count(&managed["sent"]) + lost, "{out}");
    assert!(written > 50 && recorded["trouble"].is_null(), "{out}");
    assert_eq!(
        (recorded["unwritten"].as_u64(), recorded["bytes"].as_u64()),
        (Some(0), Some(file.metadata().unwrap().len()))
    );
    let mut capture = tidegate_packet::Capture::open(&file).unwrap();
    let mut found = 0;
    while capture.next_packet().unwrap().is_some() {
        found += 1;
    }
    assert_eq!(found, written);
}
