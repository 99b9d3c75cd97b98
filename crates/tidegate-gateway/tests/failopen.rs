//! The kernel's program against a real kernel: when it forwards, when it does not, and what it
//! leaves behind.
#![cfg(target_os = "linux")]
use std::net::UdpSocket;
use std::sync::{Barrier, Mutex, MutexGuard};
use std::thread::sleep;
use std::time::Duration;

use tidegate::{Span, Time};
use tidegate_gateway::device::guard::{BEAT, Guard, PromiseState};
use tidegate_gateway::device::port::Port;
use tidegate_gateway::device::ring::PacketRing;
use tidegate_gateway::machine::clock::now;
use tidegate_gateway::machine::failopen::{self, FailOpen, GUARD, Passed, VALID, attach};
use tidegate_gateway::machine::namespaces::{Namespace, cable, possible, skip};
use tidegate_gateway::machine::netlink::Netlink;

/// A machine to protect, one that floods it, and the gate's between them.
struct Rig {
    gate: Namespace,
    /// Whence and whither.
    ends: [Namespace; 2],
    sender: UdpSocket,
    receiver: UdpSocket,
    _turn: MutexGuard<'static, ()>,
}

impl Rig {
    /// None, and a line that says why, where namespaces cannot be made. There is one at a time:
    /// what another test starts has all that is open here until it is a program of its own. The
    /// names that hold interfaces are open, too.
    fn new(test: &str) -> Option<Rig> {
        static TURN: Mutex<()> = Mutex::new(());
        if let Err(why) = possible() {
            skip(&why);
            return None;
        }
        let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let namespace =
            |part| Namespace::new(&format!("tg-{test}-{part}-{}", std::process::id())).unwrap();
        let (outside, gate, inside) = (namespace("out"), namespace("gate"), namespace("in"));
        cable((&outside, "far"), (&gate, "if1"), 1500).unwrap();
        cable((&gate, "if2"), (&inside, "near"), 1500).unwrap();
        for (end, interface, own, other, mac) in [
            (&outside, "far", "10.77.0.1", "10.77.0.2", "02:00:00:00:00:02"),
            (&inside, "near", "10.77.0.2", "10.77.0.1", "02:00:00:00:00:01"),
        ] {
            let own_mac = format!("02:00:00:00:00:0{}", &own[8..]);
            end.run(&["ip", "link", "set", interface, "address", &own_mac]).unwrap();
            end.run(&["ip", "address", "add", &format!("{own}/24"), "dev", interface]).unwrap();
            end.run(&[
                "ip",
                "neighbour",
                "add",
                other,
                "lladdr",
                mac,
                "dev",
                interface,
                "nud",
                "permanent",
            ])
            .unwrap();
        }
        let socket = |end: &Namespace, own: &str| {
            end.inside(|| UdpSocket::bind((own, 7777)).unwrap()).unwrap()
        };
        let (sender, receiver) = (socket(&outside, "10.77.0.1"), socket(&inside, "0.0.0.0"));
        sender.set_broadcast(true).unwrap();
        Some(Rig { gate, ends: [outside, inside], sender, receiver, _turn })
    }

    fn interfaces(&self) -> [u32; 2] {
        ["if1", "if2"].map(|name| self.gate.index(name).unwrap())
    }

    fn install(&self) -> std::io::Result<FailOpen> {
        let interfaces = self.interfaces();
        self.gate.inside(|| FailOpen::install(interfaces, now())).unwrap()
    }

    /// How many of ten datagrams arrive; none may arrive twice.
    fn arrivals(&self) -> usize {
        arrivals(&self.sender, &self.receiver, "10.77.0.2:7777")
    }

    /// The same the other way.
    fn arrivals_back(&self) -> usize {
        arrivals(&self.receiver, &self.sender, "10.77.0.1:7777")
    }

    /// Packets that the stack of the gate's machine has looked at.
    fn seen_by_stack(&self) -> u64 {
        let told = self.gate.run(&["cat", "/proc/net/snmp"]).unwrap();
        let values = told.lines().filter(|line| line.starts_with("Ip:")).nth(1).unwrap();
        values.split(' ').nth(3).unwrap().parse().unwrap()
    }

    /// Filters, disciplines and promiscuity at the gate's interfaces, as iproute2 tells them.
    fn traces(&self) -> String {
        let mut told = String::new();
        for interface in ["if1", "if2"] {
            for way in ["ingress", "egress"] {
                // It fails where there is no discipline for it.
                told += &self
                    .gate
                    .run(&["tc", "filter", "show", "dev", interface, way])
                    .unwrap_or_default();
            }
            told += &self.gate.run(&["tc", "qdisc", "show", "dev", interface]).unwrap();
            let link = self.gate.run(&["ip", "-o", "link", "show", "dev", interface]).unwrap();
            told += link.split_once('>').unwrap().0;
        }
        told
    }
}

fn arrivals(from: &UdpSocket, to: &UdpSocket, address: &str) -> usize {
    for byte in 0..10u8 {
        from.send_to(&[byte; 100], address).unwrap();
    }
    let mut seen = [0; 10];
    to.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut datagram = [0; 200];
    while let Ok((100, _)) = to.recv_from(&mut datagram) {
        seen[usize::from(datagram[0])] += 1;
    }
    assert!(seen.iter().all(|&n| n <= 1), "twice: {seen:?}");
    seen.iter().sum()
}

/// So late that a heartbeat of this time is fresh until the test is over, however busy the machine.
fn later() -> Time {
    now() + Span::from_secs(60.0)
}

#[test]
fn it_forwards_both_ways_exactly_while_nobody_beats() {
    let Some(rig) = Rig::new("beat") else { return };
    assert_eq!(rig.arrivals(), 0, "nothing joins the interfaces yet");
    let mut gate = rig.install().unwrap();
    assert_eq!((rig.arrivals(), rig.arrivals_back()), (10, 10), "before the first beat");
    assert_eq!(gate.passed().unwrap(), [Passed { taken: 0, unmanaged: 10 }; 2]);

    assert_eq!(gate.promise(later()), PromiseState::Lapsed, "there was none before");
    assert_eq!(
        (rig.arrivals(), rig.arrivals_back()),
        (0, 0),
        "they are the gate's, who does nothing here"
    );
    assert_eq!(gate.passed().unwrap(), [Passed { taken: 10, unmanaged: 10 }; 2]);

    assert_eq!(gate.beat(), PromiseState::Kept);
    sleep(Duration::from_nanos(VALID.as_nanos()));
    assert_eq!((rig.arrivals(), rig.arrivals_back()), (10, 10), "the heartbeat is stale");
    assert_eq!(gate.promise(later()), PromiseState::Lapsed);
    assert_eq!(rig.arrivals(), 0);
    gate.open().unwrap();
    assert_eq!(rig.arrivals(), 10, "said to be over");
    assert_eq!(gate.promise(later()), PromiseState::Lapsed);
    drop(gate);
    assert_eq!((rig.arrivals(), rig.arrivals_back()), (10, 10), "it outlives who loaded it");
}

#[test]
fn the_machines_own_stack_sees_nothing() {
    let Some(rig) = Rig::new("stack") else { return };
    let broadcast = || {
        let before = rig.seen_by_stack();
        let arrived = arrivals(&rig.sender, &rig.receiver, "255.255.255.255:7777");
        (arrived, rig.seen_by_stack() - before)
    };
    assert_eq!(broadcast(), (0, 10), "without the program it does");
    let mut gate = rig.install().unwrap();
    assert_eq!(broadcast(), (10, 0), "stale");
    let _ = gate.promise(later());
    assert_eq!(broadcast(), (0, 0), "fresh");
}

#[test]
fn datagrams_of_every_length_pass_when_it_is_stale() {
    let Some(rig) = Rig::new("len") else { return };
    let _gate = rig.install().unwrap();
    for len in [0, 1, 17, 18, 100, 1471, 1472] {
        rig.sender.send_to(&vec![1; len], "10.77.0.2:7777").unwrap();
        let got = rig.receiver.recv_from(&mut [0; 2000]).map(|(len, _)| len);
        assert_eq!(got.unwrap(), len);
    }
}

#[test]
fn tags_stay_where_they_are_when_it_is_stale() {
    let Some(rig) = Rig::new("tags") else { return };
    let _gate = rig.install().unwrap();
    let open = |end: &Namespace, name| end.inside(|| PacketRing::open(name).unwrap()).unwrap();
    let (mut far, mut near) = (open(&rig.ends[0], "far"), open(&rig.ends[1], "near"));
    let addresses = [[0xff; 6], [2, 0, 0, 0, 0, 9]].concat();
    let tags: [&[u8]; 4] =
        [&[], &[0x81, 0, 0xa0, 42], &[0x88, 0xa8, 0, 7], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 42]];
    // A type that is nobody's protocol (IEEE 802's for experiments).
    let frames = tags.map(|tag| [&addresses, tag, &[0x88, 0xb5], &[7; 1000]].concat());
    for frame in &frames {
        far.send(frame).unwrap();
    }
    far.flush().unwrap();
    sleep(Duration::from_millis(50));
    let mut came = Vec::new();
    near.receive(usize::MAX, &mut |frame| came.push(frame.bytes.to_vec())).unwrap();
    assert!(came == frames, "{} of {}", came.len(), frames.len());
}

#[test]
fn a_heartbeat_is_called_stale_by_us_before_it_is_by_the_kernel() {
    let Some(rig) = Rig::new("guard") else { return };
    let mut gate = rig.install().unwrap();
    assert_eq!(gate.beat(), PromiseState::Lapsed);
    let _ = gate.promise(now() + GUARD + Span::from_secs(30.0));
    assert_eq!(gate.beat(), PromiseState::Kept, "fresh to both");
    let _ = gate.promise(now() + (GUARD - Span::from_micros(1)));
    assert_eq!(
        (gate.ours(), gate.beat()),
        (false, PromiseState::Lapsed),
        "fresh to the kernel, not to us"
    );
    gate.open().unwrap();
    assert!(!gate.ours());
    assert_eq!(gate.beat(), PromiseState::Lapsed);
    assert!(gate.ours(), "renewed");
    sleep(Duration::from_nanos((VALID - GUARD).as_nanos()));
    assert!(!gate.ours() && BEAT < VALID - GUARD);
}

#[test]
fn who_is_stopped_between_the_clock_and_the_renewal_is_told_that_it_had_lapsed() {
    let Some(rig) = Rig::new("old") else { return };
    let mut gate = rig.install().unwrap();
    let short = Span::from_millis(20);
    let _ = gate.promise(now() + GUARD + short);
    // The clock is read while the heartbeat is fresh, and what follows from it is written when it
    // no longer is.
    let until = now() + VALID;
    sleep(Duration::from_nanos(2 * short.as_nanos()));
    assert_eq!(gate.promise(until), PromiseState::Lapsed);
}

#[test]
fn what_is_removed_leaves_no_trace_and_what_was_there_before_stays() {
    let Some(rig) = Rig::new("trace") else { return };
    let before = rig.traces();
    let interfaces = rig.interfaces();
    let remove = || rig.gate.inside(|| interfaces.map(|i| failopen::remove(i).unwrap())).unwrap();
    drop(rig.install().unwrap());
    let during = rig.traces();
    assert!(
        during.matches(attach::NAME).count() >= 2 && during.matches("PROMISC").count() == 2,
        "{during}"
    );
    assert_eq!(remove(), [true, true]);
    assert_eq!(rig.traces(), before);
    assert_eq!((remove(), rig.arrivals()), ([false, false], 0));

    // Somebody else's discipline, filter and promiscuity are not ours to take away.
    rig.gate.run(&["tc", "qdisc", "add", "dev", "if1", "clsact"]).unwrap();
    let never = ["tc", "filter", "add", "dev", "if1", "egress", "bpf", "bytecode", "1,6 0 0 0,"];
    rig.gate.run(&never).unwrap();
    rig.gate.run(&["ip", "link", "set", "if2", "promisc", "on"]).unwrap();
    let before = rig.traces();
    drop(rig.install().unwrap());
    assert_eq!((remove(), rig.traces()), ([true, true], before));
}

#[test]
fn leftovers_are_replaced_and_a_living_gate_is_not() {
    let Some(rig) = Rig::new("left") else { return };
    let before = rig.traces();
    let mut first = rig.install().unwrap();
    let _ = first.promise(later());
    let refused = rig.install().err().expect("a living gate holds them").to_string();
    assert_eq!(refused, format!("a gate that runs as process {} holds it", std::process::id()));
    assert_eq!(rig.arrivals(), 0, "and it still does");
    drop(first);
    let mut second = rig.install().unwrap();
    assert_eq!(rig.arrivals(), 10);
    let _ = second.promise(later());
    assert_eq!(
        (rig.arrivals(), second.passed().unwrap()),
        (0, [Passed { taken: 10, unmanaged: 10 }, Passed::default()])
    );
    let programs = rig.traces().matches(attach::NAME).count();
    drop(second);

    // A next gate between one of these interfaces and another: the third is let go.
    rig.gate.run(&["ip", "link", "add", "if3", "type", "veth", "peer", "name", "if4"]).unwrap();
    let (pair, third) = (
        [rig.gate.index("if1").unwrap(), rig.gate.index("if3").unwrap()],
        rig.gate.index("if2").unwrap(),
    );
    let gate = rig.gate.inside(|| FailOpen::install(pair, now())).unwrap().unwrap();
    let found =
        rig.gate.inside(|| failopen::find(&mut Netlink::open().unwrap(), third)).unwrap().unwrap();
    assert_eq!((found, programs), (None, rig.traces().matches(attach::NAME).count() * 2));
    drop(gate);
    rig.gate.inside(|| pair.map(|i| failopen::remove(i).unwrap())).unwrap();
    assert_eq!(rig.traces(), before, "what the first changed is undone by the last");
}

#[test]
fn of_two_that_start_at_once_one_has_both_interfaces_and_the_other_touches_nothing() {
    let Some(rig) = Rig::new("race") else { return };
    let [one, other] = rig.interfaces();
    let programs = || {
        let told = ["if1", "if2"]
            .map(|i| rig.gate.run(&["tc", "filter", "show", "dev", i, "ingress"]).unwrap());
        let id = |told: &str| {
            told.split_once(" id ").and_then(|(_, id)| id.split(' ').next()).map(str::to_owned)
        };
        let mut ids: Vec<_> = told.iter().flat_map(|told| id(told)).collect();
        assert_eq!(ids.len(), 2, "{told:?}");
        ids.dedup();
        ids.len()
    };
    let race = || {
        let together = Barrier::new(2);
        let start = |interfaces: [u32; 2]| {
            together.wait();
            FailOpen::install(interfaces, now())
        };
        // Both orders.
        let ends = [[one, other], [other, one]];
        let (gate, start) = (&rig.gate, &start);
        let started = std::thread::scope(|scope| {
            let threads =
                ends.map(|ends| scope.spawn(move || gate.inside(|| start(ends)).unwrap()));
            threads.map(|thread| thread.join().unwrap())
        });
        let won = started.into_iter().filter_map(|result| match result {
            Ok(gate) => Some(gate),
            Err(why) => {
                assert!(why.to_string().ends_with(" holds it"), "{why}");
                None
            }
        });
        won.collect::<Vec<_>>()
    };
    // On nothing at first and in every other round, then on what is left.
    for round in 0..12 {
        let won = race();
        assert_eq!((won.len(), programs()), (1, 1), "round {round}");
        assert_eq!((rig.arrivals(), rig.arrivals_back()), (10, 10), "round {round}");
        drop(won);
        if round % 2 == 0 {
            rig.gate.inside(|| [one, other].map(|i| failopen::remove(i).unwrap())).unwrap();
        }
    }
}

#[test]
fn who_cannot_start_takes_nothing_away_but_his_own() {
    let Some(rig) = Rig::new("own") else { return };
    let [one, other] = rig.interfaces();
    // A filter of somebody else's where ours would stand at the second: the first is as it was.
    rig.gate.run(&["tc", "qdisc", "add", "dev", "if2", "clsact"]).unwrap();
    let never = [
        "tc",
        "filter",
        "add",
        "dev",
        "if2",
        "ingress",
        "prio",
        "1",
        "handle",
        "1",
        "bpf",
        "bytecode",
        "1,6 0 0 0,",
    ];
    rig.gate.run(&never).unwrap();
    let before = rig.traces();
    assert!(rig.install().is_err());
    assert_eq!(rig.traces(), before);
    rig.gate.run(&["tc", "qdisc", "delete", "dev", "if2", "clsact"]).unwrap();

    // Another program has been put in our place meanwhile.
    let first = rig.install().unwrap();
    let taken = rig.gate.run(&["tc", "filter", "show", "dev", "if1", "ingress"]).unwrap();
    rig.gate.run(&["tc", "qdisc", "delete", "dev", "if1", "clsact"]).unwrap();
    rig.gate.inside(|| first.remove()).unwrap().unwrap();
    assert!(taken.contains(attach::NAME));
    let found = rig
        .gate
        .inside(|| [one, other].map(|i| failopen::find(&mut Netlink::open().unwrap(), i).unwrap()));
    assert_eq!(found.unwrap(), [None, None]);
}

#[test]
fn interfaces_may_go_down_and_come_up() {
    let Some(rig) = Rig::new("down") else { return };
    let _gate = rig.install().unwrap();
    for interface in ["if1", "if2"] {
        rig.gate.run(&["ip", "link", "set", interface, "down"]).unwrap();
        assert_eq!(rig.arrivals(), 0);
        rig.gate.run(&["ip", "link", "set", interface, "up"]).unwrap();
        sleep(Duration::from_millis(20));
        assert_eq!((rig.arrivals(), rig.arrivals_back()), (10, 10), "{interface}");
    }
}

#[test]
fn the_committed_program_is_what_the_source_gives() {
    let version = std::process::Command::new("clang").arg("--version").output();
    let version =
        version.map(|told| String::from_utf8_lossy(&told.stdout).into_owned()).unwrap_or_default();
    if !version.contains("clang version 14.") {
        return skip(&format!(
            "another clang than 14 may put the same into other instructions; here: {version:?}"
        ));
    }
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = std::env::temp_dir().join(format!("tg-gate-{}.bpf.o", std::process::id()));
    let object = format!("BPF_OBJECT={}", made.display());
    let make = std::process::Command::new("make")
        .arg("-sC")
        .arg(here.join("../.."))
        .args(["bpf", &object])
        .output();
    let bytes = std::fs::read(&made).unwrap_or_else(|_| panic!("{make:?}"));
    std::fs::remove_file(&made).unwrap();
    let committed = std::fs::read(here.join("src/machine/failopen/gate.bpf.o")).unwrap();
    assert!(bytes == committed, "`make bpf` gives another object: commit it");
}
